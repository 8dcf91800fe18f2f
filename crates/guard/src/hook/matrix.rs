//! The security matrix: which check runs where, and what it is worth there, written from the lists that the code follows.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::hook::decision::HookPhase;
use crate::hook::plan::{CHECKS, CheckRow};
use crate::hook::tool::Runtime;
use crate::log::Phase;

/// How the answers of hooks reach the tools of a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuntimeSupport {
    /// The runtime.
    pub runtime: Runtime,
    /// How it is told.
    pub mechanism: &'static str,
    /// What a denial before the call does.
    pub before: Support,
    /// What a replacement after the call does.
    pub after: Support,
    /// What it cannot do.
    pub limits: &'static str,
}

/// How far something goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// The runtime acts on the answer, as was observed; whoever starts it wires the hook up.
    Honoured,
    /// There is an answer; nothing passes it on to the runtime yet.
    Available,
}

impl Support {
    /// The word in the matrix.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Honoured => "honoured",
            Self::Available => "decision available",
        }
    }
}

/// Every runtime.
pub const RUNTIMES: &[RuntimeSupport] = &[
    RuntimeSupport {
        runtime: Runtime::Native,
        mechanism: "in the same process, for subagents as well",
        before: Support::Honoured,
        after: Support::Honoured,
        limits: "pictures are not looked at; output that is too long to be shown is not looked at and not kept; `fullsend exec` and \
                 `fullsend resume` have no hooks",
    },
    RuntimeSupport {
        runtime: Runtime::Claude,
        mechanism: "`PreToolUse`, `PostToolUse` and `PostToolUseFailure` hooks in the administrator's settings, which no other settings turn off",
        before: Support::Honoured,
        after: Support::Honoured,
        limits: "output of a failed tool in which something is found is withheld as a whole, as a replacement of it never has the right \
                 shape; tools that report later (`Monitor`, commands in the background) are off; a hook that gives no answer, because it is \
                 late or was killed, counts as a yes",
    },
    RuntimeSupport {
        runtime: Runtime::OpenCode,
        mechanism: "a plugin in the administrator's settings, which calls the hook in `tool.execute.before` and `tool.execute.after`",
        before: Support::Honoured,
        after: Support::Honoured,
        limits: "what a tool says when it fails by itself, such as for a file that is not there, reaches no hook (a command that fails does); \
                 tools of MCP servers have no mark in their names; a hook that gives no answer is a denial",
    },
    RuntimeSupport {
        runtime: Runtime::Codex,
        mechanism: "`PreToolUse` and `PostToolUse` hooks in the administrator's requirements; hooks from elsewhere do not count",
        before: Support::Honoured,
        after: Support::Honoured,
        limits: "output in which something is found becomes the reason of a block, which the model sees in its place, and which scripts \
                 of the model see as an error; commands that go on after an answer (`unified_exec`) are off; output of hosted tools \
                 reaches no hook, so they are off; a hook that gives no answer counts as a yes",
    },
    RuntimeSupport {
        runtime: Runtime::Replay,
        mechanism: "in the same process, for subagents as well",
        before: Support::Honoured,
        after: Support::Honoured,
        limits: "as `native`",
    },
];

/// What hooks cannot do, whichever runtime calls them.
pub const LIMITS: &[&str] = &[
    "A hook is a process that the runtime starts. Where both run inside a sandbox with the agent, a process of the agent's can end \
     them or use up the memory they need. Hooks keep a model from mistakes and from what it was talked into; what holds against a \
     program is the sandbox.",
    "A hook that asks a service trusts the path of the socket. The directory must be mounted read-only, or the agent can put a \
     service of its own there.",
    "A credential that is cut into several texts of one output is not recognised. A planted token is.",
    "Of MCP tools and tools that are not known, `command` and `cmd` are read as shell commands, and other members are not, unless \
     the tool has the name of a shell. A server can call its members what it likes.",
    "A process of the agent's may write to what a command-line runtime reports, or end it, as both are the same user in the sandbox. What \
     such a runtime says about itself (turns, cost, that all went well) is no proof; the findings log, which is written outside, is.",
];

