//! What a resolved harness comes to: every value read, every file found, before anything is done.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fullsend_guard::canary::CanaryToken;
use fullsend_guard::hook;
use fullsend_harness::Library;
use fullsend_harness::path::resolve;
use fullsend_harness::schema::{
    AgentDefinition, FlowRules, HarnessFile, Security, SkillEntry, ToolList, ValidationLoop,
};
use fullsend_harness::value::{FeedbackMode, RepositoryConfig};
use fullsend_origin::Sha256Digest;
use fullsend_resolve::{Dependency, Store};
use fullsend_runtimes::{AgentRuntime, AgentText, Wanted};
use fullsend_yaml::{Diagnostic, Located, front_matter};
use serde_json::Value;

use crate::assemble::copy_tree;
use crate::environment::{Environment, Expanded, expand};
use crate::grants::{ProviderGrants, definitions, provider_grants};
use crate::policy_file::PolicyFile;
use crate::request::Options;
use crate::security::{CanaryPlan, HookInput, HostSecurity, canary_plan, hook_checks, host_security};
use crate::stop::Stop;
use crate::validate::ResultSchema;

/// How long an agent may work when the harness does not say.
const USUAL_MINUTES: u64 = 30;
/// No run is longer: points in time further away cannot be reckoned with.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 60 * 60);
/// The file of the result when nothing else is said.
const USUAL_RESULT: &str = "agent-result.json";
/// The variable with the name of that file.
const RESULT_VARIABLE: &str = "FULLSEND_OUTPUT_FILE";

/// What a resolved harness comes to.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) harness: HarnessFile,
    pub(crate) expanded: Expanded,
    pub(crate) policy: Option<PolicyFile>,
    pub(crate) providers: ProviderGrants,
    pub(crate) security: HostSecurity,
    pub(crate) hooks: hook::Checks,
    pub(crate) canary: CanaryPlan,
    pub(crate) token: Option<CanaryToken>,
    pub(crate) agent_file: PathBuf,
    pub(crate) agent: AgentText,
    pub(crate) wanted: Wanted,
    pub(crate) skills: Vec<SkillFiles>,
    pub(crate) plugins: Vec<PathBuf>,
    pub(crate) agent_input: Option<PathBuf>,
    pub(crate) allowed_config: Vec<RepositoryConfig>,
    pub(crate) result: Option<ResultContract>,
    pub(crate) scripts: Scripts,
    pub(crate) timeout: Duration,
    pub(crate) iterations: u32,
    pub(crate) feedback: FeedbackMode,
}

/// A skill, and what the harness changes in it.
#[derive(Debug)]
pub(crate) struct SkillFiles {
    pub(crate) directory: PathBuf,
    /// What it is pinned to, if it came from elsewhere.
    pub(crate) digest: Option<Sha256Digest>,
    /// Files below it: what takes their place, or nothing.
    pub(crate) overrides: BTreeMap<String, Option<PathBuf>>,
}

impl SkillFiles {
    /// The skill with what the harness changes in it, as a directory below `home`: what is scanned there is what is used.
    pub(crate) async fn prepared(&self, home: &Path, store: &Arc<Store>) -> Result<PathBuf, Stop> {
        let copy = home.join("skills").join(self.directory.file_name().unwrap_or_default());
        let doing = format!("prepare the skill `{}`", self.directory.display());
        fs::create_dir_all(home.join("skills")).map_err(Stop::io(&doing))?;
        match self.digest {
            // Verified once more on the way; programs of it can be run.
            Some(digest) => store
                .copy_directory(digest, &copy)
                .await
                .map_err(|error| Stop::Failed { message: format!("cannot {doing}: {error}") })?,
            None => {
                fs::create_dir(&copy).map_err(Stop::io(&doing))?;
                copy_tree(&self.directory, &copy, &[])
                    .map_err(|error| Stop::Failed { message: format!("cannot {doing}: {error}") })?;
            }
        }
        for (file, replacement) in &self.overrides {
            let target = copy.join(file);
            match replacement {
                Some(from) => {
                    if let Some(parent) = target.parent() {
                        fs::create_dir_all(parent).map_err(Stop::io(&doing))?;
                    }
                    fs::copy(from, &target).map(drop).map_err(Stop::io(&doing))?;
                }
                None => fs::remove_file(&target).map_err(Stop::io(&doing))?,
            }
        }
        Ok(copy)
    }
}

/// What the result must be.
#[derive(Debug)]
pub(crate) struct ResultContract {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
    pub(crate) value: Value,
    pub(crate) schema: ResultSchema,
}

