//! What the `security` block of a harness asks for: of hooks, and of scans on the host.
//!
//! Every key is taken apart here, without `..`: a key that is added to the schema does not compile until something acts on
//! it or refuses it.

mod canary;
mod hooks;

pub use canary::{CanaryPlan, canary_plan};
pub use hooks::{HookInput, hook_checks};

use fullsend_guard::{Check, Checks, FailMode, Policy, Severity};
use fullsend_harness::schema::{Escalation, HostScanners, LlmGuard, Security, Trace};
use fullsend_harness::value::{EscalationAction, FailMode as Written};
use fullsend_yaml::Located;

/// The label that asks for a person, unless the harness names another.
const REVIEW_LABEL: &str = "requires-manual-review";

/// Why a `security` block cannot be acted on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SecurityError {
    /// Tirith is required and nobody said where it is.
    #[error("the harness requires tirith, and it is not said where the program is")]
    NoTirith,
    /// Tools are limited to a list that is not there.
    #[error("`tool_allowlist_pretool` is enabled, and the agent definition lists no tools")]
    NoTools,
    /// A classifier is asked for, and there is none.
    #[error(
        "`security.host_scanners.llm_guard.enabled` is on, and this program has no such classifier; set it to `false`"
    )]
    NoClassifier,
}

/// What a critical finding in what the agent would read leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnCritical {
    /// The run ends.
    Halt,
    /// The run ends, and asks for a person with this label.
    Review {
        /// The label.
        label: String,
    },
}

/// What is scanned on the host, and what findings lead to.
#[derive(Clone, Debug)]
pub struct HostSecurity {
    /// Whether anything is.
    pub enabled: bool,
    /// The checks.
    pub checks: Checks,
    /// When findings stop the run.
    pub policy: Policy,
    /// What a critical finding leads to.
    pub on_critical: OnCritical,
    /// Whether decisions of hooks and scans are part of the trace. The log of findings is written in any case.
    pub trace: bool,
}

/// What a `security` block asks of the host, or what in it cannot be done.
pub fn host_security(security: Option<&Security>) -> Result<HostSecurity, SecurityError> {
    let Security {
        enabled,
        fail_mode,
        host_scanners,
        sandbox_hooks: _for_hooks,
        canary: _planted,
        escalation,
        trace,
    } = security.cloned().unwrap_or_default();
    let enabled = is_on(enabled.as_ref());
    let checks = checks(host_scanners.unwrap_or_default(), enabled)?;
    let fail_mode = match fail_mode.map(|mode| mode.value) {
        None | Some(Written::Closed) => FailMode::Closed,
        Some(Written::Open) => FailMode::Open,
    };
    let Trace { enabled: trace } = trace.unwrap_or_default();
    Ok(HostSecurity {
        enabled,
        checks,
        policy: Policy { fail_mode, fail_on: Severity::Critical },
        on_critical: on_critical(escalation.unwrap_or_default()),
        trace: is_on(trace.as_ref()),
    })
}

fn checks(scanners: HostScanners, enabled: bool) -> Result<Checks, SecurityError> {
    let HostScanners { unicode_normalizer, context_injection, ssrf_validator, secret_redactor, llm_guard } =
        scanners;
    let mut checks = Checks::default();
    for (check, flag) in [
        (Check::Unicode, unicode_normalizer),
        (Check::Injection, context_injection),
        (Check::Urls, ssrf_validator),
        (Check::Secrets, secret_redactor),
    ] {
        if !enabled || !is_on(flag.as_ref()) {
            checks = checks.without(check);
        }
    }
    // Without the switch there is nothing that the other two could be about.
    let LlmGuard { enabled: classifier, threshold: _, match_type: _ } = llm_guard.unwrap_or_default();
    if classifier.is_some_and(|switch| switch.value) { Err(SecurityError::NoClassifier) } else { Ok(checks) }
}

fn on_critical(Escalation { on_critical, review_label }: Escalation) -> OnCritical {
    match on_critical.map(|action| action.value) {
        None | Some(EscalationAction::Halt) => OnCritical::Halt,
        Some(EscalationAction::Review) => {
            let label = review_label.map(|label| label.value).filter(|label| !label.is_empty());
            OnCritical::Review { label: label.unwrap_or_else(|| REVIEW_LABEL.to_owned()) }
        }
    }
}

/// What is not said is on.
fn is_on(flag: Option<&Located<bool>>) -> bool {
    flag.is_none_or(|flag| flag.value)
}
