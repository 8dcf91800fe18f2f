//! Feeds arbitrary text to the readers of references and allow-lists: what is accepted prints as it was written, and an
//! allowed URL really lies below its entry.
#![no_main]

use fullsend_origin::{AllowEntry, ForgeHosts, ForgeUrl, HostPattern, HttpsUrl, Reference, TreePath};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match Reference::parse(text) {
        Ok(reference) => assert_eq!(reference.to_string(), text, "a reference prints as it was written"),
        Err(error) => assert!(!error.code().is_empty()),
    }
    if let Ok(url) = HttpsUrl::parse(text) {
        let _either_way = ForgeUrl::parse(&url, &ForgeHosts::default());
    }
    let _either_way = HostPattern::parse(text);
    let _either_way = TreePath::parse(text);
    if let Some((entry, url)) = text.split_once('\n')
        && let (Ok(entry), Ok(url)) = (AllowEntry::parse(entry), HttpsUrl::parse(url))
        && entry.matches(&url)
    {
        assert_eq!(entry.host(), url.host(), "an entry permits only its own host");
        assert!(
            !url.raw_path().split('/').any(|segment| segment == ".."),
            "dot segments are never permitted"
        );
    }
});
