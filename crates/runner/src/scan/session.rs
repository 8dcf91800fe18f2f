//! The scan in the sandbox: the same walk, over the files as the agent will see them.

use std::collections::BTreeMap;
use std::time::Duration;

use fullsend_guard::files::UNREADABLE;
use fullsend_guard::log::{LogError, Phase};
use fullsend_guard::{Check, Finding, FindingsLog, Rule, ScannerId, Severity, rules};
use fullsend_runtimes::PROGRAM;
use fullsend_sandbox::{ExecRequest, ExecResult, SandboxBackend, SandboxSessionId};
use serde::Deserialize;

use super::{Record, Scanned};
use crate::security::HostSecurity;

/// How long the scan may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// Where the scan runs.
#[derive(Clone, Copy, Debug)]
pub struct SessionScan<'a> {
    /// What runs commands.
    pub backend: &'a dyn SandboxBackend,
    /// The session of the run.
    pub session: &'a SandboxSessionId,
    /// The repository in the sandbox.
    pub repo: &'a str,
    /// Variables of every command.
    pub env: &'a BTreeMap<String, String>,
}

/// What our program in the sandbox prints.
#[derive(Debug, Deserialize)]
struct Printed {
    files: Vec<String>,
    findings: Vec<PrintedFinding>,
}

#[derive(Debug, Deserialize)]
struct PrintedFinding {
    file: String,
    line: Option<usize>,
    scanner: String,
    rule: String,
    severity: Severity,
    detail: String,
}

/// Has our program in the sandbox look at the repository. That it could not is a finding like any check that could not be
/// completed. An error is that the findings could not be written down, and then nothing may go on.
pub async fn scan_context(
    place: SessionScan<'_>,
    security: &HostSecurity,
    log: &FindingsLog,
) -> Result<Scanned, LogError> {
    if !security.enabled {
        return Ok(Scanned::nothing());
    }
    let mut record = Record::new(security.policy, Phase::SandboxContext, log);
    match printed(place).await {
        Ok(printed) => {
            record.scanned.files = printed.files.len();
            add(&mut record, printed, security)?;
        }
        Err(why) => {
            let detail = format!("the scan in the sandbox could not be completed: {why}");
            record.add(place.repo, vec![(None, Finding::new(&UNREADABLE, None, detail))], true)?;
        }
    }
    Ok(record.scanned)
}

async fn printed(place: SessionScan<'_>) -> Result<Printed, String> {
    let args = ["scan", "context", "--format", "json", "."];
    let request = ExecRequest {
        cwd: Some(place.repo.to_owned()),
        env: place.env.clone(),
        timeout: Some(PATIENCE),
        ..ExecRequest::new(PROGRAM, args)
    };
    let result = place.backend.exec(place.session, request).await.map_err(|error| error.to_string())?;
    parse(&result)
}

/// 0 and 3 are the codes of a scan that was made; anything else, or half an answer, is none.
fn parse(result: &ExecResult) -> Result<Printed, String> {
    if result.timed_out {
        return Err(format!("it took longer than {} seconds", PATIENCE.as_secs()));
    }
    if !matches!(result.exit_code, 0 | 3) {
        let said: String = result.stderr.display().chars().take(200).collect();
        return Err(format!("it ended with {}: {said}", result.exit_code));
    }
    if result.stdout_omitted > 0 {
        return Err("its answer was too long".to_owned());
    }
    serde_json::from_slice(&result.stdout.0).map_err(|error| format!("its answer cannot be read: {error}"))
}

fn add(record: &mut Record<'_>, printed: Printed, security: &HostSecurity) -> Result<(), LogError> {
    for found in printed.findings {
        let rule = rules::all().find(|rule| rule.scanner.as_str() == found.scanner && rule.id == found.rule);
        let (line, finding) = match rule {
            Some(rule) if !is_wanted(rule, security) => continue,
            Some(rule) => (found.line, Finding::new(rule, None, &found.detail).with_severity(found.severity)),
            None => {
                let detail = format!("a finding of an unknown kind, {}/{}", found.scanner, found.rule);
                (None, Finding::new(&UNREADABLE, None, detail))
            }
        };
        record.add(&found.file, vec![(line, finding)], true)?;
    }
    Ok(())
}

/// The program makes all checks; the harness may have switched some off.
fn is_wanted(rule: &Rule, security: &HostSecurity) -> bool {
    match rule.scanner {
        ScannerId::UnicodeNormalizer => security.checks.has(Check::Unicode),
        ScannerId::ContextInjection => security.checks.has(Check::Injection),
        ScannerId::LlmGuard
        | ScannerId::SecretRedactor
        | ScannerId::SsrfValidator
        | ScannerId::CommandScanner
        | ScannerId::Tirith
        | ScannerId::Canary
        | ScannerId::ToolAllowlist
        | ScannerId::ContextSuppress
        | ScannerId::FileWalk
        | ScannerId::HookProtocol
        | ScannerId::FindingsLog => true,
    }
}
