//! Feeds arbitrary text to the judge of request targets: what passes has the host that the fetcher sees, and no special
//! address; every answer can be printed; findings lie in the text.
#![no_main]

use std::net::IpAddr;

use fullsend_guard::url::{Allowed, Verdict, check_partial, judge, judge_with};
use fullsend_guard::{Scanner as _, UrlScanner};
use fullsend_origin::{RemoteUrl, classify};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let verdict = judge(text);
    assert_eq!(verdict.passes(), verdict.finding().is_none(), "a finding for all that does not pass");
    assert_eq!(verdict, judge_with(text, &Allowed::default()));
    if let Verdict::Allow { host } | Verdict::Resolve { host } = &verdict {
        if let Ok(address) = host.parse::<IpAddr>() {
            assert!(classify(address).is_global(), "{host} passes");
        }
        assert_eq!(judge(&format!("  {text}\n")), verdict, "space around a target changes nothing");
        if let Ok(url) = RemoteUrl::parse(text).map(|url| url.as_https().clone()) {
            let fetched = url.ip().map_or_else(|| url.host().to_owned(), |ip| ip.to_canonical().to_string());
            assert!(*host == fetched || !fetched.is_ascii(), "{host} is judged and {fetched} fetched");
        }
    }
    let _either_way = check_partial(text, &Allowed::default());
    for finding in UrlScanner.scan(text).findings {
        assert!(finding.span.is_none_or(|span| span.of(text).is_some()), "a span outside the text");
    }
});
