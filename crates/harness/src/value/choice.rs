//! Keys that take one of a few words.

/// Declares an enum written as one of a fixed set of words, with its reader and its schema.
macro_rules! choice {
    (
        $(#[$meta:meta])*
        $name:ident { $( $(#[$variant_meta:meta])* $variant:ident = $word:literal ),* $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $( $(#[$variant_meta])* #[doc = concat!("Written `", $word, "`.")] $variant ),* }

        impl $name {
            /// Every word, in documentation order.
            pub const WORDS: &'static [&'static str] = &[$($word),*];

            /// The word that is written in files.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $( $name::$variant => $word ),* }
            }
        }

        impl fullsend_yaml::FromText for $name {
            const EMPTY_IS_ABSENT: bool = true;

            fn from_text(text: &str) -> Result<Self, fullsend_yaml::TextProblem> {
                match text {
                    $( $word => Ok($name::$variant), )*
                    _ => Err(fullsend_yaml::TextProblem::not_one_of(text, Self::WORDS)),
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                word_schema(Self::WORDS)
            }
        }
    };
}

/// A word that looks like a number may be written without quotes, and editors then see a number.
fn word_schema(words: &[&str]) -> schemars::Schema {
    let numbers: Vec<i64> = words.iter().filter_map(|word| word.parse().ok()).collect();
    if numbers.is_empty() {
        return schemars::json_schema!({ "type": "string", "enum": words });
    }
    schemars::json_schema!({ "anyOf": [{ "type": "string", "enum": words }, { "type": "integer", "enum": numbers }] })
}

choice! {
    /// How much thought the model spends.
    Effort { Low = "low", Medium = "medium", High = "high", XHigh = "xhigh", Max = "max" }
}

choice! {
    /// What a finding does to the run.
    FailMode {
        /// A finding or a check that cannot run stops the run.
        Closed = "closed",
        /// Findings become warnings; enforcement stays.
        Open = "open",
    }
}

choice! {
    /// How the injection classifier cuts its input.
    MatchType { Sentence = "sentence", Full = "full" }
}

choice! {
    /// The least severity at which the command scanner denies.
    TirithLevel { Critical = "critical", High = "high", Medium = "medium" }
}

choice! {
    /// What a critical finding leads to.
    EscalationAction { Halt = "halt", Review = "review" }
}

choice! {
    /// A platform whose overlay a harness may carry.
    Platform { GitHub = "github", GitLab = "gitlab", Jira = "jira" }
}

choice! {
    /// The program that drives the model inside the sandbox.
    RuntimeName {
        /// The built-in loop.
        Native = "native",
        /// Claude Code.
        Claude = "claude",
        /// opencode.
        OpenCode = "opencode",
        /// Codex.
        Codex = "codex",
        /// A scripted model, for tests and demonstrations.
        Replay = "replay",
    }
}

choice! {
    /// Whose REST interface a forge speaks.
    ForgeType { GitHub = "github", GitLab = "gitlab" }
}

choice! {
    /// The version of the configuration format.
    ConfigVersion { One = "1" }
}

choice! {
    /// The CI system that starts runs.
    DispatchPlatform { GitHubActions = "github-actions" }
}

choice! {
    /// How runs obtain tokens.
    DispatchMode { OidcMint = "oidc-mint" }
}

choice! {
    /// The service where models run.
    InferenceProvider { Vertex = "vertex" }
}

choice! {
    /// A role that the dispatch workflow knows.
    KnownRole {
        Fullsend = "fullsend",
        Triage = "triage",
        Coder = "coder",
        Review = "review",
        Fix = "fix",
        Retro = "retro",
        Prioritize = "prioritize",
        EndToEnd = "e2e",
    }
}

choice! {
    /// How far a value is trusted; each word includes those before it.
    FlowTrust {
        /// Nobody vouches for it.
        None = "none",
        /// It is in the directory that the operator works in.
        Workspace = "workspace",
        /// The operator said so.
        Commanded = "commanded",
    }
}

choice! {
    /// What the next attempt is told of what the validation said.
    FeedbackMode {
        /// What the checks printed, made harmless.
        Output = "output",
        /// Nothing.
        None = "none",
    }
}
