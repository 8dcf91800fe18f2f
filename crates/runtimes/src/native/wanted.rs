//! What a run of the built-in agent is asked to be, by a harness.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use fullsend_agent::gate::PromptRole;
use fullsend_agent::mode::ModeSource;
use fullsend_agent::scene::{Canaries, Delivery, SidecarDirs, Wanted};
use fullsend_agent::slot::PromptSlot;
use fullsend_agent::store::{Provenance, Recorded, ToolAllowance};
use fullsend_agent::subagent::SEARCH_MODEL;
use fullsend_agent::workspace::{Access, HostMount, SandboxPath};
use fullsend_flow::{Policy, Source, Trust};
use fullsend_sandbox::{FilesystemAccess, NetworkPolicy, SandboxSpec};
use serde_json::{Map, Value};

use super::stage::{SKILLS, skills};
use super::tools::Allowed;
use super::{Native, agent_error};
use crate::layout::{AGENT_INPUT, OUTPUT, Stage, WORKSPACE};
use crate::runtime::{AgentRuntime as _, Iteration, Place, RuntimeError};

/// Files in which a project says how it wants to be worked on, in the order in which they are looked for; one of each line.
const NOTES: [&[&str]; 2] =
    [&["AGENTS.md", "agents.md", "Agents.md"], &["CLAUDE.md", "claude.md", "Claude.md", ".claude.md"]];
/// Where a project keeps skills of its own.
const PROJECT_SKILLS: [&str; 2] = [".claude/skills", ".agents/skills"];

impl Native {
    /// What the harness and the agent definition ask for. Of a run that goes on, paths are as they are on record.
    pub(super) fn wanted(
        &self,
        place: &Place,
        iteration: &Iteration<'_>,
        recorded: Option<&Recorded>,
    ) -> Result<Wanted, RuntimeError> {
        let stage = &place.stage;
        let Allowed { tools, profiles } = super::tools::allowed(iteration.agent, self.id())?;
        let repo = stage.repo();
        let repo = repo.canonicalize().map_err(|source| RuntimeError::Io {
            doing: format!("use the repository `{}`", repo.display()),
            source,
        })?;
        let policy = iteration.wanted.flow.clone().unwrap_or_else(|| self.config.policy.clone());
        let on_record = recorded.and_then(|recorded| recorded.settings.structured_result.as_ref());
        let structured = iteration.result.map(|(schema, name)| {
            let path = on_record.map_or_else(|| stage.output().join(name), |result| result.path.clone());
            (path, schema.clone())
        });
        Ok(Wanted {
            target: stage.repo_in_sandbox(),
            access: access(place),
            cwd: None,
            focus: None,
            mounts: self.mounts(stage)?,
            artifact_root: place.records.clone(),
            image: None,
            runtime: None,
            sidecars: SidecarDirs::default(),
            hosts: hosts(&place.spec),
            tools,
            profiles,
            search_model: SEARCH_MODEL.to_owned(),
            lease: None,
            scripts: Vec::new(),
            mode: self.config.mode,
            role: PromptRole::DirectCommand,
            provenance: provenance(iteration, &repo),
            manifest: None,
            canaries: Some(&place.canaries)
                .filter(|tokens| !tokens.is_empty())
                .map(|tokens| Canaries { file: None, tokens: tokens.clone() }),
            skills_roots: skills_roots(stage, &repo, &policy, place.fetcher.is_some()),
            preload: Vec::new(),
            catalogue: true,
            notes: notes(&repo),
            delivery: if structured.is_some() { Delivery::FileOrTool } else { Delivery::File },
            structured,
            system_prompt: Some(iteration.agent.instructions.clone()),
            operator: false,
            policy,
            workspace: repo,
        })
    }

