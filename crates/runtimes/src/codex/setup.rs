//! What Codex finds when it starts.

use std::fmt::Write as _;

use fullsend_guard::hook::Runtime;
use fullsend_sandbox::FilesystemMount;

use super::{CONFIG, Codex};
use crate::foreign::Foreign as _;
use crate::layout::{HOOK_CONFIG, PROGRAM};
use crate::prompt;
use crate::runtime::{Bootstrap, Equipment, RuntimeError};
use crate::tools;
use crate::tree;

/// The administrator's directory.
const MANAGED: &str = "/etc/codex";
/// How long Codex waits for a hook, in seconds.
const PATIENCE: u64 = 60;

/// The parts of its own directory that it can read and not change.
pub(super) const MOUNT_POINTS: &[&str] = &["skills", "config.toml"];

/// Features that are off whatever its other settings say. With `unified_exec`, output of commands that still run, and of what
/// is typed into them, reaches the model without a hook; the rest starts something or asks somebody beside the model.
const OFF: &[&str] = &[
    "apps",
    "browser_use",
    "browser_use_external",
    "computer_use",
    "daemon_auto_start",
    "goals",
    "image_generation",
    "in_app_browser",
    "memories",
    "multi_agent",
    "plugins",
    "remote_plugin",
    "shell_snapshot",
    "skill_mcp_dependency_install",
    "sleep_tool",
    "tool_suggest",
    "unified_exec",
];

/// Puts everything in its place, but for the program and the way to the model.
pub(super) fn bootstrap(input: &Bootstrap<'_>) -> Result<Equipment, RuntimeError> {
    let runtime = Runtime::Codex;
    let refuse = |problem: &str| {
        Err(RuntimeError::Unsupported { runtime: runtime.as_str(), problem: problem.to_owned() })
    };
    tree::agent_name(runtime, &input.agent.name)?;
    tools::can_be_limited(runtime, input)?;
    if !input.plugins.is_empty() {
        return refuse("has no use for plugins; remove `plugins`, or use the runtime `claude`");
    }
    if input.agent.max_turns.is_some() {
        return refuse(
            "cannot end an agent after a number of turns; remove `maxTurns`, or use another runtime",
        );
    }
    if !input.wanted.repository_config.is_empty() {
        return refuse("cannot take parts of the repository's configuration; remove what allows it");
    }
    let (fixed, config) = (Codex::fixed(input.stage), input.stage.config());
    let skills = fixed.join("skills");
    tree::make(&skills)?;
    tree::make(&config.join("skills"))?;
    tree::write(&config.join("config.toml"), "")?;
    for (name, path) in tree::by_name(runtime, "skill", input.skills, &[])? {
        tree::copy(path, &skills.join(name))?;
    }
    let instructions = prompt::with_skills(&input.agent.instructions, &skills, &format!("{CONFIG}/skills"));
    let settings = settings(&instructions, &input.stage.repo_in_sandbox());
    tree::write(&fixed.join("config.toml"), settings)?;
    let managed = fixed.join("managed");
    tree::make(&managed)?;
    tree::write(&managed.join("requirements.toml"), requirements(input.hooks))?;
    let mounts = vec![
        FilesystemMount::read_only(skills, format!("{CONFIG}/skills")),
        FilesystemMount::read_only(fixed.join("config.toml"), format!("{CONFIG}/config.toml")),
        FilesystemMount::read_only(managed, MANAGED),
    ];
    let env = [("CODEX_HOME", CONFIG), ("FULLSEND_MODEL_KEY", "placeholder")];
    let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    Ok(Equipment { mounts, env, ..Equipment::default() })
}

fn settings(instructions: &str, repo: &str) -> String {
    let (instructions, repo) = (quoted(instructions), quoted(repo));
    format!(
        "model_provider = \"fullsend\"\n\
         approval_policy = \"never\"\n\
         sandbox_mode = \"danger-full-access\"\n\
         web_search = \"disabled\"\n\
         check_for_update_on_startup = false\n\
         developer_instructions = {instructions}\n\
         [analytics]\nenabled = false\n\
         [feedback]\nenabled = false\n\
         [skills]\ninclude_instructions = false\n\
         [model_providers.fullsend]\nname = \"fullsend\"\nwire_api = \"responses\"\nenv_key = \"FULLSEND_MODEL_KEY\"\n\
         [projects.{repo}]\ntrust_level = \"untrusted\"\n"
    )
}

fn requirements(hooks: bool) -> String {
    let mut text = String::from("allow_managed_hooks_only = true\n[features]\nhooks = true\n");
    for feature in OFF {
        let _infallible = writeln!(text, "{feature} = false");
    }
    // None is on this list, so none may be used.
    text.push_str("[mcp_servers]\n");
    if hooks {
        let _infallible = writeln!(text, "[hooks]\nmanaged_dir = \"{MANAGED}\"");
        for (event, phase) in [("PreToolUse", "pre-tool"), ("PostToolUse", "post-tool")] {
            let _infallible = writeln!(
                text,
                "[[hooks.{event}]]\nmatcher = \"*\"\n[[hooks.{event}.hooks]]\ntype = \"command\"\n\
                 command = \"{PROGRAM} hook {phase} --config {HOOK_CONFIG}\"\ntimeout = {PATIENCE}"
            );
        }
    }
    text
}

/// A text as TOML writes it. JSON's escapes are among TOML's; the one character more that TOML escapes is added.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use super::{quoted, settings};

    #[test]
    fn no_text_leaves_its_quotes() {
        let text = "a \"quote\" \\ back\nline\t\u{1}\u{7f}é \"\"\" [x]";
        assert_eq!(quoted(text), "\"a \\\"quote\\\" \\\\ back\\nline\\t\\u0001\\u007fé \\\"\\\"\\\" [x]\"");
        let made = settings("x\"\nmodel_provider = \"own\"", "/sandbox/workspace/repo");
        assert_eq!(made.lines().filter(|line| line.starts_with("model_provider")).count(), 1, "{made}");
    }
}
