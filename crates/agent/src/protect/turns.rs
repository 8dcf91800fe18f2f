//! Turns of commands: any number of one kind run beside each other, and never of both kinds.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// What commands may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// They may change everything, so what changes tells nothing about others.
    Free,
    /// What they change is looked at.
    Watched,
}

/// Who runs now, and who waits.
#[derive(Debug, Default)]
pub(super) struct Turns {
    running: Mutex<Option<(Kind, usize)>>,
    ended: Notify,
}

/// The right to run, until it is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    turns: Arc<Turns>,
}

impl Turns {
    /// Waits until no command of the other kind runs.
    pub(super) async fn take(self: Arc<Self>, kind: Kind) -> Running {
        loop {
            let ended = self.ended.notified();
            tokio::pin!(ended);
            // Before looking, so that an end in between is not missed.
            ended.as_mut().enable();
            if self.try_take(kind) {
                return Running { turns: self.clone() };
            }
            ended.await;
        }
    }

    fn try_take(&self, kind: Kind) -> bool {
        let mut running = self.lock();
        match &mut *running {
            None => *running = Some((kind, 1)),
            Some((other, count)) if *other == kind => *count += 1,
            Some(_) => return false,
        }
        true
    }

    /// What is behind the lock is whole after every statement, so a panic elsewhere does not matter.
    fn lock(&self) -> MutexGuard<'_, Option<(Kind, usize)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut running = self.turns.lock();
        *running = running.and_then(|(kind, count)| (count > 1).then_some((kind, count - 1)));
        if running.is_none() {
            drop(running);
            self.turns.ended.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::{Kind, Turns};

    #[tokio::test]
    async fn commands_of_one_kind_run_together_and_of_both_never() {
        let turns = Arc::new(Turns::default());
        let first = turns.clone().take(Kind::Free).await;
        let second = turns.clone().take(Kind::Free).await;
        let watched = tokio::spawn(turns.clone().take(Kind::Watched));
        tokio::time::sleep(Duration::from_millis(20)).await;
        drop(first);
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(!watched.is_finished(), "one of the other kind still runs");
        drop(second);
        let watched = watched.await.unwrap();
        let _beside = turns.clone().take(Kind::Watched).await;
        let free = tokio::spawn(turns.clone().take(Kind::Free));
        drop(watched);
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(!free.is_finished());
        free.abort();
    }
}