    /// What file tools reach besides the repository. What is mounted read-only in the workspace is not among it: on the host
    /// a file could be put in its place.
    fn mounts(&self, stage: &Stage) -> Result<Vec<HostMount>, RuntimeError> {
        let skills_target = format!("{}/{SKILLS}", self.config_dir());
        let harness_target = format!("{WORKSPACE}/.fullsend");
        let mounts = [
            ("output", stage.output(), OUTPUT, Access::Writable),
            ("agent-input", stage.agent_input(), AGENT_INPUT, Access::Writable),
            ("harness", stage.fixed().join("fullsend"), &harness_target, Access::ReadOnly),
            ("skills", skills(stage), &skills_target, Access::ReadOnly),
        ];
        let mount = |(name, source, target, access): (&str, PathBuf, &str, Access)| {
            let target = SandboxPath::absolute(target).map_err(agent_error)?;
            Ok(HostMount { name: name.to_owned(), source, target, access })
        };
        mounts.into_iter().map(mount).collect()
    }
}

/// What commands may do in the repository: file tools, which work on the host, may do no more.
fn access(place: &Place) -> Access {
    let target = place.stage.repo_in_sandbox();
    let mount = place.spec.mounts.iter().rfind(|mount| mount.target == target);
    match mount.map(|mount| mount.access) {
        Some(FilesystemAccess::ReadOnly) => Access::ReadOnly,
        Some(FilesystemAccess::ReadWrite) | None => Access::Writable,
    }
}

/// Who decided: the harness.
fn provenance(iteration: &Iteration<'_>, repo: &Path) -> Provenance {
    let mut source = Map::new();
    source.insert("type".to_owned(), Value::from("fullsend.harness"));
    source.insert("agent".to_owned(), Value::from(iteration.agent.name.as_str()));
    let subject = repo.display().to_string();
    let restricted = !(iteration.agent.tools.is_empty() && iteration.agent.disallowed_tools.is_empty());
    Provenance {
        mode_source: ModeSource::ExplicitConfig,
        tool_allowance: if restricted { ToolAllowance::Restricted } else { ToolAllowance::AllBuiltins },
        prompt_slot: Some(PromptSlot::made_here("run", PromptRole::DirectCommand, &subject, source)),
        run_manifest: None,
    }
}

/// What commands reach over the network: what comes from there is in their output.
fn hosts(spec: &SandboxSpec) -> BTreeSet<String> {
    let mut hosts: BTreeSet<String> = match &spec.network_policy {
        NetworkPolicy::Unrestricted => BTreeSet::from(["*".to_owned()]),
        NetworkPolicy::Limited { allowed_hosts, .. } => allowed_hosts.iter().cloned().collect(),
    };
    let upstream = |url: &str| {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        rest.split(['/', '?', '#']).next().unwrap_or_default().to_owned()
    };
    hosts.extend(spec.endpoints.iter().map(|endpoint| upstream(&endpoint.upstream)));
    hosts
}

/// Directories of skills; those of the harness win over those of the project. A project that nobody vouches for has none:
/// what its skills are called would be in the first message.
fn skills_roots(stage: &Stage, repo: &Path, policy: &Policy, fetches: bool) -> Vec<PathBuf> {
    let own = skills(stage);
    let has_own = fs::read_dir(&own).is_ok_and(|mut entries| entries.next().is_some());
    let vouched = |path: &&str| Trust::of(&policy.label_of(Source::File(path)).integrity) >= Trust::Workspace;
    let of_project =
        PROJECT_SKILLS.iter().copied().filter(vouched).filter_map(|path| plain_directory(repo, path));
    let of_project: Vec<PathBuf> = of_project.collect();
    let own = (has_own || fetches || !of_project.is_empty()).then_some(own);
    own.into_iter().chain(of_project).collect()
}

/// A directory of the repository, unless a link is on the way.
fn plain_directory(repo: &Path, below: &str) -> Option<PathBuf> {
    let mut path = repo.to_owned();
    for part in below.split('/') {
        path.push(part);
        path.symlink_metadata().ok().filter(fs::Metadata::is_dir)?;
    }
    Some(path)
}

/// What the project says about itself.
fn notes(repo: &Path) -> Vec<PathBuf> {
    let plain = |path: &PathBuf| path.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    let first = |names: &[&str]| names.iter().map(|name| repo.join(name)).find(plain);
    NOTES.into_iter().filter_map(first).collect()
}
