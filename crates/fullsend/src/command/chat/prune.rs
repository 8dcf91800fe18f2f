//! `fullsend chat prune`.

use anyhow::Result;
use fullsend_chat::store::Retention;
use serde_json::json;

use super::existing;
use crate::cli::{ChatPruneArgs, ShowFormat};
use crate::exit::Exit;
use crate::output::Output;

pub(super) fn run(args: &ChatPruneArgs, output: &mut Output) -> Result<Exit> {
    let what = Retention { older_than: args.retention.older_than, keep_events: args.retention.keep_events };
    let pruned = existing(&args.database)?.prune(&what)?;
    match args.database.format {
        ShowFormat::Json => output.json(&json!({
            "events": pruned.events,
            "turns": pruned.turns,
            "sessions": pruned.sessions,
            "freedBytes": pruned.freed_bytes,
        }))?,
        ShowFormat::Text => output.text(&format!(
            "removed {} events, {} turns and {} sessions; {} bytes are free again\n",
            pruned.events, pruned.turns, pruned.sessions, pruned.freed_bytes
        ))?,
    }
    Ok(Exit::Done)
}
