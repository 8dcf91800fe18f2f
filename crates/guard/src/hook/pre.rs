//! What is decided before a tool runs.

use std::cell::OnceCell;

use crate::command::{self, Analysis};
use crate::finding::Finding;
use crate::hook::call::{Call, Unread};
use crate::hook::config::HookConfig;
use crate::hook::decision::{Action, Decision, HookPhase, Recorded};
use crate::hook::engine::Hook;
use crate::hook::plan::{self, Check};
use crate::hook::rules::TOOL_BLOCKED;
use crate::hook::{reply, shell_input, texts};
use crate::policy::{FailMode, Outcome, Policy};
use crate::scanner::{FindingList, Scanner as _};
use crate::unicode::UnicodeScanner;
use crate::{tirith, url};

/// What a check says.
#[derive(Debug, Default)]
struct Verdict {
    /// What was found, and whether it denies.
    findings: Vec<(Finding, Action)>,
    /// Why the call must not happen.
    denial: Option<String>,
}

impl Verdict {
    /// Records a finding that leaves the call alone.
    fn warn(&mut self, finding: Finding) {
        self.findings.push((finding, Action::Warn));
    }

    /// Denies for a finding. The first reason is the one that is told.
    fn deny(&mut self, finding: Finding, reason: impl FnOnce(&Finding) -> String) {
        self.denial.get_or_insert_with(|| reason(&finding));
        self.findings.push((finding, Action::Block));
    }
}

/// A call while it is looked at. Its commands are read once, however many checks need them.
struct Inspected<'a> {
    hook: &'a Hook,
    call: &'a Call,
    commands: Vec<String>,
    analyses: OnceCell<Vec<Analysis>>,
}

impl Inspected<'_> {
    fn analyses(&self) -> &[Analysis] {
        self.analyses.get_or_init(|| self.commands.iter().map(|text| command::analyse(text)).collect())
    }
}

/// Runs the checks in order. The first that denies gives the reason; the others still run, so that the log holds all there
/// is to say about the call. Another program is not asked about a call that is denied already.
pub(super) fn decide(hook: &Hook, call: &Call) -> Result<Decision, Unread> {
    let commands = commands_of(call)?;
    let inspected = Inspected { hook, call, commands, analyses: OnceCell::new() };
    let mut recorded = Vec::new();
    let mut denial = None;
    for check in plan::checks_for(&hook.plan, HookPhase::PreTool, call, &hook.config.checks) {
        if denial.is_some() && check == Check::Tirith {
            continue;
        }
        let verdict = run(check, &inspected);
        recorded.extend(verdict.findings.into_iter().map(|(finding, action)| Recorded { finding, action }));
        denial = denial.or(verdict.denial);
    }
    Ok(match denial {
        Some(reason) => reply::deny(&reason, recorded),
        None => Decision { recorded, ..Decision::default() },
    })
}

/// The commands of a shell call. Where the input is a text that is also JSON, the JSON is what a shell tool takes.
fn commands_of(call: &Call) -> Result<Vec<String>, Unread> {
    match call.inputs.last() {
        Some(input) if call.kind.is_shell() => {
            shell_input::commands(input).map_err(|_| Unread::malformed("has a command that is not a text"))
        }
        Some(input) if call.runs_commands() => Ok(shell_input::named_commands(input)),
        Some(_) | None => Ok(Vec::new()),
    }
}

fn run(check: Check, inspected: &Inspected<'_>) -> Verdict {
    match check {
        Check::ToolAllowlist => tool_allowlist(inspected),
        Check::CanaryInput => canary(inspected),
        Check::Ssrf => ssrf(inspected),
        Check::Command => commands(inspected),
        Check::Tirith => second_opinion(inspected),
        // These look at output.
        Check::Suppress | Check::Unicode | Check::Secrets | Check::CanaryOutput => Verdict::default(),
    }
}

fn tool_allowlist(inspected: &Inspected<'_>) -> Verdict {
    let mut verdict = Verdict::default();
    let HookConfig { runtime, checks, .. } = &inspected.hook.config;
    let name = &inspected.call.name;
    let listed = !checks.tool_allowlist.enabled || checks.tool_allowlist.allows(name);
    if !(listed && checks.agent_tools.allows(*runtime, name)) {
        let name = inspected.call.shown_name();
        verdict.deny(Finding::new(&TOOL_BLOCKED, None, format!("`{name}`")), |_| {
            format!("Tool '{name}' is NOT in the allowlist; use one of the tools that this agent is given")
        });
    }
    verdict
}