/// The scripts of the harness, on the host.
#[derive(Debug)]
pub(crate) struct Scripts {
    pub(crate) preflight: Option<String>,
    pub(crate) pre: Option<PathBuf>,
    pub(crate) post: Option<PathBuf>,
    pub(crate) validation: Option<PathBuf>,
    /// The name of the result's file.
    pub(crate) result_file: String,
}

impl Plan {
    /// Reads everything that the harness names.
    pub(crate) fn make(
        harness: HarnessFile,
        library: &mut Library,
        agent: &str,
        environment: &Environment,
        options: &Options,
        runtime: &dyn AgentRuntime,
        dependencies: &[Dependency],
    ) -> Result<Self, Stop> {
        let root = library.root().canonicalize().map_err(Stop::io("find the fullsend directory"))?;
        let broken = |library: &Library, problems| Stop::Broken {
            sources: Box::new(library.sources().clone()),
            problems,
        };
        let expanded = expand(&harness, environment, &root).map_err(|problems| broken(library, problems))?;
        let unsaid = Security::default();
        let block = harness.security.as_ref().unwrap_or(&unsaid);
        let mut security = host_security(harness.security.as_ref()).map_err(refused)?;
        let agent_file = harness.agent.as_ref().and_then(|agent| local(&root, agent.local()));
        let agent_file = agent_file.ok_or_else(|| {
            Stop::refused("the harness names no agent definition", "add `agent: agents/NAME.md` to it")
        })?;
        let mut problems = Vec::new();
        let definition = library.agent(&agent_file, &mut problems);
        let Some(definition) = definition.filter(|_| !problems.iter().any(Diagnostic::is_error)) else {
            return Err(broken(library, problems));
        };
        let policy = policy_of(&harness, library, &root)?;
        let definitions = definitions(library, &harness, &|_written_at| false, &mut problems);
        if problems.iter().any(Diagnostic::is_error) {
            return Err(broken(library, problems));
        }
        let providers = provider_grants(&definitions.providers, &definitions.profiles, environment)
            .map_err(|error| Stop::refused(error.to_string(), "correct the provider or its profile"))?;
        let canary = canary_plan(block);
        let token = canary.generate();
        // Tokens that the run works with are looked for like the one that was planted.
        let tokens: Vec<CanaryToken> = token.iter().chain(environment.secrets()).cloned().collect();
        security.checks = security.checks.with_canaries(tokens.clone());
        let agent = agent_text(agent, &agent_file, &definition)?;
        let input = HookInput {
            tokens: tokens.iter().map(|token| token.reveal().to_owned()).collect(),
            ..HookInput::of_agent(runtime.id(), &agent.tools, &agent.disallowed_tools)
        };
        let hooks = hook_checks(block, input).map_err(refused)?;
        let validation = harness.validation_loop.as_ref();
        let result_file = expanded
            .runner
            .get(RESULT_VARIABLE)
            .map(String::as_str)
            .or_else(|| environment.get(RESULT_VARIABLE));
        let result_file = result_file.unwrap_or(USUAL_RESULT).to_owned();
        let schema = expanded.schema.as_deref().map(|schema| root.join(schema));
        Ok(Self {
            wanted: wanted(&harness, &definition, options),
            skills: harness
                .skills
                .iter()
                .flatten()
                .map(|skill| skill_files(&root, skill, dependencies))
                .collect(),
            plugins: harness
                .plugins
                .iter()
                .flatten()
                .filter_map(|plugin| local(&root, plugin.local()))
                .collect(),
            agent_input: harness.agent_input.as_ref().map(|input| root.join(input.as_str())),
            allowed_config: harness.allow_repository_config.iter().flatten().map(|name| name.value).collect(),
            result: schema.map(|path| result_contract(path, &result_file)).transpose()?,
            scripts: scripts(&root, &harness, result_file),
            timeout: options.timeout.unwrap_or_else(|| timeout(&harness)).min(LONGEST),
            iterations: iterations(validation),
            feedback: validation
                .and_then(|one| one.feedback_mode.as_ref())
                .map_or(FeedbackMode::Output, |mode| mode.value),
            harness,
            expanded,
            policy,
            providers,
            security,
            hooks,
            canary,
            token,
            agent_file,
            agent,
        })
    }
}

/// The policy file. In a run the agent has files of its own, so what it may see besides them is named by absolute paths.
fn policy_of(harness: &HarnessFile, library: &mut Library, root: &Path) -> Result<Option<PolicyFile>, Stop> {
    let Some(path) = harness.policy.as_ref().and_then(|policy| local(root, policy.local())) else {
        return Ok(None);
    };
    let mut problems = Vec::new();
    let policy = PolicyFile::read(library, &path, root, &mut problems)
        .map_err(|error| Stop::refused(error.to_string(), "correct `policy` of the harness"))?;
    let Some(policy) = policy else {
        return Err(Stop::Broken { sources: Box::new(library.sources().clone()), problems });
    };
    let permissions = &policy.permissions;
    match permissions.read.iter().chain(&permissions.write).find(|entry| !entry.starts_with('/')) {
        None => Ok(Some(policy)),
        Some(entry) => Err(Stop::refused(
            format!("the sandbox policy `{}` grants `{entry}`, and a run has no such place", path.display()),
            "the agent has a copy of the repository anyway; name other files by absolute paths",
        )),
    }
}

