//! What a service records, within limits.

use std::sync::Mutex;

use super::denial::Denied;
use super::{Limits, lock};
use crate::finding::Finding;
use crate::hook::{Action, Recorded};
use crate::log::{CHANNEL_FLOOD, CHANNEL_MISUSE, FindingsLog, Phase, Place};

/// The log, and how much may still go into it.
#[derive(Debug)]
pub(super) struct Ledger {
    log: FindingsLog,
    most_entries: u64,
    most_bytes: u64,
    most_misuse: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    entries: u64,
    misused: u64,
    flooded: bool,
}

impl Ledger {
    pub(super) fn new(log: FindingsLog, limits: &Limits) -> Self {
        Self {
            log,
            most_entries: limits.entries,
            most_bytes: limits.log_bytes,
            most_misuse: limits.misuse_entries,
            state: Mutex::default(),
        }
    }

    /// Whether a limit was reached: then nothing more is recorded, so nothing more may pass.
    pub(super) fn is_flooded(&self) -> bool {
        lock(&self.state).flooded
    }

    /// Records what was found in one call, all of it or nothing.
    pub(super) fn record(&self, place: Place<'_>, recorded: &[Recorded]) -> Result<(), Denied> {
        self.write(&mut lock(&self.state), place, recorded)
    }

    /// Records that the socket was used for something else; after some, they are only counted.
    pub(super) fn misuse(&self, detail: &str) {
        let mut state = lock(&self.state);
        state.misused += 1;
        if state.misused <= self.most_misuse {
            self.write_misuse(&mut state, detail);
        }
    }

    /// Records how much misuse was only counted.
    pub(super) fn close(&self) {
        let mut state = lock(&self.state);
        let uncounted = state.misused.saturating_sub(self.most_misuse);
        if uncounted > 0 {
            self.write_misuse(
                &mut state,
                &format!("and {uncounted} more connections that were not questions"),
            );
        }
    }

    /// How many entries were written, and how often the socket was misused.
    pub(super) fn counts(&self) -> (u64, u64) {
        let state = lock(&self.state);
        (state.entries, state.misused)
    }

    /// The connection is refused whether or not this can be written.
    fn write_misuse(&self, state: &mut State, detail: &str) {
        let finding = Finding::new(&CHANNEL_MISUSE, None, detail);
        let recorded = Recorded { finding, action: Action::Block };
        let _refused_either_way = self.write(state, Phase::FindingsLog.into(), &[recorded]);
    }

    fn write(&self, state: &mut State, place: Place<'_>, recorded: &[Recorded]) -> Result<(), Denied> {
        if state.flooded {
            return Err(Denied::Flooded);
        }
        if recorded.is_empty() {
            return Ok(());
        }
        let count = u64::try_from(recorded.len()).unwrap_or(u64::MAX);
        if state.entries.saturating_add(count) > self.most_entries || self.log.bytes() >= self.most_bytes {
            state.flooded = true;
            self.write_flood(state);
            return Err(Denied::Flooded);
        }
        self.log.append_all(place, recorded).map_err(|_| Denied::NotRecorded)?;
        state.entries += count;
        Ok(())
    }

    /// The calls are denied whether or not this can be written.
    fn write_flood(&self, state: &mut State) {
        let detail =
            format!("nothing is recorded after {} entries; every further call is denied", state.entries);
        let finding = Finding::new(&CHANNEL_FLOOD, None, detail);
        let flood = Recorded { finding, action: Action::Block };
        if self.log.append(Phase::FindingsLog, &flood).is_ok() {
            state.entries += 1;
        }
    }
}
