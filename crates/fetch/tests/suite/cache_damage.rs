//! Every kind of damage is noticed, and can be repaired.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use fullsend_fetch::cache::{Cache, Corruption, EntryId, Lookup, Stored};
use fullsend_origin::Sha256Digest;
use fullsend_testkit::{declare_skip, reexec, test_name};

use super::support::{Scratch, tree_digest};

/// Something done to the directory of an entry, and the code it is found by.
type Damage = (&'static str, fn(&Path));

const FILE_DAMAGE: &[Damage] = &[
    ("corrupt-content", |entry| fs::write(entry.join("content"), "hullo").unwrap()),
    ("corrupt-content", |entry| fs::write(entry.join("content"), "").unwrap()),
    ("corrupt-content", |entry| fs::write(entry.join("content"), "hello and more").unwrap()),
    // Content and record agree with each other, but not with the name.
    ("corrupt-metadata-digest", |entry| {
        fs::write(entry.join("content"), "hullo").unwrap();
        let text = fs::read_to_string(entry.join("metadata.json")).unwrap();
        let (old, new) = (Sha256Digest::of(b"hello"), Sha256Digest::of(b"hullo"));
        fs::write(entry.join("metadata.json"), text.replace(&old.to_string(), &new.to_string())).unwrap();
    }),
    ("corrupt-metadata", |entry| fs::write(entry.join("metadata.json"), "not json").unwrap()),
    ("corrupt-metadata", |entry| fs::write(entry.join("metadata.json"), "{}").unwrap()),
    ("corrupt-metadata", |entry| fs::write(entry.join("metadata.json"), "").unwrap()),
    ("miss", |entry| fs::remove_file(entry.join("metadata.json")).unwrap()),
    ("miss", |entry| fs::remove_file(entry.join("content")).unwrap()),
    ("corrupt-unexpected", |entry| fs::write(entry.join("extra"), "").unwrap()),
    ("corrupt-unexpected", |entry| fs::create_dir(entry.join("tree")).unwrap()),
    ("corrupt-unexpected", |entry| symlink("/etc/passwd", entry.join("name")).unwrap()),
    ("corrupt-unexpected", |entry| symlink("../x/content", entry.join("name")).unwrap()),
    ("corrupt-not-regular", |entry| to_link(entry, "content")),
    ("corrupt-not-regular", |entry| to_link(entry, "metadata.json")),
    ("corrupt-not-regular", |entry| to_pipe(&entry.join("content"))),
    ("corrupt-not-regular", |entry| to_pipe(&entry.join("metadata.json"))),
    ("corrupt-not-regular", |entry| to_dir(&entry.join("content"))),
    ("corrupt-not-a-directory", |entry| to_link(entry.parent().unwrap(), &file_name(entry))),
    ("corrupt-not-a-directory", |entry| {
        fs::remove_dir_all(entry).unwrap();
        fs::write(entry, "hello").unwrap();
    }),
];

const TREE_DAMAGE: &[Damage] = &[
    ("corrupt-tree", |entry| fs::write(entry.join("tree/a.txt"), "alpha!").unwrap()),
    ("corrupt-tree", |entry| {
        fs::rename(entry.join("tree/a.txt"), entry.join("tree/x")).unwrap();
        fs::rename(entry.join("tree/sub/b.txt"), entry.join("tree/a.txt")).unwrap();
        fs::rename(entry.join("tree/x"), entry.join("tree/sub/b.txt")).unwrap();
    }),
    ("corrupt-missing", |entry| fs::remove_file(entry.join("tree/a.txt")).unwrap()),
    ("corrupt-missing", |entry| fs::remove_dir_all(entry.join("tree/sub")).unwrap()),
    ("corrupt-unexpected", |entry| fs::write(entry.join("tree/extra"), "").unwrap()),
    ("corrupt-unexpected", |entry| fs::write(entry.join("tree/a.txt.tmp.1"), "").unwrap()),
    ("corrupt-unexpected", |entry| fs::write(entry.join("tree/line\nbreak"), "").unwrap()),
    ("corrupt-unexpected", |entry| fs::create_dir(entry.join("tree/empty")).unwrap()),
    ("corrupt-unexpected", |entry| {
        fs::rename(entry.join("tree/a.txt"), entry.join("tree/A.txt")).unwrap();
    }),
    ("corrupt-unexpected", |entry| to_dir(&entry.join("tree/a.txt"))),
    ("corrupt-unexpected", |entry| fs::write(entry.join("content"), "").unwrap()),
    ("corrupt-not-regular", |entry| to_link(&entry.join("tree"), "a.txt")),
    ("corrupt-not-regular", |entry| to_link(&entry.join("tree"), "sub")),
    ("corrupt-not-regular", |entry| to_link(entry, "tree")),
    ("corrupt-not-regular", |entry| to_pipe(&entry.join("tree/a.txt"))),
    ("corrupt-not-a-directory", |entry| to_link(entry.parent().unwrap(), &file_name(entry))),
    ("miss", |entry| fs::remove_dir_all(entry.join("tree")).unwrap()),
    ("miss", |entry| fs::remove_file(entry.join("metadata.json")).unwrap()),
    ("miss", |entry| edit(entry, "\"type\": \"directory\",", "")),
    ("corrupt-metadata", |entry| edit(entry, "a.txt", "../a.txt")),
    ("corrupt-metadata", |entry| edit(entry, "a.txt", "a\\nb")),
    ("corrupt-listing", |entry| {
        edit(entry, &Sha256Digest::of(b"alpha").to_string(), &Sha256Digest::of(b"").to_string());
    }),
    ("corrupt-listing", |entry| edit(entry, "a.txt", "sub/b.txt")),
    ("corrupt-listing", |entry| edit(entry, "\n}", ",\"executable\": [\"other\"]\n}")),
];

/// Moves `parent/name` away and leaves a link to it.
fn to_link(parent: &Path, name: &str) {
    let aside = parent.parent().unwrap().parent().unwrap().parent().unwrap().join("aside");
    fs::rename(parent.join(name), &aside).unwrap();
    symlink(&aside, parent.join(name)).unwrap();
}

fn to_pipe(path: &Path) {
    fs::remove_file(path).unwrap();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn to_dir(path: &Path) {
    fs::remove_file(path).unwrap();
    fs::create_dir(path).unwrap();
}

fn edit(entry: &Path, old: &str, new: &str) {
    let text = fs::read_to_string(entry.join("metadata.json")).unwrap();
    assert!(text.contains(old), "{text}");
    fs::write(entry.join("metadata.json"), text.replacen(old, new, 1)).unwrap();
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

/// Damages a fresh entry, sees it noticed, and repairs it by storing it again.
fn check(position: usize, (code, damage): &Damage, put: fn(&Scratch) -> Stored) {
    let scratch = Scratch::new();
    let stored = put(&scratch);
    assert_eq!(scratch.state(&stored), "hit");
    damage(&scratch.entry(&stored));
    assert_eq!(scratch.state(&stored), *code, "damage {position}");
    put(&scratch);
    assert_eq!(scratch.state(&stored), "hit", "damage {position} was not repaired");
}

#[test]
fn damage_to_a_file_is_noticed_and_repaired() {
    for (position, damage) in FILE_DAMAGE.iter().enumerate() {
        check(position, damage, |scratch| scratch.put("hello"));
    }
}

#[test]
fn damage_to_a_tree_is_noticed_and_repaired() {
    for (position, damage) in TREE_DAMAGE.iter().enumerate() {
        check(position, damage, |scratch| scratch.put_tree(&[("a.txt", "alpha"), ("sub/b.txt", "bravo")]));
    }
}

#[test]
fn the_answer_says_what_was_found_instead() {
    let scratch = Scratch::new();
    let stored = scratch.put("hello");
    fs::write(&stored.path, "hullo").unwrap();
    let expected = Lookup::Corrupt(Corruption::Content { found: Sha256Digest::of(b"hullo") });
    assert_eq!(scratch.cache.get_file(&stored.id.digest()).unwrap(), expected);
}

#[test]
fn a_quarantined_entry_is_kept_aside_and_makes_room() {
    let scratch = Scratch::new();
    let stored = scratch.put("hello");
    assert_eq!(scratch.cache.quarantine(stored.id).unwrap(), None);
    fs::write(&stored.path, "hullo").unwrap();
    let aside = scratch.cache.quarantine(stored.id).unwrap().unwrap();
    assert_eq!(fs::read_to_string(aside.join("content")).unwrap(), "hullo");
    assert!(aside.starts_with(scratch.cache.root().join("tmp")));
    assert_eq!(scratch.state(&stored), "miss");
    assert_eq!(scratch.cache.quarantine(stored.id).unwrap(), None);
    scratch.put("hello");
    assert_eq!(scratch.state(&stored), "hit");
}

#[test]
fn a_link_is_moved_aside_without_touching_what_it_points_to() {
    let scratch = Scratch::new();
    let stored = scratch.put("hello");
    let elsewhere = scratch.directory.path().join("elsewhere");
    fs::rename(scratch.entry(&stored), &elsewhere).unwrap();
    symlink(&elsewhere, scratch.entry(&stored)).unwrap();
    scratch.put("hello");
    assert_eq!(scratch.state(&stored), "hit");
    assert_eq!(fs::read_to_string(elsewhere.join("content")).unwrap(), "hello");
}

#[test]
fn what_cannot_be_read_is_an_error_and_not_a_miss() {
    if let Some(directory) = reexec::role() {
        let cache = Cache::open(directory.as_ref()).unwrap();
        for entry in cache.list().unwrap() {
            let error = match entry.id {
                EntryId::File(digest) => cache.get_file(&digest).unwrap_err(),
                EntryId::Tree(digest) => cache.get_tree(&digest).unwrap_err(),
            };
            assert_eq!(error.code(), "cache-io");
        }
        return;
    }
    let scratch = Scratch::new();
    let file = scratch.put("hello");
    let trees = [scratch.put_tree(&[("a", "1")]), scratch.put_tree(&[("sub/a", "1")])];
    let locked = [file.path, trees[0].path.join("a"), trees[1].path.join("sub")];
    for path in &locked {
        fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
    }
    // In a user namespace of its own the owner of the files has no power to override modes, not even as root.
    let inner = reexec::command(test_name!(), scratch.directory.path().to_str().unwrap());
    let mut outer = Command::new("unshare");
    outer.args(["--user", "--"]).arg(inner.get_program()).args(inner.get_args());
    for (key, value) in inner.get_envs() {
        outer.env(key, value.unwrap());
    }
    match outer.output() {
        Ok(output) if output.status.success() => {}
        Ok(output) if String::from_utf8_lossy(&output.stderr).contains("unshare") => {
            declare_skip(test_name!(), "user namespaces are not allowed here");
        }
        Ok(output) => panic!("{output:?}"),
        Err(error) => declare_skip(test_name!(), &format!("cannot run unshare: {error}")),
    }
    for path in &locked {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
    }
}

#[test]
fn a_copy_of_a_damaged_tree_is_not_left_behind() {
    let scratch = Scratch::new();
    let stored = scratch.put_tree(&[("a", "1")]);
    fs::write(stored.path.join("a"), "2").unwrap();
    let target = scratch.directory.path().join("copy");
    let answer = scratch.cache.copy_tree(&tree_digest(&stored), &target).unwrap();
    assert!(matches!(answer, Lookup::Corrupt(Corruption::Tree { .. })));
    assert!(!target.exists());
}
