use std::io;
use std::time::Duration;

use hyper::HeaderMap;
use jiff::Timestamp;

use super::{FetchError, RetryRules, pause};
use crate::get::{Phase, Refusal, ResponseHeaders};

fn status(status: u16, retry_after: Option<&str>) -> FetchError {
    let mut headers = HeaderMap::new();
    if let Some(value) = retry_after {
        headers.insert("retry-after", value.parse().unwrap());
    }
    let headers = ResponseHeaders::select(&headers);
    let refusal = Box::new(Refusal { status, headers, excerpt: String::new() });
    FetchError::Status { host: "x".to_owned(), refusal }
}

fn now() -> Timestamp {
    "2026-11-15T06:00:00Z".parse().unwrap()
}

#[test]
fn only_what_may_pass_is_tried_again() {
    let rules = RetryRules::default();
    let host = || "x".to_owned();
    for (error, again) in [
        (status(429, None), true),
        (status(502, None), true),
        (status(503, None), true),
        (status(504, None), true),
        (status(500, None), false),
        (status(403, None), false),
        (status(404, None), false),
        (FetchError::Timeout { host: host(), phase: Phase::Body }, true),
        (FetchError::Dns { host: host(), source: io::Error::other("x") }, true),
        (FetchError::Connect { host: host(), source: io::Error::other("x") }, true),
        (FetchError::Tls { host: host(), source: io::Error::other("x") }, false),
        (FetchError::TooLarge { host: host(), limit: 1 }, false),
        (FetchError::Redirect { host: host(), status: 301, target: host() }, false),
    ] {
        assert_eq!(pause(&error, 0, &rules, now()).is_some(), again, "{error}");
        assert_eq!(pause(&error, rules.max_retries, &rules, now()), None);
    }
}

#[test]
fn pauses_double_up_to_a_limit() {
    let rules = RetryRules { max_retries: 100, ..RetryRules::default() };
    let error = status(503, None);
    for (failed, full) in [(0, 250), (1, 500), (2, 1_000), (5, 5_000), (60, 5_000)] {
        let full = Duration::from_millis(full);
        let pause = pause(&error, failed, &rules, now()).unwrap();
        assert!(pause >= full / 2 && pause <= full, "{failed}: {pause:?}");
    }
}

#[test]
fn servers_may_ask_for_time_but_not_for_too_much() {
    let rules = RetryRules { base_delay: Duration::ZERO, ..RetryRules::default() };
    let wait = |text| pause(&status(429, Some(text)), 0, &rules, now());
    assert_eq!(wait("7"), Some(Duration::from_secs(7)));
    assert_eq!(wait("0"), Some(Duration::ZERO));
    assert_eq!(wait("11"), None);
    assert_eq!(wait("99999999999999999999"), None);
    assert_eq!(wait("Sun, 15 Nov 2026 06:00:09 GMT"), Some(Duration::from_secs(9)));
    assert_eq!(wait("Sun, 15 Nov 2026 05:00:00 GMT"), Some(Duration::ZERO));
    assert_eq!(wait("Sun, 15 Nov 2026 07:00:00 GMT"), None);
    assert_eq!(wait("soon"), Some(Duration::ZERO));
}
