//! Names that end up in commands, paths and identifiers; each has a pattern that keeps it harmless there.

use fullsend_yaml::{FromText, TextProblem};

use crate::value::text::written_as_text;

/// Declares a text type with a pattern: newtype, reader, schema.
macro_rules! name_type {
    ($(#[$meta:meta])* $name:ident, $pattern:literal, $rule:literal, $check:expr) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// The regular expression that editors check it with.
            pub const PATTERN: &'static str = $pattern;

            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromText for $name {
            const EMPTY_IS_ABSENT: bool = true;

            fn from_text(text: &str) -> Result<Self, TextProblem> {
                let check: fn(&str) -> bool = $check;
                if check(text) {
                    return Ok(Self(text.to_owned()));
                }
                let help = Some(suggestion(text, check).unwrap_or_else(|| format!("use only {}", $rule)));
                Err(TextProblem::invalid(format!("must consist of {}, not `{text}`", $rule), help))
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        written_as_text!($name, "name", $pattern);
    };
}

name_type! {
    /// The role an agent plays.
    RoleName, "^[a-z][a-z0-9_]*(-[a-z0-9_]+)*-?$",
    "lower-case letters, digits, `_` and single `-`, starting with a letter",
    |text| starts(text, |first| first.is_ascii_lowercase()) && all(text, is_lower_word) && !text.contains("--")
}

name_type! {
    /// Who may see a value, or what an exception is called.
    ReaderName, "^[a-zA-Z0-9][a-zA-Z0-9_.:@/-]*$",
    "letters, digits and `_.:@/-`, starting with a letter or digit",
    |text| starts(text, |first| first.is_ascii_alphanumeric())
        && all(text, |one| one.is_ascii_alphanumeric() || b"_.:@/-".contains(&one))
}

name_type! {
    /// An identifier of a GitHub App, provider or profile; a leading dash would read as a flag.
    Slug, "^[a-zA-Z0-9][a-zA-Z0-9_-]*$",
    "letters, digits, `_` and `-`, starting with a letter or digit",
    |text| starts(text, |first| first.is_ascii_alphanumeric()) && all(text, is_word)
}

name_type! {
    /// A registered agent's name.
    AgentName, "^[a-zA-Z0-9][a-zA-Z0-9_-]*$",
    "letters, digits, `_` and `-`, starting with a letter or digit",
    |text| starts(text, |first| first.is_ascii_alphanumeric()) && all(text, is_word)
}

name_type! {
    /// A model name; it becomes a command-line argument of the runtime.
    ModelName, "^[a-zA-Z0-9_.@-]+$",
    "letters, digits, `_`, `.`, `@` and `-`",
    |text| !text.is_empty() && all(text, |byte| is_word(byte) || matches!(byte, b'.' | b'@'))
}

name_type! {
    /// The bare name of an agent file, plugin or provider.
    BareName, "^[a-zA-Z0-9_-]+$",
    "letters, digits, `_` and `-`",
    |text| !text.is_empty() && all(text, is_word)
}

name_type! {
    /// The name of an environment variable.
    EnvName, "^[A-Za-z_][A-Za-z0-9_]*$",
    "letters, digits and `_`, not starting with a digit",
    |text| starts(text, |first| first.is_ascii_alphabetic() || first == '_')
        && all(text, |byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

name_type! {
    /// A host name without scheme, port or path.
    HostName, "^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$",
    "letters, digits, `-` and dots, like `git.example.com`, without scheme, port or path",
    |text| text.split('.').all(is_label)
}

name_type! {
    /// The path of a file in the sandbox.
    SandboxPath, "^(/\\.?[A-Za-z0-9_-][A-Za-z0-9._-]*)+$",
    "names of letters, digits, `.`, `_` and `-` after a `/` each, like `/sandbox/.aws/credentials`, without `..`",
    |text| text.strip_prefix('/').is_some_and(|rest| rest.split('/').all(is_segment))
}

/// Whether `text` is the name of a file: not `.`, not `..`, nothing to quote.
fn is_segment(text: &str) -> bool {
    let name = text.strip_prefix('.').unwrap_or(text);
    starts(name, |first| first != '.') && all(name, |byte| is_word(byte) || byte == b'.')
}

fn starts(text: &str, accept: fn(char) -> bool) -> bool {
    text.chars().next().is_some_and(accept)
}

fn all(text: &str, accept: fn(u8) -> bool) -> bool {
    text.bytes().all(accept)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_lower_word(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-')
}

fn is_label(label: &str) -> bool {
    !label.is_empty()
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// The text with the most common slips undone, when that makes it acceptable.
fn suggestion(text: &str, accept: fn(&str) -> bool) -> Option<String> {
    let joined = text.trim().replace([' ', '/'], "-");
    [joined.clone(), joined.to_ascii_lowercase()]
        .into_iter()
        .find(|candidate| candidate != text && accept(candidate))
        .map(|candidate| format!("write `{candidate}`"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Editors check the pattern, the reader checks by hand: both must accept the same words.
    fn agree<T: FromText>(pattern: &str, text: &str) {
        let matches = regex::Regex::new(pattern).unwrap().is_match(text);
        assert_eq!(T::from_text(text).is_ok(), matches, "{pattern} {text:?}");
    }

    fn all_agree(text: &str) {
        agree::<RoleName>(RoleName::PATTERN, text);
        agree::<ReaderName>(ReaderName::PATTERN, text);
        agree::<Slug>(Slug::PATTERN, text);
        agree::<AgentName>(AgentName::PATTERN, text);
        agree::<ModelName>(ModelName::PATTERN, text);
        agree::<BareName>(BareName::PATTERN, text);
        agree::<EnvName>(EnvName::PATTERN, text);
        agree::<HostName>(HostName::PATTERN, text);
    }

    #[test]
    fn patterns_and_checks_agree_on_the_edges() {
        for text in [
            "",
            "a",
            "A",
            "1",
            "-",
            "_",
            "a-",
            "a--b",
            "-a",
            "a-b-",
            "a_b",
            "a.b",
            "a@b",
            "a b",
            "é",
            "a\n",
            "a..b",
            ".a",
            "a.",
            "Custom_App",
            "a1",
            "-slug",
            "slug!name",
            "my slug",
            "claude-sonnet-4-6@20250514",
            "sonnet'; echo hack",
        ] {
            all_agree(text);
        }
    }

    proptest! {
        #[test]
        fn patterns_and_checks_agree(text in "[a-bA1_.@ -]{0,6}") {
            all_agree(&text);
        }
    }

    #[test]
    fn the_slip_is_undone_in_the_help() {
        assert_eq!(RoleName::from_text("My Role").unwrap_err().help.unwrap(), "write `my-role`");
        assert_eq!(Slug::from_text("my slug").unwrap_err().help.unwrap(), "write `my-slug`");
    }
}
