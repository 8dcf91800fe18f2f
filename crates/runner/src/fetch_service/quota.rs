//! How many skills an agent may fetch.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Places for a number of skills. A place is taken while a request is under way, and stays taken once it succeeds.
#[derive(Debug)]
pub(super) struct Quota {
    left: Arc<AtomicUsize>,
}

/// One place. Dropping it gives it back, however the request ended.
#[derive(Debug)]
pub(super) struct Slot {
    left: Arc<AtomicUsize>,
}

impl Quota {
    pub(super) fn new(most: usize) -> Self {
        Self { left: Arc::new(AtomicUsize::new(most)) }
    }

    /// A place, unless all are taken.
    pub(super) fn take(&self) -> Option<Slot> {
        let taken = self.left.try_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1));
        taken.ok().map(|_| Slot { left: Arc::clone(&self.left) })
    }
}

impl Slot {
    /// Uses the place up.
    pub(super) fn keep(mut self) {
        // What is given back from now on is given to nobody.
        self.left = Arc::new(AtomicUsize::new(0));
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.left.fetch_add(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::Quota;

    #[test]
    fn places_come_back_unless_they_are_kept() {
        let quota = Quota::new(2);
        let (first, second) = (quota.take().unwrap(), quota.take().unwrap());
        assert!(quota.take().is_none());
        drop(first);
        second.keep();
        let third = quota.take().unwrap();
        assert!(quota.take().is_none());
        third.keep();
        assert!(quota.take().is_none());
    }
}
