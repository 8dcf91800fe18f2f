//! Removes what processes left behind that were killed.

use super::arguments::{LABEL_SESSION, LABEL_STATE};
use super::backend::Shared;
use super::container;
use super::owners;
use super::record::{Place, sessions};
use crate::error::SandboxError;
use crate::spec::SandboxSessionId;
use crate::tree;

/// Containers of this state directory whose session has no living owner.
pub(super) async fn containers(shared: &Shared) -> Result<(), SandboxError> {
    let filter = format!("label={LABEL_STATE}={}", shared.label);
    let format = format!("{{{{.Names}}}}\t{{{{.Label \"{LABEL_SESSION}\"}}}}");
    let list = ["ps", "--all", "--no-trunc", "--filter", &filter, "--format", &format];
    let listed = shared.client.ask(&list).await?;
    for (name, session) in listed.lines().filter_map(|line| line.split_once('\t')) {
        if !has_living_owner(shared, session, name) {
            container::remove(&shared.client, name).await;
        }
    }
    owners::sweep(&shared.state);
    Ok(())
}

fn has_living_owner(shared: &Shared, session: &str, container: &str) -> bool {
    let Ok(id) = SandboxSessionId::new(session) else { return false };
    let record = Place::of(&shared.state, &id).read();
    // What cannot be read may be somebody's; it is left alone.
    record.map_or(true, |record| {
        record.is_some_and(|record| record.owner.is_alive() && record.container == container)
    })
}

/// Files of sessions whose owner is gone, unless a snapshot was made to go on from.
pub(super) fn sessions_without_snapshots(shared: &Shared) -> Result<(), SandboxError> {
    let directory = sessions(&shared.state);
    let Ok(entries) = std::fs::read_dir(&directory) else { return Ok(()) };
    for entry in entries.flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| SandboxSessionId::new(name).ok()) else {
            continue;
        };
        let place = Place::of(&shared.state, &id);
        if let Ok(Some(record)) = place.read()
            && !record.owner.is_alive()
            && record.snapshots.is_empty()
        {
            tree::remove(place.root())
                .map_err(SandboxError::io(format!("cannot remove what is left of session `{id}`")))?;
        }
    }
    Ok(())
}
