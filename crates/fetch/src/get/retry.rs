//! When to try again.

use std::time::Duration;

use jiff::Timestamp;

use super::{FetchError, RetryRules};
use crate::unique::random_u64;

/// The pause before the next attempt; `None` when there should be none. `failed` counts earlier retries.
pub(super) fn pause(error: &FetchError, failed: u32, rules: &RetryRules, now: Timestamp) -> Option<Duration> {
    if failed >= rules.max_retries || !may_pass(error) {
        return None;
    }
    match retry_after(error, now) {
        Some(asked) if asked > rules.max_retry_after => None,
        Some(asked) => Some(asked.max(backoff(failed, rules))),
        None => Some(backoff(failed, rules)),
    }
}

/// Whether the failure may pass by itself.
fn may_pass(error: &FetchError) -> bool {
    match error {
        FetchError::Dns { .. }
        | FetchError::Connect { .. }
        | FetchError::Timeout { .. }
        | FetchError::Interrupted { .. } => true,
        FetchError::Status { refusal, .. } => matches!(refusal.status, 429 | 502 | 503 | 504),
        FetchError::Offline { .. }
        | FetchError::HostNotAllowed { .. }
        | FetchError::HostName { .. }
        | FetchError::PortNotAllowed { .. }
        | FetchError::AddressRefused { .. }
        | FetchError::MetadataAddress { .. }
        | FetchError::Peer { .. }
        | FetchError::Tls { .. }
        | FetchError::Redirect { .. }
        | FetchError::TooLarge { .. }
        | FetchError::Encoding { .. }
        | FetchError::Length { .. }
        | FetchError::Protocol { .. }
        | FetchError::Request { .. }
        | FetchError::Digest { .. } => false,
    }
}

/// How long the server asks to wait, given in seconds or as a date.
fn retry_after(error: &FetchError, now: Timestamp) -> Option<Duration> {
    let text = error.refusal()?.headers.get("retry-after")?;
    let text = text.trim();
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number too large to read is a very long time.
        return Some(text.parse().map_or(Duration::MAX, Duration::from_secs));
    }
    let date = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
}

/// Doubles with every failure; a random part keeps many clients from coming back at the same moment.
fn backoff(failed: u32, rules: &RetryRules) -> Duration {
    let full = rules.base_delay.saturating_mul(1 << failed.min(16)).min(rules.max_delay);
    let half = full / 2;
    let thousandths = u32::try_from(random_u64() % 1000).unwrap_or_default();
    half.saturating_add(half.saturating_mul(thousandths) / 1000)
}

#[cfg(test)]
mod tests;
