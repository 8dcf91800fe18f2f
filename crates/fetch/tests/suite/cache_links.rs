//! Names for cached content.

use std::fs;

use fullsend_fetch::cache::content_name;

use super::support::{Scratch, snapshot, url};

#[test]
fn a_name_is_a_relative_link_beside_the_content() {
    let scratch = Scratch::new();
    let (file, tree) = (scratch.put("hello"), scratch.put_tree(&[("SKILL.md", "x")]));
    for (stored, name, target) in
        [(&file, "content.md", "content"), (&file, "profile-1.yaml", "content"), (&tree, "my-skill", "tree")]
    {
        let named = scratch.cache.named_path(stored.id, name).unwrap();
        assert_eq!(named, scratch.entry(stored).join(name));
        assert_eq!(fs::read_link(&named).unwrap().to_str(), Some(target));
        assert_eq!(scratch.cache.named_path(stored.id, name).unwrap(), named);
        assert_eq!(scratch.state(stored), "hit");
    }
    assert_eq!(fs::read_to_string(scratch.entry(&tree).join("my-skill/SKILL.md")).unwrap(), "x");
}

#[test]
fn names_that_need_no_link_give_the_plain_path() {
    let scratch = Scratch::new();
    let (file, tree) = (scratch.put("hello"), scratch.put_tree(&[("SKILL.md", "x")]));
    let before = snapshot(scratch.directory.path());
    for name in ["", ".", "..", "metadata.json", "content", "tree"] {
        assert_eq!(scratch.cache.named_path(file.id, name).unwrap(), file.path, "{name}");
        assert_eq!(scratch.cache.named_path(tree.id, name).unwrap(), tree.path, "{name}");
    }
    assert_eq!(snapshot(scratch.directory.path()), before);
}

#[test]
fn names_of_more_than_one_segment_are_refused() {
    let scratch = Scratch::new();
    let stored = scratch.put("hello");
    let before = snapshot(scratch.directory.path());
    for name in ["sub/evil.yaml", "/etc/x", "../x", "a\\b", "new\nline", "nul\0"] {
        assert_eq!(
            scratch.cache.named_path(stored.id, name).unwrap_err().code(),
            "cache-link-name",
            "{name:?}"
        );
    }
    assert_eq!(snapshot(scratch.directory.path()), before);
}

#[test]
fn wrong_links_and_files_are_replaced_but_directories_are_not() {
    let scratch = Scratch::new();
    let stored = scratch.put("hello");
    let place = scratch.entry(&stored).join("x.md");
    std::os::unix::fs::symlink("/etc/passwd", &place).unwrap();
    scratch.cache.named_path(stored.id, "x.md").unwrap();
    assert_eq!(fs::read_to_string(&place).unwrap(), "hello");
    fs::remove_file(&place).unwrap();
    fs::write(&place, "other").unwrap();
    scratch.cache.named_path(stored.id, "x.md").unwrap();
    assert_eq!(fs::read_to_string(&place).unwrap(), "hello");
    fs::remove_file(&place).unwrap();
    fs::create_dir(&place).unwrap();
    assert_eq!(scratch.cache.named_path(stored.id, "x.md").unwrap_err().code(), "cache-link-blocked");
}

#[test]
fn an_entry_that_is_not_there_gets_no_name() {
    let scratch = Scratch::new();
    let stored = scratch.put("hello");
    fs::remove_dir_all(scratch.entry(&stored)).unwrap();
    assert_eq!(scratch.cache.named_path(stored.id, "x.md").unwrap_err().code(), "cache-no-entry");
}

#[test]
fn thirty_callers_agree() {
    let scratch = Scratch::new();
    let stored = scratch.put_tree(&[("SKILL.md", "x")]);
    let expected = scratch.entry(&stored).join("my-skill");
    std::thread::scope(|scope| {
        let callers: Vec<_> = (0..30)
            .map(|_| {
                scope.spawn(|| {
                    // Half of them first break it for the others.
                    std::os::unix::fs::symlink("nowhere", &expected).ok();
                    scratch.cache.named_path(stored.id, "my-skill").unwrap()
                })
            })
            .collect();
        for caller in callers {
            assert_eq!(caller.join().unwrap(), expected);
        }
    });
    assert_eq!(fs::read_link(&expected).unwrap().to_str(), Some("tree"));
    assert_eq!(fs::read_dir(scratch.cache.root().join("tmp")).unwrap().count(), 0);
}

#[test]
fn the_extension_of_a_url_is_kept() {
    let name = |text| content_name(&url(text));
    assert_eq!(name("https://example.com/a/agent.md?x=1").as_deref(), Some("content.md"));
    assert_eq!(name("https://example.com/a/profile.tar.gz").as_deref(), Some("content.gz"));
    for text in ["https://example.com/a/agent", "https://example.com", "https://example.com/a.m%20d"] {
        assert_eq!(name(text), None, "{text}");
    }
}