/// Looks for planted tokens in every text of the input, also in the names of members, and in what the texts say one after
/// another: a token in a list of short pieces is still the token.
fn canary(inspected: &Inspected<'_>) -> Verdict {
    let Inspected { hook, call, .. } = inspected;
    let mut findings = FindingList::default();
    for input in &call.inputs {
        let mut found = Vec::new();
        texts::each(input, &mut |text| found.extend(hook.canary.scan(text).findings));
        if found.is_empty() {
            found.extend(texts::in_a_row(input).iter().flat_map(|row| hook.canary.scan(row).findings));
        }
        found.into_iter().for_each(|finding| findings.push(finding));
    }
    let mut verdict = Verdict::default();
    for finding in findings.into_vec() {
        let name = call.shown_name();
        verdict.deny(finding, |_| {
            format!("CANARY_EXFIL: canary token found in {name} input; do not pass on what you found in the environment")
        });
    }
    verdict
}

/// Judges every target that the call would request, in its commands and in its fields.
fn ssrf(inspected: &Inspected<'_>) -> Verdict {
    let allowed = &inspected.hook.allowed;
    let requests = inspected.analyses().iter().flat_map(|analysis| &analysis.requests);
    let of_commands = requests.filter_map(|request| match request.complete {
        true => url::check_request(&request.target, allowed),
        false => url::check_partial(&request.target, allowed),
    });
    let fields = inspected.call.inputs.iter().flat_map(url::requests_in);
    let of_fields = fields.filter_map(|field| url::check_request(field.target, allowed));
    let mut verdict = Verdict::default();
    for finding in of_commands.chain(of_fields) {
        if may_be_requested(&finding) {
            verdict.warn(finding);
        } else {
            let reason =
                |finding: &Finding| format!("SSRF blocked: {}; {}", finding.detail(), finding.rule.remedy);
            verdict.deny(finding, reason);
        }
    }
    verdict
}

/// What is only unusual, or not known in full, passes: the way out of the sandbox judges the connection itself.
fn may_be_requested(finding: &Finding) -> bool {
    finding.rule == &url::SUSPICIOUS_URL || finding.rule == &url::INCOMPLETE_TARGET
}

/// What commands would do, and what hides in them from whoever reads them.
fn commands(inspected: &Inspected<'_>) -> Verdict {
    let policy =
        Policy { fail_mode: FailMode::Closed, fail_on: inspected.hook.config.checks.command.fail_on };
    let hidden = inspected.commands.iter().flat_map(|command| UnicodeScanner::new().scan(command).findings);
    let found = inspected.analyses().iter().flat_map(|analysis| analysis.findings.clone());
    let mut verdict = Verdict::default();
    for finding in found.chain(hidden) {
        match policy.judge([&finding]) {
            Outcome::Blocked => verdict.deny(finding, command_reason),
            Outcome::Warned | Outcome::Clean => verdict.warn(finding),
        }
    }
    verdict
}

fn command_reason(finding: &Finding) -> String {
    let severity = finding.severity.as_str().to_ascii_uppercase();
    format!("Command [{severity}] {}: {}; {}", finding.rule.id, finding.detail(), finding.rule.remedy)
}

/// Asks `tirith` about every command that says something: once, because a call with a thousand commands must not take a
/// thousand times as long as one.
fn second_opinion(inspected: &Inspected<'_>) -> Verdict {
    let mut verdict = Verdict::default();
    let Some(ask) = &inspected.hook.tirith else { return verdict };
    let commands = inspected.commands.iter().filter(|command| !command.trim().is_empty());
    let script = commands.map(String::as_str).collect::<Vec<_>>().join("\n");
    if script.is_empty() {
        return verdict;
    }
    let tirith::Answer { verdict: answer, findings } = ask(&script);
    let action = match answer {
        tirith::Verdict::Allow => Action::Warn,
        tirith::Verdict::Deny { reason } => {
            verdict.denial = Some(reason);
            Action::Block
        }
    };
    verdict.findings.extend(findings.into_iter().map(|finding| (finding, action)));
    verdict
}
