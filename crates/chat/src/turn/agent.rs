//! Turns of the built-in agent: a session is one run of it, which the first turn begins and each later turn goes on with.

mod asking;
mod ending;
mod making;
mod root;
mod telling;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fullsend_agent::Pending;
use fullsend_agent::budget::Limits;
use fullsend_agent::scene::{ChosenModel, Surroundings, Wanted};

use self::making::Made;
use self::telling::Teller;
use super::desk::TurnDesk;
use super::{Ground, TurnEnd, TurnOrder, TurnRunner};
use crate::protocol::{ChatError, ErrorCode, StartSession};

/// Runs are kept here, below the workspace, unless something else is said.
const ARTIFACTS: &str = ".fullsend-artifacts";

/// Chooses models.
pub trait ModelSource: fmt::Debug + Send + Sync {
    /// The model of this name, or the usual one; or why there is none, in words.
    fn choose(&self, name: Option<&str>) -> Result<ChosenModel, String>;
}

/// What all sessions have in common.
#[derive(Clone, Debug)]
pub struct SessionKit {
    /// What a run is asked to be, where neither its session nor its turn says otherwise.
    pub wanted: Wanted,
    /// Where skills are, from the workspace of a session.
    pub skills_roots: Vec<PathBuf>,
    /// The directory that workspaces are in; none is anywhere.
    pub within: Option<PathBuf>,
    /// Where runs are kept; none is in each workspace.
    pub artifact_root: Option<PathBuf>,
    /// What one turn may use.
    pub limits: Limits,
    /// Who answers.
    pub models: Arc<dyn ModelSource>,
    /// What runs are given.
    pub surroundings: Surroundings,
    /// Where relative paths of the service start.
    pub current: PathBuf,
}

/// Turns of the built-in agent.
#[derive(Debug)]
pub struct AgentTurns {
    kit: Arc<SessionKit>,
}

impl AgentTurns {
    /// Turns with what all sessions have in common.
    pub fn new(kit: SessionKit) -> Self {
        Self { kit: Arc::new(kit) }
    }
}

impl TurnRunner for AgentTurns {
    fn begin(&self, ask: &StartSession) -> Result<Ground, ChatError> {
        let workspace = self.kit.workspace(&ask.workspace.host_path)?;
        check_start(ask, &workspace)?;
        let model = self.kit.model(ask.model.as_deref())?;
        let root = root::of(&self.kit, ask, &workspace)?;
        Ok(Ground { model: Some(model.name), artifact_root: Some(root.display().to_string()) })
    }

    fn run(&self, order: TurnOrder, desk: TurnDesk) -> Pending<'static, TurnEnd> {
        let kit = self.kit.clone();
        Box::pin(async move { run(kit, order, desk).await.unwrap_or_else(|end| end) })
    }
}

/// A session that begins elsewhere than in its workspace could make no turn.
fn check_start(ask: &StartSession, workspace: &Path) -> Result<(), ChatError> {
    let Some(cwd) = making::start_of(&ask.workspace) else { return Ok(()) };
    let wrong = |problem: &str| {
        let message = format!("`params.workspace.cwd` is wrong: {problem} `{}`", cwd.display());
        Err(ChatError::new(ErrorCode::InvalidRequest, message).with("path", "params.workspace.cwd"))
    };
    match workspace.join(&cwd).canonicalize() {
        Ok(real) if !real.starts_with(workspace) => wrong("the workspace does not have"),
        Ok(real) if real.is_dir() => Ok(()),
        Ok(_) | Err(_) => wrong("there is no directory"),
    }
}

impl SessionKit {
    /// The directory that a session works in, by its real name.
    fn workspace(&self, asked: &str) -> Result<PathBuf, ChatError> {
        let wrong = |problem: String| {
            let message = format!("`params.workspace.hostPath` is wrong: {problem}");
            ChatError::new(ErrorCode::InvalidRequest, message).with("path", "params.workspace.hostPath")
        };
        let real = Path::new(asked).canonicalize();
        let real = real.map_err(|error| wrong(format!("`{asked}` cannot be used: {error}")))?;
        if !real.is_dir() {
            return Err(wrong(format!("`{asked}` is no directory")));
        }
        match &self.within {
            Some(within) if !real.starts_with(within) => {
                let message = format!("the workspace `{asked}` is not in `{}`", within.display());
                Err(ChatError::new(ErrorCode::PolicyDenied, message))
            }
            Some(_) | None => Ok(real),
        }
    }

    fn model(&self, name: Option<&str>) -> Result<ChosenModel, ChatError> {
        let chosen = self.models.choose(name);
        chosen.map_err(|problem| ChatError::new(ErrorCode::ProviderUnavailable, problem))
    }
}

/// Makes a turn; an end that comes before the run has begun is an error here.
async fn run(kit: Arc<SessionKit>, order: TurnOrder, desk: TurnDesk) -> Result<TurnEnd, TurnEnd> {
    let (asking, desk_there) = (desk.clone(), desk.clone());
    // Records are read and files looked at, which may take a while.
    let made = tokio::task::spawn_blocking(move || making::make(&kit, &order, &asking)).await;
    let made = made.map_err(|error| {
        TurnEnd::Failed(ChatError::new(
            ErrorCode::InternalError,
            format!("the turn could not be made: {error}"),
        ))
    })??;
    let Made { prepared, before, limits, calls } = made;
    desk.run_began(prepared.store().run_id().as_str());
    let stop = async move {
        desk_there.cancelled().await;
        INTERRUPT
    };
    let mut teller = Teller::new(desk, calls);
    let mut watch = |event: fullsend_agent::event::Event<'_>| teller.tell(&event);
    let finished = prepared.run(stop, &mut watch).await;
    Ok(ending::of(finished, &before, &limits))
}

/// The number of the signal that is said to have ended a run that somebody has cancelled.
const INTERRUPT: i32 = 2;
