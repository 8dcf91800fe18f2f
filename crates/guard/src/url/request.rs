//! From verdicts to findings: single requests, requests known in part, chains of redirects, resolved addresses.

use std::net::IpAddr;

use fullsend_origin::classify;

use super::allowed::Allowed;
use super::rules;
use super::schemes::is_scheme;
use super::target;
use super::verdict::{Malformed, Verdict};
use crate::finding::Finding;

/// What a request to `text` leads to, when the operator allows nothing that is not public.
pub fn judge(text: &str) -> Verdict {
    target::judge(text, &Allowed::nothing_more())
}

/// What a request to `text` leads to, with what the operator allows.
pub fn judge_with(text: &str, allowed: &Allowed) -> Verdict {
    target::judge(text, allowed)
}

/// The finding about a request that must not be made or needs a second look; none when it passes by its name.
pub fn check_request(text: &str, allowed: &Allowed) -> Option<Finding> {
    target::judge(text, allowed).finding()
}

/// Judges a target of which only the beginning is known: what is certain already, and otherwise that it is not complete.
///
/// Whatever follows can no longer change the scheme after its colon, nor the host after a slash behind it.
pub fn check_partial(prefix: &str, allowed: &Allowed) -> Option<Finding> {
    let incomplete =
        || Some(Finding::new(&rules::INCOMPLETE_TARGET, None, "part of the target is not known"));
    let known = prefix.trim_start();
    let verdict = target::judge(known, allowed);
    if host_is_complete(known) {
        return verdict.finding();
    }
    let certain = match &verdict {
        Verdict::Block { reason, .. } => reason.is_about_scheme() && known.contains("://"),
        Verdict::Reject { reason } => *reason == Malformed::Scheme,
        Verdict::Allow { .. } | Verdict::Resolve { .. } | Verdict::Ask { .. } => false,
    };
    if certain { verdict.finding() } else { incomplete() }
}

/// Whether a path has begun behind the host.
fn host_is_complete(prefix: &str) -> bool {
    let scheme =
        prefix.split_once(':').filter(|(name, rest)| is_scheme(name) && rest.starts_with(['/', '\\']));
    let behind_scheme = scheme.map_or(prefix, |(_, rest)| rest);
    let authority = behind_scheme.trim_start_matches(['/', '\\']);
    authority.find('/').is_some_and(|at| at > 0)
}

/// Judges every hop of a request that was redirected; the first that must not be made decides. Hop 0 is the request itself.
pub fn judge_chain<T: AsRef<str>>(hops: &[T], allowed: &Allowed) -> Option<Finding> {
    hops.iter().enumerate().find_map(|(hop, text)| {
        let found = check_request(text.as_ref(), allowed)?;
        let detail = format!("Redirect hop {hop}: {}", found.detail());
        Some(Finding::new(found.rule, None, detail).with_severity(found.severity))
    })
}

/// Judges what a name resolved to: every address must be public, or one that the operator allows for this host.
///
/// One bad address among good ones is the mark of a rebinding attack, so one is enough.
pub fn judge_addresses(host: &str, addresses: &[IpAddr], allowed: &Allowed) -> Option<Finding> {
    if addresses.is_empty() {
        return Some(Finding::new(&rules::DNS_FAILURE, None, format!("`{host}` has no address")));
    }
    let address = *addresses.iter().find(|address| !allowed.admits(host, **address))?;
    let class = classify(address);
    let detail = format!("`{host}` resolves to {address}, {class}");
    Some(Finding::new(&rules::BLOCKED_RESOLVED_IP, None, detail))
}
