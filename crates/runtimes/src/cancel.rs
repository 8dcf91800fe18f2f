//! The wish to end a run, heard everywhere at once.

use tokio::sync::watch;

/// Says that the run is to end.
#[derive(Debug)]
pub struct Canceller {
    sender: watch::Sender<Option<i32>>,
}

/// Hears that the run is to end.
#[derive(Clone, Debug)]
pub struct Cancel {
    receiver: watch::Receiver<Option<i32>>,
}

/// Both ends of it.
pub fn cancellation() -> (Canceller, Cancel) {
    let (sender, receiver) = watch::channel(None);
    (Canceller { sender }, Cancel { receiver })
}

impl Canceller {
    /// Ends the run for a signal; the first one counts.
    pub fn cancel(&self, signal: i32) {
        self.sender.send_if_modified(|state| {
            let first = state.is_none();
            state.get_or_insert(signal);
            first
        });
    }
}

impl Cancel {
    /// The signal for which the run is to end, if it is.
    pub fn signal(&self) -> Option<i32> {
        *self.receiver.borrow()
    }

    /// Waits until the run is to end. Nobody is left to end it when the other end is gone, so then it waits forever.
    pub async fn cancelled(&self) -> i32 {
        let mut receiver = self.receiver.clone();
        loop {
            let signal = *receiver.borrow_and_update();
            match signal {
                Some(signal) => return signal,
                None if receiver.changed().await.is_err() => std::future::pending::<()>().await,
                None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::cancellation;

    #[tokio::test]
    async fn the_first_signal_counts_and_is_heard_late_and_early() {
        let (canceller, cancel) = cancellation();
        assert_eq!(cancel.signal(), None);
        let early = tokio::spawn({
            let cancel = cancel.clone();
            async move { cancel.cancelled().await }
        });
        canceller.cancel(2);
        canceller.cancel(15);
        assert_eq!((early.await.unwrap(), cancel.cancelled().await, cancel.signal()), (2, 2, Some(2)));
    }
}
