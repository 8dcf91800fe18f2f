//! Feeds arbitrary pages to the reader of pages: all that comes of them is as short as was promised, and on lines of its own.
#![no_main]

use fullsend_agent::tools::web_fetch::html::extract;
use libfuzzer_sys::fuzz_target;

// The first byte says how much is wanted.
fuzz_target!(|input: &[u8]| {
    let Some((most, page)) = input.split_first() else { return };
    let (most, page) = (usize::from(*most), String::from_utf8_lossy(page));
    let found = extract(&page, most, |reference| Some(reference.to_owned()));
    assert!(found.text.chars().count() <= most, "more than was asked for");
    assert!(!found.text.lines().any(|line| line.trim().is_empty()), "an empty line in {:?}", found.text);
    assert!(found.links.len() <= 50);
    let labels = found.links.iter().map(|link| &link.text).chain(&found.title);
    for label in labels {
        assert!(label.chars().count() <= 300 && !label.contains('\n'), "{label:?}");
    }
    let all = extract(&page, usize::MAX, |_| None);
    assert!(!all.truncated && all.links.is_empty());
    if !found.truncated {
        assert_eq!(found.text, all.text, "something is missing, and nobody says so");
    }
});
