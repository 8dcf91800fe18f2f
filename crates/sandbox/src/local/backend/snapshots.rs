//! Keeping the files of sessions and bringing them back.

use std::sync::Arc;

use uuid::Uuid;

use super::idle::wake;
use super::{Entry, LocalBackend, NAME, refuse_busy};
use crate::error::SandboxError;
use crate::local::session::Session;
use crate::local::state::{Kept, Record};
use crate::spec::{
    FilesystemMount, SandboxSession, SandboxSessionId, SandboxSnapshot, SandboxSpec, SandboxState,
};

/// Stacks of layers get slower to search as they grow; the kernel stops at 500.
const MOST_LAYERS: usize = 400;

impl LocalBackend {
    pub(super) async fn keep(&self, id: &SandboxSessionId) -> Result<SandboxSnapshot, SandboxError> {
        let entry = self.find(id)?;
        let mut session = entry.session.lock().await;
        refuse_busy(&session)?;
        if let Some(mount) = session.direct_mount() {
            return Err(SandboxError::Unsupported {
                backend: NAME,
                operation: "snapshots of directories that commands change directly",
                reason: format!("`{}` is mounted read-write; mount it as an overlay", mount.target),
            });
        }
        if session.record.layers.len() > MOST_LAYERS {
            return Err(SandboxError::InvalidRequest(format!("session `{id}` has too many snapshots")));
        }
        session.end_live().await;
        let snapshot_id = format!("{id}.{}", session.record.snapshots.len() + 1);
        let mut record = session.record.clone();
        record.snapshots.push(Kept { id: snapshot_id.clone(), layers: session.record.layers.clone() });
        record.durable = true;
        let kept = self.shared.state.keep_owned(id, &snapshot_id, &session.owned());
        if let Err(error) = kept.and_then(|()| self.restack(&mut session, record)) {
            // The first error is the one to tell.
            drop(self.shared.state.discard_kept(id, &snapshot_id));
            return Err(error);
        }
        Ok(SandboxSnapshot {
            session_id: id.clone(),
            backend: NAME.to_owned(),
            snapshot_id,
            metadata: [(
                "keeps".to_owned(),
                "files of overlaid and session-owned mounts; no processes, no scratch space".to_owned(),
            )]
            .into(),
        })
    }

    /// Starts a fresh top layer over what the last snapshot of the record has sealed.
    fn restack(&self, session: &mut Session, mut record: Record) -> Result<(), SandboxError> {
        let sealed = record.snapshots.last().map(|kept| kept.layers.clone()).unwrap_or_default();
        let top = format!("{}.{}", session.id, Uuid::now_v7().simple());
        record.layers = std::iter::once(top).chain(sealed).collect();
        std::mem::swap(&mut session.record, &mut record);
        let made = session
            .hold_mounts(&self.shared)
            .and_then(|()| self.shared.state.write(&session.id, &session.record));
        if made.is_err() {
            session.record = record;
        }
        made
    }

    pub(super) async fn bring_back(&self, id: &SandboxSessionId) -> Result<SandboxSession, SandboxError> {
        let entry = match self.find(id) {
            Ok(entry) => entry,
            Err(_) => self.load(id)?,
        };
        let mut session = entry.session.lock().await;
        refuse_busy(&session)?;
        if let Some(last) = session.record.snapshots.last().cloned() {
            session.end_live().await;
            let owned = session.owned();
            self.shared.state.stage_owned(id, &last.id, id, &owned)?;
            let record = session.record.clone();
            if let Err(error) = self.restack(&mut session, record) {
                // The first error is the one to tell.
                drop(self.shared.state.discard_staged(id));
                return Err(error);
            }
            self.shared.state.swap_owned(id, &owned)?;
            session.hold_mounts(&self.shared)?;
        }
        session.ensure_live(&self.shared).await?;
        wake(&mut session).await?;
        session.state = SandboxState::Running;
        Ok(entry.show(&session, &self.shared))
    }

    fn load(&self, id: &SandboxSessionId) -> Result<Arc<Entry>, SandboxError> {
        let lock = self.shared.state.lock(id)?;
        let record = self.shared.state.read(id)?;
        Ok(self.add(Session::new(&self.shared, id.clone(), record, lock)?))
    }

    pub(super) async fn branch(&self, snapshot: &SandboxSnapshot) -> Result<SandboxSession, SandboxError> {
        let from = &snapshot.session_id;
        if snapshot.backend != NAME {
            let backend = snapshot.backend.escape_debug();
            return Err(SandboxError::InvalidRequest(format!(
                "a snapshot of the {backend} sandbox cannot be forked here"
            )));
        }
        let record = match self.find(from) {
            Ok(entry) => entry.session.lock().await.record.clone(),
            Err(_) => self.shared.state.read(from)?,
        };
        let kept = record.snapshots.iter().find(|kept| kept.id == snapshot.snapshot_id).ok_or_else(|| {
            SandboxError::InvalidRequest(format!(
                "session `{from}` has no snapshot `{}`",
                snapshot.snapshot_id
            ))
        })?;
        let id = SandboxSessionId::new(format!("local-{}", Uuid::now_v7().simple()))?;
        let lock = self.shared.state.create(&id)?;
        let layers = std::iter::once(format!("{id}.0")).chain(kept.layers.iter().cloned()).collect();
        let spec = SandboxSpec { session_id: Some(id.clone()), ..record.spec.clone() };
        let owned: Vec<usize> = (0..spec.mounts.len())
            .filter(|number| spec.mounts.get(*number).is_some_and(FilesystemMount::is_session_owned))
            .collect();
        let new = Record { spec, layers, snapshots: Vec::new(), durable: false };
        let state = &self.shared.state;
        let restored =
            state.stage_owned(from, &kept.id, &id, &owned).and_then(|()| state.swap_owned(&id, &owned));
        let begun = match restored {
            Ok(()) => self.begin(&id, new, lock).await,
            Err(error) => Err(error),
        };
        if begun.is_err() {
            drop(self.shared.state.remove(&id));
        }
        begun
    }
}
