//! What is on record of a scene.

use std::time::Duration;

use fullsend_origin::Sha256Digest;
use fullsend_skills::{Registry, SkillRoot};

use super::error::SceneError;
use super::surroundings::Floor;
use super::wanted::{ChosenModel, Wanted};
use crate::budget::Limits;
use crate::store::{
    MountAccess, RecordedGateway, RecordedLimits, RecordedMount, RecordedResult, RecordedRoot,
    RecordedSandbox, RecordedSettings,
};
use crate::subagent;
use crate::workspace::{Access, Workspace};

/// Tools that make no sense without skills.
const OF_SKILLS: [&str; 3] = ["load_skill", "read_skill_resource", "run_skill_script"];

/// The limits on record.
pub fn recorded_limits(settings: &RecordedSettings) -> Limits {
    let (usual, recorded) = (Limits::default(), settings.limits);
    Limits {
        turns: recorded.model_turns.and_then(|turns| u32::try_from(turns).ok()).unwrap_or(usual.turns),
        tokens: recorded.total_tokens.unwrap_or(usual.tokens),
        cost_usd: recorded.cost_usd.unwrap_or(usual.cost_usd),
        time: recorded.seconds.map_or(usual.time, Duration::from_secs),
        output_bytes: recorded.output_bytes.unwrap_or(usual.output_bytes),
        ..usual
    }
}

pub(super) fn of(
    wanted: &Wanted,
    workspace: &Workspace,
    registry: Option<&Registry>,
    model: &ChosenModel,
    limits: &Limits,
    floor: &Floor,
) -> Result<RecordedSettings, SceneError> {
    let mut tools = wanted.tools.clone();
    if registry.is_none() {
        tools.retain(|tool| !OF_SKILLS.contains(&tool.as_str()));
    }
    if wanted.profiles.is_empty() {
        tools.remove(subagent::NAME);
    }
    let roots = wanted.skills_roots.iter().map(|path| RecordedRoot {
        path: path.clone(),
        digest: registry.map(registry_digest).unwrap_or_default(),
    });
    Ok(RecordedSettings {
        workspace: wanted.workspace.clone(),
        start_dir: start_dir(wanted, workspace)?,
        tools,
        subagent_profiles: wanted.profiles.iter().map(|profile| profile.as_str().to_owned()).collect(),
        skill_scripts: wanted.scripts.iter().map(ToString::to_string).collect(),
        mounts: mounts(workspace),
        sandbox: RecordedSandbox {
            backend: backend_name(wanted, floor).to_owned(),
            image: wanted.image.clone(),
            runtime: wanted.runtime.clone(),
            network_hosts: wanted.hosts.clone(),
        },
        model: model.name.clone(),
        gateway: RecordedGateway { url: model.url.clone(), auth: model.auth.to_owned() },
        limits: RecordedLimits::of(limits),
        flow_mode: wanted.mode,
        flow_policy: wanted.policy.clone(),
        canary_file: wanted.canaries.as_ref().and_then(|canaries| canaries.file.clone()),
        prompt_role: wanted.role,
        skills_roots: roots.collect(),
        structured_result: wanted.structured.as_ref().map(|(path, schema)| RecordedResult {
            path: path.clone(),
            schema_digest: Some(format!("sha256:{}", Sha256Digest::of(schema.to_string().as_bytes()))),
        }),
        provenance: wanted.provenance.clone(),
    })
}

fn start_dir(wanted: &Wanted, workspace: &Workspace) -> Result<String, SceneError> {
    let Some(cwd) = &wanted.cwd else { return Ok(wanted.target.clone()) };
    let refused = |source| SceneError::StartPath { path: cwd.clone(), source };
    let contained = workspace.host_to_sandbox(&wanted.workspace.join(cwd)).map_err(refused)?;
    if !contained.host.is_dir() {
        return Err(SceneError::NoStart(cwd.clone()));
    }
    Ok(contained.sandbox.as_str().to_owned())
}

fn mounts(workspace: &Workspace) -> Vec<RecordedMount> {
    let others = workspace.mounts().iter().skip(1);
    let recorded = others.map(|mount| RecordedMount {
        host: mount.host().to_owned(),
        sandbox: mount.target().as_str().to_owned(),
        access: match mount.access() {
            Access::ReadOnly => MountAccess::ReadOnly,
            Access::Writable => MountAccess::ReadWrite,
        },
    });
    recorded.collect()
}

fn backend_name(wanted: &Wanted, floor: &Floor) -> &'static str {
    match floor {
        Floor::Given { backend, .. } => backend.name(),
        Floor::Own(_) if wanted.image.is_some() => "docker",
        Floor::Own(_) => "local",
    }
}

/// One digest over every skill and all of its files.
fn registry_digest(registry: &Registry) -> String {
    let mut text = String::new();
    for skill in registry.skills() {
        text.push_str(&format!("{} {}\n", skill.name(), skill.digest));
        for resource in &skill.resources {
            text.push_str(&format!("{} {}\n", resource.path, resource.digest));
        }
    }
    format!("sha256:{}", Sha256Digest::of(text.as_bytes()))
}

/// The skills of a run; none where nobody named a directory of skills.
pub(super) fn registry(wanted: &Wanted, workspace: &Workspace) -> Result<Option<Registry>, SceneError> {
    if wanted.skills_roots.is_empty() {
        if !wanted.preload.is_empty() {
            return Err(SceneError::PreloadWithoutSkills);
        }
        if !wanted.scripts.is_empty() {
            return Err(SceneError::ScriptsWithoutSkills);
        }
        return Ok(None);
    }
    let mut roots = Vec::with_capacity(wanted.skills_roots.len());
    for path in &wanted.skills_roots {
        if !path.is_dir() {
            return Err(SceneError::NoSkills(path.clone()));
        }
        let refused = |source| SceneError::SkillsPath { path: path.clone(), source };
        let contained = workspace.host_to_sandbox(path).map_err(refused)?;
        roots.push(SkillRoot { host: contained.host, sandbox: contained.sandbox.as_str().into() });
    }
    Ok(Some(Registry::scan(&roots, fullsend_skills::Limits::default())))
}
