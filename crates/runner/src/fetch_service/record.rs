//! The audit log, kept by what an untrusted agent asks for.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use fullsend_fetch::audit::{AuditError, FetchType, Refusal, Source, Success};
use fullsend_origin::Sha256Digest;
use fullsend_resolve::Store;

use super::admission::Admitted;
use super::refusal::FetchRefusal;
use crate::steps::pre_script::with_cause;

/// How many refusals of one run are recorded. An agent that asks for nonsense without end must not fill the disk.
const MOST_REFUSALS: usize = 1000;
/// How many characters of a URL, or of a reason that may repeat it, are recorded.
const LONGEST_TEXT: usize = 2000;

/// Records what was fetched and what was refused.
#[derive(Debug)]
pub(super) struct Record {
    store: Arc<Store>,
    refusals: AtomicUsize,
    /// The first thing that went wrong with the log.
    unwritten: OnceLock<AuditError>,
    told: Option<Told>,
}

/// Who is told of what was asked for besides: the URL, whether the agent got it, and why not.
#[derive(Clone)]
pub struct Told(Arc<Listener>);

/// Hears the URL, whether the agent got it, and why not.
type Listener = dyn Fn(&str, bool, &str) + Send + Sync;

impl Told {
    /// Calls `told` with each request. It must not wait.
    pub fn new(told: impl Fn(&str, bool, &str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(told))
    }
}

impl fmt::Debug for Told {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Told")
    }
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
    pub(super) fn new(store: Arc<Store>, told: Option<Told>) -> Self {
        Self { store, refusals: AtomicUsize::new(0), unwritten: OnceLock::new(), told }
    }

    /// What to tell the operator where something is missing in the audit log.
    pub(super) fn unrecorded(&self) -> Option<String> {
        let why = with_cause(self.unwritten.get()?);
        let path = self.store.audit().path().display();
        Some(format!(
            "what the agent fetched or was refused could not be put into the audit log `{path}`: {why}"
        ))
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
            let refusal = FetchRefusal::new(500, error.code(), "failed to record the fetch");
            self.complain(error);
            refusal
        })?;
        self.tell(admitted.skill.url().url().as_str(), true, "verified and scanned");
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
        self.tell(start_of(url), false, start_of(&refusal.message));
        let written = self.store.audit().refusal(&Refusal {
            url: start_of(url),
            digest: known.digest,
            fetch_type: FetchType::Runtime,
            allowed_by: known.allowed_by,
            code: &refusal.code,
            reason: start_of(reason),
        });
        if let Err(error) = written {
            self.complain(error);
        }
    }

    /// The agent is not the one who can repair the log.
    fn complain(&self, error: AuditError) {
        tracing::error!(%error, "what the agent asked for is not in the audit log");
        let _the_first_says_enough = self.unwritten.set(error);
    }

    fn tell(&self, url: &str, allowed: bool, why: &str) {
        if let Some(Told(told)) = &self.told {
            told(url, allowed, why);
        }
    }
}

/// As much of a text as is recorded.
fn start_of(text: &str) -> &str {
    let end = text.char_indices().nth(LONGEST_TEXT).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or_default()
}
