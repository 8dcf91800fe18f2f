//! What a chat is begun with: from the options.

use std::collections::BTreeSet;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, bail};
use fullsend_chat::protocol::{ChatPolicy, PolicyTag, StartSession, ToolMode, Workspace};
use fullsend_chat::service::{Allowance, Complaints};

use crate::cli::ChatArgs;
use crate::environment;
use crate::output::Advice;

/// Where sessions are kept where nothing is said; none if the person has no place for state.
pub(in super::super) fn usual_database() -> Option<PathBuf> {
    environment::state_directory().map(|directory| directory.join("chat.db"))
}

/// The same, in a directory that is made if need be.
pub(super) fn ready_database() -> Result<PathBuf> {
    let Some(database) = usual_database() else {
        bail!(Advice::new(
            "there is no place to keep chats in",
            "set `HOME` or `XDG_STATE_HOME` to an absolute path, or name a file with `--chat-session-db`"
        ));
    };
    let directory = database.parent().unwrap_or(Path::new("/"));
    let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
    made.with_context(|| format!("cannot make the directory `{}`", directory.display()))?;
    Ok(database)
}

/// What new sessions are begun with. A person is there, and is asked where rules would deny something.
pub(super) fn session(args: &ChatArgs, allowance: &Allowance, workspace: &Path) -> StartSession {
    let policy = ChatPolicy {
        tag: PolicyTag::Policy,
        tool_mode: ToolMode::WorkspaceWrite,
        allowed_tool_ids: allowance.usual_tools.clone(),
        allowed_subagent_profiles: allowance.usual_profiles.clone(),
        approval_tool_ids: args.ask.iter().cloned().collect::<BTreeSet<String>>(),
        ask_on_flow_denial: true,
        cfc_enforcement_mode: None,
        prompt_slot: None,
    };
    let workspace = Workspace {
        host_path: workspace.display().to_string(),
        cwd: args.place.cwd.as_ref().map(|cwd| cwd.display().to_string()),
        sandbox_path: None,
    };
    StartSession {
        session_id: None,
        workspace,
        context: None,
        model: None,
        artifact_root: None,
        policy: Some(policy),
        capabilities: None,
        browser_access: None,
        metadata: None,
    }
}

/// The first lines of a chat. A session that is gone on with works where it always did, and says so itself.
pub(super) fn greeting(workspace: &Path, resumes: bool) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let place = if resumes { String::new() } else { format!(", working in {}", workspace.display()) };
    format!("fullsend {version}{place}\nSay what is to be done. /help says what else there is.")
}

/// What the service could not write down: told when the screen is given back.
#[derive(Clone, Debug, Default)]
pub(super) struct Complained(Arc<Mutex<Vec<String>>>);

impl Complained {
    pub(super) fn hear(&self) -> Complaints {
        let heard = Arc::clone(&self.0);
        Arc::new(move |text: &str| heard.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned()))
    }

    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
