//! One at a time for each name.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Mutex as Turnstile, OwnedMutexGuard};

/// Lets those who ask for the same thing wait for each other, so that it is done once.
#[derive(Debug, Default)]
pub(super) struct Turns {
    open: Mutex<HashMap<String, Arc<Turnstile<()>>>>,
}

impl Turns {
    /// Waits until nobody else has a turn under this name.
    pub(super) async fn wait(&self, name: &str) -> OwnedMutexGuard<()> {
        let turnstile = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            // Names come from the agent: those that nobody waits for are forgotten.
            open.retain(|_, turnstile| Arc::strong_count(turnstile) > 1);
            Arc::clone(open.entry(name.to_owned()).or_default())
        };
        turnstile.lock_owned().await
    }
}