/// Something that a run relies on, and how it holds in each kind of sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SandboxRow {
    /// What.
    pub what: &'static str,
    /// On this machine's kernel, without containers.
    pub local: &'static str,
    /// In a container, with a runtime such as `runc`.
    pub container: &'static str,
    /// What is different with `runsc`, which has a kernel of its own.
    pub own_kernel: &'static str,
}

const SAME: &str = "the same";

/// What holds where. A run is in a container if an image is named: `--sandbox-image`, `FULLSEND_SANDBOX_IMAGE`, `image` in the
/// harness.
pub const SANDBOXES: &[SandboxRow] = &[
    SandboxRow {
        what: "Files that are not granted",
        local: "not there; Landlock besides",
        container: "not there; what is there is the image's and cannot be changed. No Landlock",
        own_kernel: SAME,
    },
    SandboxRow {
        what: "Hook wiring, our program, variables and settings of the runtime",
        local: "mounted read-only over what the agent can write",
        container: SAME,
        own_kernel: SAME,
    },
    SandboxRow {
        what: "What decides about tool calls",
        local: "on the host, in the process of the run or behind a socket",
        container: SAME,
        own_kernel: "the built-in agent asks in its own process; for agents of other makers the socket has to be let through \
                     (`runsc --host-uds=open`), and a run without that is refused",
    },
    SandboxRow {
        what: "Network and keys",
        local: "none, or the proxy of the host, which attaches the keys",
        container: SAME,
        own_kernel: SAME,
    },
    SandboxRow {
        what: "Lists of programs (`exec` in a policy)",
        local: "nothing else can be executed",
        container: "refused: only `exec: [\"**\"]`, the image decides",
        own_kernel: SAME,
    },
    SandboxRow {
        what: "Names of files that were refused (`--explain`)",
        local: "told",
        container: "refused; what the proxy, hooks and rules of flow refuse is told",
        own_kernel: SAME,
    },
    SandboxRow {
        what: "Who owns what the agent writes",
        local: "whoever started the run",
        container: "the same; for root by mounts that show its files as those of a user without rights",
        own_kernel: "the same; not for root, whose runs are refused",
    },
    SandboxRow {
        what: "The first process of the sandbox",
        local: "out of reach",
        container: "out of reach",
        own_kernel: "commands can end it, and the work with it; the run then fails, and what it enforces stays in force",
    },
    SandboxRow {
        what: "The end of a run, by itself, a signal or a kill",
        local: "every process, mount and file of the sandbox goes with it, or with the next run",
        container: "the same, and the container",
        own_kernel: SAME,
    },
    SandboxRow {
        what: "Agents of other makers",
        local: "run with the libraries of this machine",
        container: "need the libraries in the image; one that cannot run is refused, with what is missing",
        own_kernel: SAME,
    },
];

/// A scan outside of hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanRow {
    /// When in a run; findings carry this name.
    pub phase: Phase,
    /// What is looked at.
    pub what: &'static str,
    /// The command that does it.
    pub command: &'static str,
}

/// Every scan outside of hooks. `fullsend run` makes all of them, and there is a command for each.
pub const SCANS: &[ScanRow] = &[
    ScanRow {
        phase: Phase::HostInput,
        what: "agent definitions, skills and context files, before they enter a sandbox",
        command: "fullsend scan context",
    },
    ScanRow {
        phase: Phase::SandboxContext,
        what: "the same kinds of files in the sandbox's copy of the repository",
        command: "fullsend scan context",
    },
    ScanRow { phase: Phase::HostOutput, what: "what an agent delivers", command: "fullsend scan output" },
];

