//! The scan of a skill before an agent sees it.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fullsend_guard::files::{self, ContextFile, ContextKind, ContextLimits, Dependencies, Entry, Root};
use fullsend_guard::hook::{Action, Recorded};
use fullsend_guard::log::{LogError, Phase, Place};
use fullsend_guard::{Checks, Finding, FindingsLog, Outcome, Policy};
use fullsend_origin::TreeDigest;

use super::refusal::FetchRefusal;

/// Looks at every text file of a skill, as the run looks at everything else that it gives to the agent.
#[derive(Debug)]
pub(super) struct Inspection {
    checks: Checks,
    policy: Policy,
    log: FindingsLog,
    /// What was blocked: asking again changes nothing, and must not fill the log.
    blocked: Mutex<HashSet<TreeDigest>>,
}

impl Inspection {
    pub(super) fn new(checks: Checks, policy: Policy, log: FindingsLog) -> Self {
        Self { checks: checks.for_files(), policy, log, blocked: Mutex::default() }
    }

    /// Whether the skill was blocked before.
    pub(super) fn has_blocked(&self, digest: TreeDigest) -> bool {
        self.blocked().contains(&digest)
    }

    /// Scans the skill in `directory`, which is delivered as `name`. Findings are in the log before anything follows from
    /// them. Blocks.
    pub(super) fn look(&self, directory: &Path, name: &str, digest: TreeDigest) -> Result<(), FetchRefusal> {
        let found = self.findings(directory).map_err(|error| {
            FetchRefusal::new(500, "scan", "internal error during the security scan")
                .because("scan", error.to_string())
        })?;
        let outcome = self.policy.judge(found.iter().flat_map(|(_, findings)| findings));
        self.record(name, &found).map_err(|error| {
            FetchRefusal::new(500, "findings-log", "internal error during the security scan")
                .because("findings-log", error.to_string())
        })?;
        if outcome == Outcome::Blocked {
            self.blocked().insert(digest);
            return Err(blocked());
        }
        Ok(())
    }

    fn findings(&self, directory: &Path) -> io::Result<Vec<(String, Vec<Finding>)>> {
        let pipeline = self.checks.input();
        let limits = ContextLimits { dependencies: Dependencies::Walk, ..ContextLimits::default() };
        let mut all = Vec::new();
        for entry in files::context(Root::open(directory)?, limits) {
            let (path, findings) = match entry {
                Entry::File(ContextFile { path, kind, text }) => {
                    let mut findings = pipeline.run(&text).findings;
                    if kind == ContextKind::RuntimeConfig {
                        findings.extend(files::runtime_config(&path.to_string_lossy(), &text));
                    }
                    (path, findings)
                }
                Entry::Problem { path, finding } => (path, vec![finding]),
                Entry::Skipped { .. } => continue,
            };
            if !findings.is_empty() {
                all.push((path.to_string_lossy().into_owned(), findings));
            }
        }
        Ok(all)
    }

    fn record(&self, name: &str, found: &[(String, Vec<Finding>)]) -> Result<(), LogError> {
        for (path, findings) in found {
            let recorded: Vec<Recorded> = findings
                .iter()
                .map(|finding| {
                    let stops = self.policy.judge([finding]) == Outcome::Blocked;
                    let action = if stops { Action::Block } else { Action::Warn };
                    Recorded { finding: finding.clone(), action }
                })
                .collect();
            let path = format!("{name}/{path}");
            let place = Place { phase: Phase::HostInput, tool: Some("fetch-skill"), path: Some(&path) };
            self.log.append_all(place, &recorded)?;
        }
        Ok(())
    }

    fn blocked(&self) -> MutexGuard<'_, HashSet<TreeDigest>> {
        self.blocked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What whoever asks for a blocked skill is told.
pub(super) fn blocked() -> FetchRefusal {
    FetchRefusal::new(422, "scan-blocked", "skill content was blocked by the security scan")
}
