//! The audit log, kept by what an untrusted agent asks for.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use fullsend_fetch::audit::{AuditError, FetchType, Refusal, Source, Success};
use fullsend_origin::Sha256Digest;
use fullsend_resolve::Store;

use super::admission::Admitted;
use super::refusal::FetchRefusal;
use crate::event::{AccessKind, Event};
use crate::hook_events::HookTeller;

/// How many refusals of one run are recorded. An agent that asks for nonsense without end must not fill the disk.
const MOST_REFUSALS: usize = 1000;
/// How many characters of a URL, or of a reason that may repeat it, are recorded.
const LONGEST_TEXT: usize = 2000;

/// Records what was fetched and what was refused.
#[derive(Debug)]
pub(super) struct Record {
    store: Arc<Store>,
    refusals: AtomicUsize,
    /// Who tells of it while the run goes on.
    teller: OnceLock<HookTeller>,
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
        Self { store, refusals: AtomicUsize::new(0), teller: OnceLock::new() }
    }

    /// Tells of everything from now on.
    pub(super) fn tell_to(&self, teller: HookTeller) {
        // Set once, where the service is started.
        let _already_told = self.teller.set(teller);
    }

    fn tell(&self, url: &str, allowed: bool, detail: &str) {
        if let Some(teller) = self.teller.get() {
            let (target, detail) = (start_of(url).to_owned(), start_of(detail).to_owned());
            teller.pass(Event::Access { kind: AccessKind::Fetch, target, allowed, detail });
        }
    }

    /// A skill is about to be delivered. What cannot be recorded is not done.
    pub(super) fn fetched(&self, admitted: &Admitted, source: Source) -> Result<(), FetchRefusal> {
        let written = self.store.audit().success(&Success {
            url: admitted.skill.url().url().as_str(),
            digest: admitted.skill.url().digest(),
            fetch_type: FetchType::Runtime,
            allowed_by: &admitted.allowed_by,
            source,
        });
        written.map_err(|error| {
            complain(&error);
            FetchRefusal::new(500, error.code(), "failed to record the fetch")
        })?;
        self.tell(admitted.skill.url().url().as_str(), true, "delivered");
        Ok(())
    }

    /// Something was refused, recorded or not.
    pub(super) fn refused(&self, known: Known<'_>, refusal: &FetchRefusal) {
        let before = self.refusals.fetch_add(1, Ordering::Relaxed);
        if before > MOST_REFUSALS {
            return;
        }
        // A query may hold a secret, and what is no URL may hold anything.
        let url = known.url.split(['?', '#']).next().unwrap_or_default();
        let last = "more was refused in this run, which is not recorded";
        let reason = if before == MOST_REFUSALS { last } else { refusal.reason() };
        self.tell(url, false, reason);
        let written = self.store.audit().refusal(&Refusal {
            url: start_of(url),
            digest: known.digest,
            fetch_type: FetchType::Runtime,
            allowed_by: known.allowed_by,
            code: &refusal.code,
            reason: start_of(reason),
        });
        if let Err(error) = written {
            complain(&error);
        }
    }
}

/// As much of a text as is recorded.
fn start_of(text: &str) -> &str {
    let end = text.char_indices().nth(LONGEST_TEXT).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or_default()
}

/// The agent is not the one who can repair the log.
fn complain(error: &AuditError) {
    tracing::error!(%error, "what the agent asked for is not in the audit log");
}