/// The matrix as a page.
pub fn markdown() -> String {
    let mut page = String::from(
        "# Security matrix\n\nWhat is checked around tool calls, in the order in which it happens. One process makes all checks of a phase; what cannot be \
         checked is denied. `fullsend hook matrix --format json` prints the same for programs.\n\n\
         ## Checks\n\n| Order | Phase | Check | Tools | Default | Harness key below `security.sandbox_hooks` | What it does |\n|---:|---|---|---|---|---|---|\n",
    );
    for (at, row) in CHECKS.iter().enumerate() {
        let default = if row.default { "on" } else { "off" };
        let _infallible = writeln!(
            page,
            "| {} | {} | `{}` | {} | {default} | `{}` | {} |",
            at + 1,
            phase(row),
            row.scanner,
            row.tools.as_str(),
            row.harness_key,
            row.effect
        );
    }
    page.push_str(
        "\n## Runtimes\n\n*Honoured*: the runtime was seen to act on the answer when the hook is wired up. *Decision available*: `fullsend hook` understands the \
         runtime's tools and decides, but nothing passes the answer on yet.\n\n\
         | Runtime | How it is told | Before the call | After the call | Limits |\n|---|---|---|---|---|\n",
    );
    for row in RUNTIMES {
        let _infallible = writeln!(
            page,
            "| `{}` | {} | {} | {} | {} |",
            row.runtime.as_str(),
            row.mechanism,
            row.before.as_str(),
            row.after.as_str(),
            if row.limits.is_empty() { "–" } else { row.limits }
        );
    }
    page.push_str(
        "\n## Sandboxes\n\nA run is in a container if an image is named, by `--sandbox-image`, `FULLSEND_SANDBOX_IMAGE` or `image` in the harness.\n\n\
         | What | On this machine | In a container | With `runsc` |\n|---|---|---|---|\n",
    );
    for SandboxRow { what, local, container, own_kernel } in SANDBOXES {
        let _infallible = writeln!(page, "| {what} | {local} | {container} | {own_kernel} |");
    }
    page.push_str("\n## Limits\n\n");
    for limit in LIMITS {
        let _infallible = writeln!(page, "- {limit}");
    }
    page.push_str(
        "\n## Scans outside of hooks\n\n`fullsend run` makes all of them; there is a command for each.\n\n| Phase | What is looked at | Command |\n|---|---|---|\n",
    );
    for row in SCANS {
        let _infallible = writeln!(page, "| `{}` | {} | `{}` |", row.phase, row.what, row.command);
    }
    page
}

/// The matrix as data.
pub fn json() -> Value {
    let check = |row: &CheckRow| {
        json!({
            "check": row.scanner.as_str(),
            "phase": row.phase,
            "tools": row.tools.as_str(),
            "default": row.default,
            "harness_key": format!("security.sandbox_hooks.{}", row.harness_key),
            "effect": row.effect,
        })
    };
    let runtime = |row: &RuntimeSupport| {
        json!({
            "runtime": row.runtime,
            "mechanism": row.mechanism,
            "before": row.before.as_str(),
            "after": row.after.as_str(),
            "limits": row.limits,
        })
    };
    let sandbox = |row: &SandboxRow| json!({ "what": row.what, "local": row.local, "container": row.container, "runsc": row.own_kernel });
    let scan = |row: &ScanRow| json!({ "phase": row.phase, "what": row.what, "command": row.command });
    json!({
        "checks": CHECKS.iter().map(check).collect::<Vec<_>>(),
        "runtimes": RUNTIMES.iter().map(runtime).collect::<Vec<_>>(),
        "sandboxes": SANDBOXES.iter().map(sandbox).collect::<Vec<_>>(),
        "limits": LIMITS,
        "scans": SCANS.iter().map(scan).collect::<Vec<_>>(),
    })
}

fn phase(row: &CheckRow) -> &'static str {
    match row.phase {
        HookPhase::PreTool => "before",
        HookPhase::PostTool => "after",
    }
}