fn refused(error: crate::security::SecurityError) -> Stop {
    Stop::refused(error.to_string(), "correct the `security` block of the harness")
}

fn local(root: &Path, written: Option<&str>) -> Option<PathBuf> {
    resolve(root, written?)
}

fn skill_files(root: &Path, entry: &SkillEntry, dependencies: &[Dependency]) -> SkillFiles {
    let overrides = entry.overrides.iter().flatten().map(|(file, replacement)| {
        let replacement = replacement.as_ref().and_then(|source| local(root, source.local()));
        (file.clone(), replacement)
    });
    let directory = local(root, entry.source.local()).unwrap_or_default();
    let fetched = dependencies.iter().find(|dependency| dependency.path == directory);
    SkillFiles { digest: fetched.map(|fetched| fetched.sha256), overrides: overrides.collect(), directory }
}

fn scripts(root: &Path, harness: &HarnessFile, result_file: String) -> Scripts {
    let validation = harness.validation_loop.as_ref();
    let preflight = validation.and_then(|validation| validation.preflight_check.as_ref());
    Scripts {
        preflight: preflight.map(|line| line.value.clone()),
        pre: harness.pre_script.as_ref().map(|script| root.join(script.as_str())),
        post: harness.post_script.as_ref().map(|script| root.join(script.as_str())),
        validation: validation.and_then(|one| one.script.as_ref()).map(|script| root.join(script.as_str())),
        result_file,
    }
}

fn timeout(harness: &HarnessFile) -> Duration {
    let minutes =
        harness.timeout_minutes.as_ref().and_then(|minutes| u64::try_from(minutes.value.get()).ok());
    let minutes = minutes.filter(|minutes| *minutes > 0).unwrap_or(USUAL_MINUTES);
    Duration::from_secs(minutes.saturating_mul(60))
}

fn iterations(validation: Option<&ValidationLoop>) -> u32 {
    let most = validation.and_then(|validation| validation.max_iterations.as_ref());
    most.and_then(|most| u32::try_from(most.value.get()).ok()).unwrap_or(1).max(1)
}

fn wanted(harness: &HarnessFile, definition: &AgentDefinition, options: &Options) -> Wanted {
    let model = harness.model.as_ref().or(definition.model.as_ref());
    let effort = harness.effort.as_ref().or(definition.effort.as_ref());
    let allowed = harness.allow_repository_config.iter().flatten();
    let model = options.model.clone().or_else(|| model.map(|model| model.as_str().to_owned()));
    Wanted {
        model: model.or_else(|| options.usual_model.clone()),
        effort: effort.map(|effort| effort.value.as_str().to_owned()),
        debug: options.debug.clone(),
        flow: harness.flow.as_ref().map(FlowRules::policy),
        repository_config: allowed.map(|name| name.value.as_str().to_owned()).collect(),
    }
}

fn agent_text(name: &str, file: &Path, definition: &AgentDefinition) -> Result<AgentText, Stop> {
    let source = fs::read_to_string(file).map_err(Stop::io(format!("read `{}`", file.display())))?;
    let body = front_matter(&source).and_then(|found| source.get(found.body)).unwrap_or(&source);
    let names = |list: &Option<ToolList>| -> Vec<String> {
        list.iter().flat_map(|list| &list.0).map(|tool: &Located<String>| tool.value.clone()).collect()
    };
    Ok(AgentText {
        name: name.strip_suffix(".md").unwrap_or(name).to_owned(),
        instructions: body.trim().to_owned(),
        tools: names(&definition.tools),
        disallowed_tools: names(&definition.disallowed_tools),
        max_turns: definition.max_turns.as_ref().and_then(|turns| u32::try_from(turns.value.get()).ok()),
        source,
    })
}

fn result_contract(path: PathBuf, file: &str) -> Result<ResultContract, Stop> {
    let schema = ResultSchema::read(&path, file)
        .map_err(|error| Stop::refused(error.to_string(), "correct `validation_loop.schema`"))?;
    let bytes = fs::read(&path).map_err(Stop::io(format!("read `{}`", path.display())))?;
    let value = serde_json::from_slice(&bytes).unwrap_or_default();
    Ok(ResultContract { path, bytes, value, schema })
}
