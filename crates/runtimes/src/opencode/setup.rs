//! What opencode finds when it starts.

use fullsend_guard::hook::Runtime;
use fullsend_sandbox::FilesystemMount;
use serde_json::{Map, Value, json};

use super::{CONFIG, OpenCode};
use crate::foreign::Foreign as _;
use crate::layout::{HOOK_CONFIG, PROGRAM};
use crate::runtime::{Bootstrap, Equipment, RuntimeError, Wanted};
use crate::tools;
use crate::tree;

/// The name of the model's service in its settings.
pub(super) const PROVIDER: &str = "fullsend";
/// The administrator's directory.
const MANAGED: &str = "/etc/opencode";
/// The plugin that asks the hook.
const PLUGIN: &str = include_str!("hooks.js");

/// The parts of its own directory that it can read and not change.
pub(super) const MOUNT_POINTS: &[&str] = &["skills", "config"];

/// Where it keeps things, and what it would do beside its work.
const VARIABLES: &[(&str, &str)] = &[
    ("XDG_CONFIG_HOME", "/sandbox/opencode-config/config"),
    ("XDG_DATA_HOME", "/sandbox/opencode-config/data"),
    ("XDG_STATE_HOME", "/sandbox/opencode-config/state"),
    ("XDG_CACHE_HOME", "/sandbox/opencode-config/cache"),
    ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
    ("OPENCODE_DISABLE_CLAUDE_CODE", "1"),
    ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
    ("OPENCODE_DISABLE_EXTERNAL_SKILLS", "1"),
    ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
    ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
    // Settings, plugins, agents and skills of the repository.
    ("OPENCODE_DISABLE_PROJECT_CONFIG", "1"),
    ("OPENCODE_DISABLE_SHARE", "1"),
];

/// The model, which it cannot do without.
pub(super) fn model(wanted: &Wanted) -> Result<&str, RuntimeError> {
    let problem = "needs to be told which model to use; add `model` to the harness";
    wanted.model.as_deref().ok_or_else(|| refuse(problem))
}

fn refuse(problem: &str) -> RuntimeError {
    RuntimeError::Unsupported { runtime: Runtime::OpenCode.as_str(), problem: problem.to_owned() }
}

/// Puts everything in its place, but for the program and the way to the model.
pub(super) fn bootstrap(input: &Bootstrap<'_>) -> Result<Equipment, RuntimeError> {
    let name = tree::agent_name(Runtime::OpenCode, &input.agent.name)?;
    tools::can_be_limited(Runtime::OpenCode, input)?;
    if !input.plugins.is_empty() {
        return Err(refuse(
            "has no use for plugins of this kind; remove `plugins`, or use the runtime `claude`",
        ));
    }
    if input.wanted.debug.as_ref().is_some_and(|filter| filter != "*") {
        return Err(refuse("cannot filter its debug log; use `--debug` alone"));
    }
    if !input.wanted.repository_config.is_empty() {
        return Err(refuse("cannot take parts of the repository's configuration; remove what allows it"));
    }
    let (fixed, config) = (OpenCode::fixed(input.stage), input.stage.config());
    for point in MOUNT_POINTS {
        tree::make(&fixed.join(point))?;
        tree::make(&config.join(point))?;
    }
    for (name, path) in tree::by_name(Runtime::OpenCode, "skill", input.skills, &[])? {
        tree::copy(path, &fixed.join("skills").join(name))?;
    }
    // It writes this file into its directory of settings, and does not start if it cannot.
    let own = fixed.join("config/opencode");
    tree::make(&own)?;
    tree::write(&own.join(".gitignore"), "")?;
    tree::write(&own.join("opencode.json"), "{}")?;
    let managed = fixed.join("managed");
    tree::make(&managed)?;
    tree::write(&managed.join("hooks.js"), plugin())?;
    tree::write(&managed.join("opencode.json"), settings(input, name)?.to_string())?;
    let mut mounts = vec![FilesystemMount::read_only(managed, MANAGED)];
    let points = MOUNT_POINTS.iter();
    mounts.extend(
        points.map(|point| FilesystemMount::read_only(fixed.join(point), format!("{CONFIG}/{point}"))),
    );
    let env = VARIABLES.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Ok(Equipment { mounts, env, ..Equipment::default() })
}

/// The plugin, with the places of the program and its configuration.
fn plugin() -> String {
    PLUGIN
        .replace("\"PROGRAM\"", &Value::from(PROGRAM).to_string())
        .replace("\"HOOK_CONFIG\"", &Value::from(HOOK_CONFIG).to_string())
}

fn settings(input: &Bootstrap<'_>, name: &str) -> Result<Value, RuntimeError> {
    let model = model(input.wanted)?;
    let repo = input.stage.repo_in_sandbox();
    let mut agent = Map::new();
    agent.insert("mode".to_owned(), "primary".into());
    agent.insert("description".to_owned(), "The agent of this run.".into());
    agent.insert("prompt".to_owned(), input.agent.instructions.as_str().into());
    if let Some(turns) = input.agent.max_turns {
        agent.insert("steps".to_owned(), turns.into());
    }
    let plugins: &[String] = if input.hooks { &[format!("file://{MANAGED}/hooks.js")] } else { &[] };
    Ok(json!({
        "provider": { PROVIDER: {
            "npm": "@ai-sdk/openai-compatible",
            "name": PROVIDER,
            "options": { "baseURL": "{env:FULLSEND_ENDPOINT_MODEL}", "apiKey": "placeholder" },
            "models": { model: {} },
        } },
        "model": format!("{PROVIDER}/{model}"),
        "small_model": format!("{PROVIDER}/{model}"),
        "enabled_providers": [PROVIDER],
        "agent": { name: agent },
        "plugin": plugins,
        "instructions": [format!("{repo}/AGENTS.md")],
        "skills": { "paths": [format!("{CONFIG}/skills")] },
        "permission": "allow",
        "share": "disabled",
        "autoupdate": false,
        "snapshot": false,
        "lsp": false,
        "formatter": false,
    }))
}

#[cfg(test)]
mod tests {
    use super::plugin;

    #[test]
    fn the_plugin_asks_the_hook_by_its_path() {
        let text = plugin();
        for place in ["\"/sandbox/workspace/bin/fullsend\"", "\"/sandbox/hooks/hook.json\""] {
            assert!(text.contains(place), "{text}");
        }
        assert!(!text.contains("\"PROGRAM\"") && !text.contains("\"HOOK_CONFIG\""));
    }
}
