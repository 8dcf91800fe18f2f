//! How many questions are decided at a time.

use std::fmt;
use std::sync::{Condvar, Mutex, PoisonError};

use super::lock;

/// Turns to decide. A question of ten megabytes takes many times that while it is looked at; a sandbox that asks on every
/// connection at once must not be able to use up the memory of the host.
pub(super) struct Turns {
    most: usize,
    taken: Mutex<usize>,
    freed: Condvar,
}

impl Turns {
    pub(super) fn new(most: usize) -> Self {
        Self { most: most.max(1), taken: Mutex::new(0), freed: Condvar::new() }
    }

    /// Waits for a turn, which ends when it is dropped. Decisions take bounded time, so the wait does too.
    pub(super) fn wait(&self) -> Turn<'_> {
        let mut taken = lock(&self.taken);
        while *taken >= self.most {
            taken = self.freed.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
        *taken += 1;
        Turn(self)
    }
}

impl fmt::Debug for Turns {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Turns").field("most", &self.most).finish_non_exhaustive()
    }
}

/// A turn to decide.
#[derive(Debug)]
pub(super) struct Turn<'a>(&'a Turns);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut taken = lock(&self.0.taken);
        *taken = taken.saturating_sub(1);
        self.0.freed.notify_one();
    }
}
