//! The `security` block: everything is on, and fails closed, unless it says otherwise.

use fullsend_yaml::{Located, record};

use crate::value::{EnvName, EscalationAction, FailMode, Fraction, MatchType, SandboxPath, TirithLevel};

record! {
    /// Scanners, tool hooks and what findings lead to.
    pub struct Security {
        /// Whether scanners and hooks run at all. Default: `true`.
        enabled: Located<bool>,
        /// `closed` (default): a finding stops the run. `open`: findings become warnings; enforcement stays.
        fail_mode: Located<FailMode>,
        /// What is scanned on the host before the agent sees it.
        host_scanners: HostScanners,
        /// What watches every tool call.
        sandbox_hooks: SandboxHooks,
        /// A token planted in the sandbox that no tool call has a reason to carry.
        canary: Canary,
        /// What a critical finding leads to.
        escalation: Escalation,
        /// The trace of security decisions.
        trace: Trace,
    }
}

record! {
    /// Scanners on the host.
    pub struct HostScanners {
        /// Invisible and misleading characters. Default: `true`.
        unicode_normalizer: Located<bool>,
        /// Instructions hidden in what the agent reads. Default: `true`.
        context_injection: Located<bool>,
        /// URLs that lead to internal addresses. Default: `true`.
        ssrf_validator: Located<bool>,
        /// Secrets in what the agent reads or writes. Default: `true`.
        secret_redactor: Located<bool>,
        /// A classifier for injected instructions.
        llm_guard: LlmGuard,
    }
}

record! {
    /// A classifier for injected instructions.
    pub struct LlmGuard {
        /// Whether it runs.
        enabled: Located<bool>,
        /// The score from which a text counts as an injection. Default: 0.92.
        threshold: Located<Fraction>,
        /// Whether it judges sentence by sentence or the whole text.
        match_type: Located<MatchType>,
    }
}

record! {
    /// Hooks around every tool call.
    pub struct SandboxHooks {
        /// What a shell command would do, before it runs.
        command_pretool: CommandHook,
        /// The program `tirith`, asked about shell commands before they run.
        tirith: Tirith,
        /// Internal addresses in requests, before the call. Default: `true`.
        ssrf_pretool: Located<bool>,
        /// Secrets in tool output. Default: `true`.
        secret_redact_posttool: Located<bool>,
        /// Invisible and misleading characters in tool output. Default: `true`.
        unicode_posttool: Located<bool>,
        /// Output of checks that passed, which becomes one line. Default: `true`.
        context_suppress_posttool: Located<bool>,
        /// The canary token in tool input. Default: `true`.
        canary_pretool: Located<bool>,
        /// The canary token in tool output. Default: `true`.
        canary_posttool: Located<bool>,
        /// Only tools that the agent definition lists. Default: off.
        tool_allowlist_pretool: ToolAllowlist,
    }
}

record! {
    /// What a shell command would do, before it runs.
    pub struct CommandHook {
        /// Whether it is checked. Default: `true`.
        enabled: Located<bool>,
        /// The least severity at which it is denied. Default: `high`.
        fail_on: Located<TirithLevel>,
    }
}

record! {
    /// The program `tirith`, asked about shell commands before they run.
    pub struct Tirith {
        /// Whether it is asked where it is installed. Default: `true`.
        enabled: Located<bool>,
        /// The least severity at which it denies. Default: `high`.
        fail_on: Located<TirithLevel>,
        /// Whether commands are denied where it is not installed or does not answer. Default: `false`.
        required: Located<bool>,
    }
}

record! {
    /// Only tools that the agent definition lists.
    pub struct ToolAllowlist {
        /// Whether it is enforced. Default: `false`.
        enabled: Located<bool>,
    }
}

record! {
    /// A token planted in the sandbox, where someone who looks for secrets finds it. Tool calls that carry it are denied.
    pub struct Canary {
        /// Whether one is planted. Default: `true` where a place for it is named.
        enabled: Located<bool>,
        /// A variable in the sandbox that holds it.
        env: Located<EnvName>,
        /// Files in the sandbox that hold it.
        files: Vec<Located<SandboxPath>>,
    }
}

record! {
    /// What a critical finding leads to.
    pub struct Escalation {
        /// `halt` (default) ends the run; `review` asks for a person.
        on_critical: Located<EscalationAction>,
        /// The label that asks for a person. Default: `requires-manual-review`.
        review_label: Located<String>,
    }
}

record! {
    /// The trace of security decisions.
    pub struct Trace {
        /// Whether it is written. Default: `true`.
        enabled: Located<bool>,
    }
}
