//! Scans what the agent will read: before it enters the sandbox, and as the agent sees it there.

use std::fs;
use std::path::{Path, PathBuf};

use fullsend_guard::Outcome as Judged;

use crate::event::Step;
use crate::host_files::{self, HostFileContent, Roots};
use crate::pipeline::Scene;
use crate::scan::{ScanInput, Scanned, SessionScan, scan_context, scan_input};
use crate::security::OnCritical;
use crate::steps::pre_script::with_cause;
use crate::steps::provision::Ground;
use crate::stop::Stop;
use crate::teller::Made;

/// The organisation's instructions, for repositories that have none.
const INSTRUCTIONS: &str = "AGENTS.md";

/// What was scanned, as it was scanned: this is what goes into the sandbox.
#[derive(Debug)]
pub(crate) struct Inputs {
    pub(crate) skills: Vec<PathBuf>,
    pub(crate) instructions: Option<Vec<u8>>,
    pub(crate) host_files: Vec<HostFileContent>,
}

/// Reads and scans what goes into the sandbox.
pub(crate) async fn inputs(scene: &Scene<'_, '_>, home: &Path) -> Result<Made<Inputs>, Stop> {
    let (plan, request) = (scene.plan, scene.request);
    let place = scene.root.join(INSTRUCTIONS);
    let instructions = match fs::read(&place) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => {
            return Err(Stop::io(format!("read `{INSTRUCTIONS}` of the fullsend directory"))(error));
        }
    };
    let roots = Roots { fullsend_dir: scene.root, target_repo: &request.target_repo };
    let written = plan.harness.host_files.as_deref().unwrap_or_default();
    let host_files = host_files::read(written, &plan.expanded.host_files, roots, &request.environment)
        .map_err(|error| Stop::refused(with_cause(&error), "correct `host_files` of the harness"))?;
    let mut skills = Vec::with_capacity(plan.skills.len());
    for skill in &plan.skills {
        skills.push(skill.prepared(home, &request.store).await?);
    }
    let input = ScanInput {
        agent: (&plan.agent_file, &plan.agent.source),
        skills: &skills,
        plugins: &plan.plugins,
        agent_input: plan.agent_input.as_deref(),
        host_files: &host_files,
        instructions: instructions.as_deref().map(|text| (place.as_path(), text)),
        repo: &request.target_repo,
        allowed: &plan.allowed_config,
    };
    let scanned = scan_input(input, &plan.security, scene.log)
        .map_err(|error| Stop::Failed { message: with_cause(&error) })?;
    let detail = judged(scene, Step::ScanInput, &scanned)?;
    let inputs = Inputs { skills, instructions, host_files };
    Ok(if plan.security.enabled { Made::done(inputs, detail) } else { Made::nothing(inputs, "switched off") })
}

/// Scans the repository as the agent sees it, in the sandbox.
pub(crate) async fn context(scene: &Scene<'_, '_>, ground: &Ground) -> Result<Made<()>, Stop> {
    if !scene.plan.security.enabled {
        return Ok(Made::nothing((), "switched off"));
    }
    let place = &ground.place;
    let session = SessionScan {
        backend: place.backend.as_ref(),
        session: &place.session,
        repo: &place.stage.repo_in_sandbox(),
        env: &place.env,
    };
    let scanned = scan_context(session, &scene.plan.security, scene.log)
        .await
        .map_err(|error| Stop::Failed { message: with_cause(&error) })?;
    let detail = judged(scene, Step::ScanContext, &scanned)?;
    Ok(Made::done((), detail))
}

/// Tells of what was found; stops the run where it must not go on.
fn judged(scene: &Scene<'_, '_>, step: Step, scanned: &Scanned) -> Result<String, Stop> {
    for found in &scanned.found {
        scene.teller.tell(found.event(step));
    }
    let files = match scanned.files {
        1 => "1 file".to_owned(),
        many => format!("{many} files"),
    };
    let findings = match scanned.found.len() {
        0 => "no findings".to_owned(),
        1 => "1 finding".to_owned(),
        many => format!("{many} findings"),
    };
    if scanned.outcome != Judged::Blocked {
        return Ok(format!("{files}, {findings}"));
    }
    let help = match &scene.plan.security.on_critical {
        OnCritical::Halt => {
            "look at what was found; remove it, or quote it and say that it is an example".to_owned()
        }
        OnCritical::Review { label } => {
            format!("a person has to look at this: put the label `{label}` on it")
        }
    };
    Err(Stop::Blocked {
        message: format!("what the agent would read is blocked: {findings} in {files}"),
        help,
    })
}
