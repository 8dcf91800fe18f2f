//! What Claude Code finds when it starts.

use std::collections::BTreeMap;
use std::fs;

use fullsend_guard::hook::Runtime;
use fullsend_sandbox::FilesystemMount;
use serde_json::{Value, json};

use super::{CONFIG, Claude, definition};
use crate::foreign::Foreign as _;
use crate::layout::{HOOK_CONFIG, PROGRAM, Stage};
use crate::runtime::{Bootstrap, Equipment, RuntimeError};
use crate::tools;
use crate::tree;

/// Settings of the administrator, which no other settings can undo.
const MANAGED: &str = "/etc/claude-code";
/// How long Claude Code waits for a hook, in seconds. A late answer counts as a yes, so the hook answers much earlier.
const PATIENCE: u64 = 60;

/// The parts of its own directory that it can read and not change. All but the last are directories.
pub(super) const MOUNT_POINTS: &[&str] = &["agents", "skills", "plugins", "settings.json"];

/// Variables that keep it from doing anything but its work: no updates, no reports about its use, nothing remembered, and
/// no commands in the background, whose output reaches the model without a hook that looks at it.
const VARIABLES: &[(&str, &str)] = &[
    ("CLAUDE_CONFIG_DIR", CONFIG),
    // Takes the place of the key, which is added outside. Without one it asks for a login.
    ("ANTHROPIC_API_KEY", "placeholder"),
    ("CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD", "1"),
    ("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1"),
    ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"),
    ("CLAUDE_CODE_DISABLE_CRON", "1"),
    ("CLAUDE_CODE_DISABLE_FEEDBACK_SURVEY", "1"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("DISABLE_BUG_COMMAND", "1"),
    ("DISABLE_ERROR_REPORTING", "1"),
    ("DISABLE_TELEMETRY", "1"),
    ("DISABLE_UPDATES", "1"),
];

/// Tools whose output reaches the model later, as news, without a hook that looks at it.
const UNCHECKED: &[&str] = &["Monitor", "ScheduleWakeup", "SendMessage"];

/// Puts everything in its place, but for the program and the way to the model.
pub(super) fn bootstrap(input: &Bootstrap<'_>) -> Result<Equipment, RuntimeError> {
    let (fixed, config) = (Claude::fixed(input.stage), input.stage.config());
    let name = tree::agent_name(Runtime::Claude, &input.agent.name)?;
    // `Bash(git *)` was observed to give the whole of `Bash`. To forbid part of a tool forbids all of it, which is safe.
    tools::whole_tools(Runtime::Claude, &input.agent.tools)?;
    let skills = tree::by_name(Runtime::Claude, "skill", input.skills, &[])?;
    let plugins = tree::by_name(Runtime::Claude, "plugin", input.plugins, &[])?;
    let mut mounts = Vec::new();
    for point in MOUNT_POINTS {
        let (source, target) = (fixed.join(point), config.join(point));
        if point.contains('.') {
            tree::make(&fixed)?;
            tree::write(&source, "{}")?;
            tree::write(&target, "")?;
        } else {
            tree::make(&source)?;
            tree::make(&target)?;
        }
        mounts.push(FilesystemMount::read_only(source, format!("{CONFIG}/{point}")));
    }
    let definition = definition::named(&input.agent.source, name);
    tree::write(&fixed.join("agents").join(format!("{name}.md")), definition)?;
    for (kind, named) in [("skills", skills), ("plugins", plugins)] {
        for (name, path) in named {
            tree::copy(path, &fixed.join(kind).join(name))?;
        }
    }
    let managed = fixed.join("managed");
    tree::make(&managed)?;
    let settings = if input.hooks {
        json!({ "hooks": hooks(), "permissions": { "deny": UNCHECKED } })
    } else {
        json!({})
    };
    tree::write(&managed.join("managed-settings.json"), settings.to_string())?;
    mounts.push(FilesystemMount::read_only(managed, MANAGED));
    let env = VARIABLES.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Ok(Equipment { mounts, env: env.collect::<BTreeMap<_, _>>(), ..Equipment::default() })
}

/// One process for each phase, by its path: several hooks for one event run side by side, and a name would be looked for.
fn hooks() -> Value {
    let hook = |phase: &str| {
        let command = format!("{PROGRAM} hook {phase} --config {HOOK_CONFIG}");
        json!([{ "matcher": "*", "hooks": [{ "type": "command", "command": command, "timeout": PATIENCE }] }])
    };
    json!({
        "PreToolUse": hook("pre-tool"),
        "PostToolUse": hook("post-tool"),
        "PostToolUseFailure": hook("post-tool"),
    })
}

/// The plugins that were put in place.
pub(super) fn plugins(stage: &Stage) -> Result<Vec<String>, RuntimeError> {
    let place = Claude::fixed(stage).join("plugins");
    let io = |source| RuntimeError::Io { doing: format!("read `{}`", place.display()), source };
    let mut names = Vec::new();
    for entry in fs::read_dir(&place).map_err(io)? {
        names.extend(entry.map_err(io)?.file_name().into_string());
    }
    names.sort_unstable();
    Ok(names)
}
