//! How long things may take: each for itself, and all together.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::failure::Failure;

/// The moment at which everything has to be over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    deadline: Instant,
}

impl Patience {
    /// Starts now.
    pub(super) fn new(total: Duration) -> Self {
        Self { deadline: after(total) }
    }

    /// How much time there is.
    pub(super) fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Waits for something, at most so long and not beyond the end of everything.
    pub(super) async fn within<T>(
        &self,
        limit: Duration,
        doing: &str,
        work: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        let own = after(limit);
        let outcome = timeout_at(own.min(self.deadline), work).await;
        outcome.map_err(|_| match own < self.deadline {
            true => Failure::timed_out(format!("timed out while {doing}, after {limit:?}")),
            false => Failure::timed_out(format!("timed out while {doing}: no time is left for the request")),
        })
    }
}

/// The moment after `wait`; waits too long for the clock to express end within the day.
fn after(wait: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(wait).unwrap_or(now + Duration::from_secs(86_400))
}
