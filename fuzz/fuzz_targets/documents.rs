//! Feeds arbitrary text to the readers of lock files and skills, and to the editor of pins: what is refused has a reason,
//! and what is edited differs in pins only.
#![no_main]

use fullsend_origin::Sha256Digest;
use fullsend_resolve::SkillManifest;
use fullsend_resolve::lock::read;
use fullsend_resolve::pin_edit::set_pin;
use fullsend_yaml::SourceMap;
use libfuzzer_sys::fuzz_target;

const URL: &str = "https://github.com/o/r/tree/main/s";

fuzz_target!(|text: &str| {
    let mut sources = SourceMap::new();
    let file = sources.add("lock.yaml", text);
    let first = read(&sources, file);
    assert!(first.lock.is_some() || !first.problems.is_empty(), "refused without a reason");
    if let Some(lock) = first.lock {
        let again = sources.add("again.yaml", lock.render());
        assert_eq!(read(&sources, again).lock, Some(lock), "what is written reads as it was");
    }
    let _either_way = SkillManifest::read("SKILL.md", text);
    if let Ok(edited) = set_pin(text, URL, Sha256Digest::of(b"")) {
        let twice = set_pin(&edited.text, URL, Sha256Digest::of(b""));
        assert!(twice.is_ok_and(|twice| twice.changes.is_empty()), "a pin that was set stays set");
    }
});
