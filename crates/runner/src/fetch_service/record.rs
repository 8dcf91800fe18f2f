//! The audit log, kept by what an untrusted agent asks for.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fullsend_fetch::audit::{AuditError, FetchType, Refusal, Source, Success};
use fullsend_origin::Sha256Digest;
use fullsend_resolve::Store;

use super::admission::Admitted;
use super::refusal::FetchRefusal;

/// How many refusals of one run are recorded. An agent that asks for nonsense without end must not fill the disk.
const MOST_REFUSALS: usize = 1000;
/// How much of a URL is recorded.
const LONGEST_URL: usize = 2000;

/// Records what was fetched and what was refused.
#[derive(Debug)]
pub(super) struct Record {
    store: Arc<Store>,
    refusals: AtomicUsize,
}

/// What is known about something that was refused.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Known<'k> {
    pub(super) url: &'k str,
    pub(super) digest: Option<Sha256Digest>,
    pub(super) allowed_by: Option<&'k str>,
}

impl<'k> From<&'k Admitted> for Known<'k> {
    fn from(admitted: &'k Admitted) -> Self {
        Self {
            url: admitted.skill.url().url().as_str(),
            digest: Some(admitted.skill.url().digest()),
            allowed_by: Some(&admitted.allowed_by),
        }
    }
}

impl Record {
    pub(super) fn new(store: Arc<Store>) -> Self {
        Self { store, refusals: AtomicUsize::new(0) }
    }

    /// A skill was delivered.
    pub(super) fn delivered(&self, admitted: &Admitted, source: Source) {
        let written = self.store.audit().success(&Success {
            url: admitted.skill.url().url().as_str(),
            digest: admitted.skill.url().digest(),
            fetch_type: FetchType::Runtime,
            allowed_by: &admitted.allowed_by,
            source,
        });
        complain(written);
    }

    /// Something was refused.
    pub(super) fn refused(&self, known: Known<'_>, refusal: &FetchRefusal) {
        let before = self.refusals.fetch_add(1, Ordering::Relaxed);
        if before > MOST_REFUSALS {
            return;
        }
        // A query may hold a secret, and what is no URL may hold anything.
        let url = known.url.split(['?', '#']).next().unwrap_or_default();
        let end = url.char_indices().nth(LONGEST_URL).map_or(url.len(), |(at, _)| at);
        let last = "more was refused in this run, which is not recorded";
        let reason = if before == MOST_REFUSALS { last } else { refusal.reason() };
        let written = self.store.audit().refusal(&Refusal {
            url: url.get(..end).unwrap_or_default(),
            digest: known.digest,
            fetch_type: FetchType::Runtime,
            allowed_by: known.allowed_by,
            code: &refusal.code,
            reason,
        });
        complain(written);
    }
}

/// The agent is not the one who can repair the log, so its request goes on.
fn complain(written: Result<(), AuditError>) {
    if let Err(error) = written {
        tracing::error!(%error, "a fetch of the agent is not in the audit log");
    }
}
