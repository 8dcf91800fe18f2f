//! `fullsend chat sessions`.

use anyhow::Result;
use fullsend_chat::protocol::{SessionList, SessionState, SessionStatus};
use fullsend_yaml::printable;

use super::existing;
use crate::cli::{ChatSessionsArgs, ShowFormat};
use crate::exit::Exit;
use crate::output::Output;

pub(super) fn run(args: &ChatSessionsArgs, output: &mut Output) -> Result<Exit> {
    let sessions = existing(&args.database)?.sessions(None)?;
    match args.database.format {
        ShowFormat::Json => output.json(&serde_json::to_value(SessionList { sessions })?)?,
        ShowFormat::Text => {
            for session in &sessions {
                output.text(&format!("{}\n", printable(line(session))))?;
            }
            output.note(&format!("{} sessions", sessions.len()));
        }
    }
    Ok(Exit::Done)
}

/// Everything in it comes from a file that anybody may have written.
fn line(session: &SessionStatus) -> String {
    let state = match session.status {
        SessionState::Idle => "idle",
        SessionState::TurnRunning => "running",
        SessionState::Canceling => "canceling",
        SessionState::Closed => "closed",
        SessionState::Failed => "failed",
    };
    let SessionStatus { session_id, updated_at, turn_count, workspace, model, .. } = session;
    let model = model.as_deref().unwrap_or("-");
    format!(
        "{session_id:<36}  {updated_at:<24}  {state:<9}  {turn_count:>4} turns  {model}  {}",
        workspace.host_path
    )
}
