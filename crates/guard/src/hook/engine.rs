//! The decision about one tool call.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value;

use crate::canary::CanaryScanner;
use crate::finding::Finding;
use crate::hook::call::{Call, Unread};
use crate::hook::clean::Step;
use crate::hook::config::{ConfigError, HookConfig, TirithCheck};
use crate::hook::decision::{Action, Decision, HookPhase, Recorded};
use crate::hook::plan::{CHECKS, CheckRow};
use crate::hook::{post, pre, reply};
use crate::log::DECISION_FAILED;
use crate::tirith::{self, Answer, Requirement, Settings};
use crate::url::Allowed;

/// Asks for a second opinion on a command.
pub type AskTirith = dyn Fn(&str) -> Answer + Send + Sync;

/// Decides about tool calls by one configuration.
pub struct Hook {
    pub(super) config: HookConfig,
    /// Which checks there are, in the order in which they run.
    pub(super) plan: Vec<CheckRow>,
    /// What cleans output, in the order of the plan.
    pub(super) steps: Vec<Step>,
    /// What requests may reach although it is not public.
    pub(super) allowed: Allowed,
    /// What must not appear in the input of tools.
    pub(super) canary: CanaryScanner,
    /// Who is asked about commands.
    pub(super) tirith: Option<Box<AskTirith>>,
}

impl fmt::Debug for Hook {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Hook").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Hook {
    /// A hook with this configuration.
    pub fn new(config: HookConfig) -> Result<Self, ConfigError> {
        Self::with_plan(config, CHECKS)
    }

    /// A hook that makes the checks in `plan` and no others, in this order; for callers that make some of them themselves.
    pub fn with_plan(config: HookConfig, plan: &[CheckRow]) -> Result<Self, ConfigError> {
        config.validate()?;
        let steps = plan.iter().filter_map(|row| row.check.step(&config.checks).transpose());
        let steps = steps.collect::<Result<_, _>>()?;
        let (allowed, canary) = (config.checks.ssrf.allowed()?, config.checks.canary.scanner()?);
        let tirith = ask_tirith(&config.checks.tirith);
        Ok(Self { config, plan: plan.to_vec(), steps, allowed, canary, tirith })
    }

    /// The same hook, asking `tirith` instead of the program.
    #[must_use]
    pub fn with_tirith(mut self, tirith: Box<AskTirith>) -> Self {
        self.tirith = Some(tirith);
        self
    }

    /// What it was made with.
    pub fn config(&self) -> &HookConfig {
        &self.config
    }

    /// Decides about the call that `input` describes. Input that cannot be read denies, and so does a panic of a check.
    pub fn decide(&self, phase: HookPhase, input: &[u8]) -> Decision {
        guarded(phase, || self.check(phase, input))
    }

    fn check(&self, phase: HookPhase, input: &[u8]) -> Decision {
        let limit = self.config.limits.max_input_bytes;
        let call = if input.len() > limit {
            Err(Unread::oversized(limit))
        } else {
            Call::read(self.config.runtime, phase, input)
        };
        match (call, phase) {
            (Ok(None), _) => Decision::default(),
            (Ok(Some(call)), HookPhase::PreTool) => {
                pre::decide(self, &call).unwrap_or_else(|unread| refuse(phase, unread))
            }
            (Ok(Some(call)), HookPhase::PostTool) => post::decide(self, call),
            (Err(unread), _) => refuse(phase, unread),
        }
    }
}

/// Asks the program that is configured.
fn ask_tirith(check: &TirithCheck) -> Option<Box<AskTirith>> {
    let program = check.program.clone().filter(|_| check.enabled)?;
    let requirement = if check.required { Requirement::Required } else { Requirement::Optional };
    let settings = Settings { fail_on: check.fail_on, requirement, ..Settings::default() };
    Some(Box::new(move |command: &str| tirith::check(&program, command, &settings)))
}

/// What `decide` says; a denial when it panics.
fn guarded(phase: HookPhase, decide: impl FnOnce() -> Decision) -> Decision {
    // Nothing of a hook changes while it decides, so there is nothing that a panic could leave half done.
    catch_unwind(AssertUnwindSafe(decide)).unwrap_or_else(|_| {
        let finding = Finding::new(&DECISION_FAILED, None, "the check ended in a fault of the program");
        let recorded = vec![Recorded { finding, action: Action::Block }];
        Decision { recorded, ..reply::failure(phase, "the check of this tool call failed") }
    })
}

fn refuse(phase: HookPhase, unread: Unread) -> Decision {
    let decision = reply::failure(phase, unread.finding.detail());
    Decision { recorded: vec![Recorded { finding: unread.finding, action: Action::Block }], ..decision }
}

/// The one shape a shell's result may have besides a plain text: an object with its standard output.
pub(super) const STDOUT: &str = "stdout";

/// Whether a value says nothing.
pub(super) fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::guarded;
    use crate::hook::{Decision, HookPhase};

    #[test]
    fn a_panic_denies_the_call_and_withholds_the_output() {
        for (phase, key, value) in [
            (HookPhase::PreTool, "/hookSpecificOutput/permissionDecision", "deny".into()),
            (HookPhase::PostTool, "/continue", false.into()),
        ] {
            let decision = guarded(phase, || panic!("told to"));
            let reply: serde_json::Value = serde_json::from_str(&decision.stdout).unwrap();
            assert_eq!((decision.exit, &reply["decision"]), (2, &"block".into()));
            assert_eq!(reply.pointer(key), Some(&value));
            assert_eq!(decision.recorded[0].finding.rule.id, "decision_failed");
            assert!(!decision.stdout.contains("told to") && !decision.stderr.contains("told to"));
        }
        let calm = Decision { stdout: "x".to_owned(), ..Decision::default() };
        assert_eq!(guarded(HookPhase::PreTool, || calm.clone()), calm);
    }
}
