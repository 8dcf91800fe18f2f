//! The wish to end a run, heard everywhere at once.

use tokio::sync::watch;

/// Says that the run is to end.
#[derive(Debug)]
pub struct Canceller {
    sender: watch::Sender<Wish>,
}

/// Hears that the run is to end.
#[derive(Clone, Debug)]
pub struct Cancel {
    receiver: watch::Receiver<Wish>,
}

/// What is wished.
#[derive(Clone, Copy, Debug, Default)]
struct Wish {
    /// An end, for this signal.
    signal: Option<i32>,
    /// And at once.
    hurry: bool,
}

/// Both ends of it.
pub fn cancellation() -> (Canceller, Cancel) {
    let (sender, receiver) = watch::channel(Wish::default());
    (Canceller { sender }, Cancel { receiver })
}

impl Canceller {
    /// Ends the run for a signal; the first one counts.
    pub fn cancel(&self, signal: i32) {
        self.sender.send_if_modified(|wish| {
            let first = wish.signal.is_none();
            wish.signal.get_or_insert(signal);
            first
        });
    }

    /// Ends a run that is ending already without giving anything time to end by itself. What there is to tidy up is tidied up
    /// all the same.
    pub fn hurry(&self) {
        self.sender
            .send_if_modified(|wish| wish.signal.is_some() && !std::mem::replace(&mut wish.hurry, true));
    }
}

impl Cancel {
    /// The signal for which the run is to end, if it is.
    pub fn signal(&self) -> Option<i32> {
        self.receiver.borrow().signal
    }

    /// Waits until the run is to end. Nobody is left to end it when the other end is gone, so then it waits forever.
    pub async fn cancelled(&self) -> i32 {
        self.wait(|wish| wish.signal).await
    }

    /// Waits until the run is to end without giving anything time to end by itself.
    pub async fn hurried(&self) {
        self.wait(|wish| wish.hurry.then_some(())).await;
    }

    async fn wait<T>(&self, heard: impl Fn(Wish) -> Option<T>) -> T {
        let mut receiver = self.receiver.clone();
        loop {
            let wish = *receiver.borrow_and_update();
            match heard(wish) {
                Some(found) => return found,
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

    #[tokio::test]
    async fn only_a_run_that_is_ending_can_be_hurried() {
        let (canceller, cancel) = cancellation();
        canceller.hurry();
        let early = tokio::spawn({
            let cancel = cancel.clone();
            async move { cancel.hurried().await }
        });
        canceller.cancel(15);
        tokio::task::yield_now().await;
        assert!(!early.is_finished());
        canceller.hurry();
        early.await.unwrap();
        cancel.hurried().await;
        assert_eq!(cancel.signal(), Some(15));
    }
}
