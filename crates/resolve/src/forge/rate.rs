//! Have we asked too often?
//!
//! Forges answer with 403 or 429 and say in one of several ways when to come back. A refusal for lack of rights is a
//! 403 as well, so the two have to be told apart.

use std::time::Duration;

use fullsend_fetch::get::{Refusal, ResponseHeaders};
use jiff::{SignedDuration, Timestamp};

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RateLimit {
    /// When to ask again; `None` when the forge does not say.
    pub(super) reset: Option<Timestamp>,
}

impl RateLimit {
    /// The limit that `refusal` tells about, if that is why it is one.
    pub(super) fn in_refusal(refusal: &Refusal, now: Timestamp) -> Option<Self> {
        if !matches!(refusal.status, 403 | 429) {
            return None;
        }
        let headers = &refusal.headers;
        if headers.get("retry-after").is_some() {
            return Some(Self { reset: retry_after(headers, now) });
        }
        let used_up = number(headers, "remaining") == Some(0);
        // GitHub's secondary limits may come with no header at all.
        let says_so = refusal.excerpt.to_ascii_lowercase().contains("rate limit");
        if refusal.status == 429 || used_up {
            return Some(Self { reset: reset_time(headers) });
        }
        says_so.then_some(Self { reset: None })
    }

    /// How long to wait.
    pub(super) fn wait(self, now: Timestamp) -> Option<Duration> {
        Some(Duration::try_from(self.reset?.duration_since(now)).unwrap_or_default())
    }
}

/// The time in `Retry-After`, which has seconds or a date.
fn retry_after(headers: &ResponseHeaders, now: Timestamp) -> Option<Timestamp> {
    let text = headers.get("retry-after")?.trim();
    match text.parse() {
        Ok(seconds) => now.checked_add(SignedDuration::from_secs(seconds)).ok(),
        Err(_) => Some(jiff::fmt::rfc2822::parse(text).ok()?.timestamp()),
    }
}

/// When the quota is filled again, in seconds since 1970 with both forges.
fn reset_time(headers: &ResponseHeaders) -> Option<Timestamp> {
    Timestamp::from_second(number(headers, "reset")?).ok()
}

/// A number in one of the headers about quotas; GitHub's have an `x-` in front, GitLab's do not.
fn number(headers: &ResponseHeaders, name: &str) -> Option<i64> {
    let header =
        ["x-ratelimit-", "ratelimit-"].iter().find_map(|prefix| headers.get(&format!("{prefix}{name}")))?;
    header.trim().parse().ok()
}
