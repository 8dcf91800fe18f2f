//! What is decided before a tool runs.

use crate::finding::Finding;
use crate::hook::call::Call;
use crate::hook::decision::{Action, Decision, HookPhase, Recorded};
use crate::hook::engine::Hook;
use crate::hook::plan::{self, Check};
use crate::hook::reply;
use crate::hook::rules::TOOL_BLOCKED;
use crate::url;

/// What a check says.
#[derive(Debug, Default)]
struct Verdict {
    /// What was found.
    findings: Vec<Finding>,
    /// Why the call must not happen.
    denial: Option<String>,
}

impl Verdict {
    fn denied(finding: Finding, reason: String) -> Self {
        Self { findings: vec![finding], denial: Some(reason) }
    }
}

/// Runs the checks in order; the first that denies ends it.
pub(super) fn decide(hook: &Hook, call: &Call) -> Decision {
    let mut recorded = Vec::new();
    for check in plan::checks_for(HookPhase::PreTool, &call.kind, &hook.config.checks) {
        let verdict = run(check, hook, call);
        let action = if verdict.denial.is_some() { Action::Block } else { Action::Warn };
        recorded.extend(verdict.findings.into_iter().map(|finding| Recorded { finding, action }));
        if let Some(reason) = verdict.denial {
            return reply::deny(&reason, recorded);
        }
    }
    Decision { recorded, ..Decision::default() }
}

fn run(check: Check, hook: &Hook, call: &Call) -> Verdict {
    match check {
        Check::ToolAllowlist => tool_allowlist(hook, call),
        Check::Ssrf => ssrf(hook, call),
        // These look at output.
        Check::Suppress | Check::Unicode => Verdict::default(),
    }
}

fn tool_allowlist(hook: &Hook, call: &Call) -> Verdict {
    if hook.config.checks.tool_allowlist.allows(&call.name) {
        return Verdict::default();
    }
    let name = call.shown_name();
    Verdict::denied(
        Finding::new(&TOOL_BLOCKED, None, format!("`{name}`")),
        format!("Tool '{name}' is NOT in the allowlist; use one of the tools that this agent is given"),
    )
}

/// Judges every target that the call would request; the first that must not be reached denies.
fn ssrf(hook: &Hook, call: &Call) -> Verdict {
    let mut verdict = Verdict::default();
    for target in call.inputs.iter().flat_map(url::requests_in) {
        let Some(finding) = url::check_request(target.target, &hook.allowed) else { continue };
        if verdict.denial.is_none() && denies_request(&finding) {
            verdict.denial = Some(format!("SSRF blocked: {}; {}", finding.detail(), finding.rule.remedy));
        }
        verdict.findings.push(finding);
    }
    verdict
}

/// What is only unusual, or not known in full, passes: the way out of the sandbox judges the connection itself.
fn denies_request(finding: &Finding) -> bool {
    finding.rule != &url::SUSPICIOUS_URL && finding.rule != &url::INCOMPLETE_TARGET
}
