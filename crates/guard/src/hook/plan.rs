//! Which check runs when, and on which tools: the one list that the engine follows and the documentation shows.

use crate::finding::Finding;
use crate::hook::call::Call;
use crate::hook::clean::{Cleans, Step};
use crate::hook::config::{Checks, ConfigError};
use crate::hook::decision::{Action, HookPhase};
use crate::scanner::ScannerId;
use crate::secret::SecretScanner;
use crate::severity::Severity;
use crate::unicode::UnicodeScanner;

/// A check around tool calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Check {
    /// Only tools in the list.
    ToolAllowlist,
    /// Planted tokens in the input of a tool.
    CanaryInput,
    /// Requests to places that must not be reached.
    Ssrf,
    /// What a shell command would do.
    Command,
    /// What the program `tirith` says about a shell command.
    Tirith,
    /// Output of a check that passed becomes one line.
    Suppress,
    /// Characters in output that hide, mislead or command.
    Unicode,
    /// Credentials in output.
    Secrets,
    /// Planted tokens in output.
    CanaryOutput,
}

impl Check {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::ToolAllowlist,
        Self::CanaryInput,
        Self::Ssrf,
        Self::Command,
        Self::Tirith,
        Self::Suppress,
        Self::Unicode,
        Self::Secrets,
        Self::CanaryOutput,
    ];

    /// Whether a configuration asks for it.
    pub(super) fn is_enabled(self, checks: &Checks) -> bool {
        match self {
            Self::ToolAllowlist => checks.tool_allowlist.enabled || !checks.agent_tools.is_unlimited(),
            Self::CanaryInput => checks.canary.pre && !checks.canary.tokens.is_empty(),
            Self::CanaryOutput => checks.canary.post && !checks.canary.tokens.is_empty(),
            Self::Ssrf => checks.ssrf.enabled,
            Self::Command => checks.command.enabled,
            Self::Tirith => checks.tirith.enabled,
            Self::Suppress => checks.suppress,
            Self::Unicode => checks.unicode,
            Self::Secrets => checks.secrets,
        }
    }

    /// What cleans output, for checks that do and are asked for.
    pub(super) fn step(self, checks: &Checks) -> Result<Option<Step>, ConfigError> {
        let cleans = match self {
            Self::Unicode => Cleans::Unicode(UnicodeScanner::new()),
            Self::Secrets => Cleans::Secrets(SecretScanner::new()),
            Self::CanaryOutput => Cleans::Canary(Box::new(checks.canary.scanner()?)),
            Self::ToolAllowlist
            | Self::CanaryInput
            | Self::Ssrf
            | Self::Command
            | Self::Tirith
            | Self::Suppress => {
                return Ok(None);
            }
        };
        Ok(self.is_enabled(checks).then_some(Step { check: self, cleans }))
    }

    /// Whether a finding in output keeps it from the model.
    pub(super) const fn blocks_output(self) -> bool {
        match self {
            Self::CanaryOutput => true,
            Self::ToolAllowlist | Self::CanaryInput | Self::Ssrf | Self::Command | Self::Tirith => false,
            Self::Suppress | Self::Unicode | Self::Secrets => false,
        }
    }

    /// Whether encoded images are looked into as well.
    pub(super) const fn looks_into_images(self) -> bool {
        self.blocks_output()
    }

    /// Whether output counts as it was before other checks changed it, too.
    pub(super) const fn looks_at_original(self) -> bool {
        self.blocks_output()
    }

    /// Whether what it looks for also counts when it is spread over several texts. Only what is long and random does: parts of
    /// anything else meet by chance.
    pub(super) const fn looks_across_texts(self) -> bool {
        self.blocks_output()
    }

    /// What is done about a finding in output.
    pub(super) fn action(self, finding: &Finding) -> Action {
        match self {
            Self::Unicode if finding.severity == Severity::Critical => Action::CriticalSanitize,
            Self::Unicode => Action::Sanitize,
            Self::Secrets => Action::Redact,
            Self::Suppress => Action::Suppress,
            Self::ToolAllowlist
            | Self::CanaryInput
            | Self::Ssrf
            | Self::Command
            | Self::Tirith
            | Self::CanaryOutput => Action::Block,
        }
    }

    /// Under which keys a reply counts findings, and names their rules.
    pub(super) const fn metadata_keys(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Unicode => Some(("unicode_findings", "categories")),
            Self::Secrets => Some(("secrets_redacted", "patterns")),
            Self::CanaryOutput => Some(("canary_findings", "canary")),
            Self::ToolAllowlist
            | Self::CanaryInput
            | Self::Ssrf
            | Self::Command
            | Self::Tirith
            | Self::Suppress => None,
        }
    }
}

