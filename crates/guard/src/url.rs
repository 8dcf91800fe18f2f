//! Where requests lead: targets of requests are judged before they are made, and URLs in text are pointed out.
//!
//! A request that is made on behalf of an outsider can reach what the outsider cannot: this machine, its network, and the
//! services that hand out the credentials of a cloud machine. [`judge`] says what a target leads to, in every spelling and in
//! the reading of every kind of program; where they differ, the worst reading counts. It resolves no names: a caller that
//! does asks [`judge_addresses`] about the result. A URL that is data is no request; [`UrlScanner`] only reports it.

mod allowed;
mod fields;
mod host;
mod ipv4;
mod names;
mod punycode;
mod request;
mod rules;
mod scanner;
mod schemes;
mod spelling;
mod target;
mod verdict;

pub use allowed::{Allowed, AllowedHost, AllowedHostError, PrivateHost};
pub use fields::{FieldTarget, requests_in};
pub use request::{check_partial, check_request, judge, judge_addresses, judge_chain, judge_with};
pub use rules::{
    ALL as RULES, BLOCKED_HOSTNAME, BLOCKED_IP, BLOCKED_RESOLVED_IP, BLOCKED_SCHEME, DISALLOWED_SCHEME,
    DNS_FAILURE, EMPTY_HOSTNAME, INCOMPLETE_TARGET, MALFORMED_URL, SUSPICIOUS_URL,
};
pub use scanner::UrlScanner;
pub use verdict::{BlockReason, Malformed, SpecialName, Suspicion, Verdict};