/// The tools that a check is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tools {
    /// All of them, also those that are not known.
    All,
    /// Those that run shell commands, as their names tell.
    Shells,
    /// Those, and tools of servers and tools that are not known when they are given a `command` or `cmd`.
    Commands,
}

impl Tools {
    /// The words in the matrix.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Shells => "shells",
            Self::Commands => "shells; `command` and `cmd` of MCP and unknown tools",
        }
    }

    /// Whether the tool of a call is one of them.
    pub(super) fn cover(self, call: &Call) -> bool {
        match self {
            Self::All => true,
            Self::Shells => call.kind.is_shell(),
            Self::Commands => call.runs_commands(),
        }
    }
}

/// One line of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckRow {
    /// The check.
    pub check: Check,
    /// When it runs.
    pub phase: HookPhase,
    /// On which tools.
    pub tools: Tools,
    /// Whether it runs unless configured otherwise.
    pub default: bool,
    /// What switches it in a harness, below `security.sandbox_hooks`.
    pub harness_key: &'static str,
    /// Under which scanner its findings appear.
    pub scanner: ScannerId,
    /// What it does to a call.
    pub effect: &'static str,
}

/// Every check, in the order in which they run.
///
/// After the tool the order is part of the promise: what hides a secret from the redactor is removed before it looks.
pub const CHECKS: &[CheckRow] = &[
    CheckRow {
        check: Check::ToolAllowlist,
        phase: HookPhase::PreTool,
        tools: Tools::All,
        default: false,
        harness_key: "tool_allowlist_pretool.enabled",
        scanner: ScannerId::ToolAllowlist,
        effect: "denies tools that the agent definition does not list; on without the key where the definition limits tools and the runtime \
                 does not keep to that by itself (`codex`, `opencode`), by what tools do instead of by name",
    },
    CheckRow {
        check: Check::CanaryInput,
        phase: HookPhase::PreTool,
        tools: Tools::All,
        default: true,
        harness_key: "canary_pretool",
        scanner: ScannerId::Canary,
        effect: "denies calls whose input carries a planted token, also encoded or in part",
    },
    CheckRow {
        check: Check::Ssrf,
        phase: HookPhase::PreTool,
        tools: Tools::All,
        default: true,
        harness_key: "ssrf_pretool",
        scanner: ScannerId::SsrfValidator,
        effect: "denies requests to private places and metadata services, in commands and in fields such as `url`",
    },
    CheckRow {
        check: Check::Command,
        phase: HookPhase::PreTool,
        tools: Tools::Commands,
        default: true,
        harness_key: "command_pretool.enabled",
        scanner: ScannerId::CommandScanner,
        effect: "denies commands that attack, leak or destroy, and those that cannot be understood",
    },
    CheckRow {
        check: Check::Tirith,
        phase: HookPhase::PreTool,
        tools: Tools::Commands,
        default: false,
        harness_key: "tirith.enabled",
        scanner: ScannerId::Tirith,
        effect: "asks the program `tirith` about commands, where it is configured",
    },
    CheckRow {
        check: Check::Suppress,
        phase: HookPhase::PostTool,
        tools: Tools::Shells,
        default: true,
        harness_key: "context_suppress_posttool",
        scanner: ScannerId::ContextSuppress,
        effect: "shows the output of a check that passed as one line; not a security control",
    },
    CheckRow {
        check: Check::Unicode,
        phase: HookPhase::PostTool,
        tools: Tools::All,
        default: true,
        harness_key: "unicode_posttool",
        scanner: ScannerId::UnicodeNormalizer,
        effect: "removes characters that hide, mislead or command",
    },
    CheckRow {
        check: Check::Secrets,
        phase: HookPhase::PostTool,
        tools: Tools::All,
        default: true,
        harness_key: "secret_redact_posttool",
        scanner: ScannerId::SecretRedactor,
        effect: "masks credentials",
    },
    CheckRow {
        check: Check::CanaryOutput,
        phase: HookPhase::PostTool,
        tools: Tools::All,
        default: true,
        harness_key: "canary_posttool",
        scanner: ScannerId::Canary,
        effect: "masks a planted token in output, and says that it leaked",
    },
];

/// The checks of a phase that are in the plan, asked for, and meant for the tool of a call, in order.
pub(super) fn checks_for<'a>(
    plan: &'a [CheckRow],
    phase: HookPhase,
    call: &'a Call,
    checks: &'a Checks,
) -> impl Iterator<Item = Check> + 'a {
    plan.iter()
        .filter(move |row| row.phase == phase && row.tools.cover(call) && row.check.is_enabled(checks))
        .map(|row| row.check)
}
