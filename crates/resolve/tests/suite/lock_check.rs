//! Look-ups, and what contradicts the harness.

use fullsend_harness::value::Platform;
use fullsend_origin::Sha256Digest;
use fullsend_resolve::lock::{Expected, LockFile, LockedDependency, LockedKind, Scope};

use super::lock_text::{dependency, digest, directory, lock_of, url};

const A: &str = "https://x.example/a";
const B: &str = "https://x.example/b";

fn expected(field: &str, url_text: &str, pin: char) -> Expected {
    Expected {
        field: field.to_owned(),
        platform: None,
        url: url(url_text),
        pin: Some(digest(pin)),
        kind: LockedKind::File,
    }
}

fn on(platform: Platform, expected: Expected) -> Expected {
    Expected { platform: Some(platform), ..expected }
}

fn only_on(platform: Platform, entry: LockedDependency) -> LockedDependency {
    LockedDependency { platform: Some(platform), ..entry }
}

/// `code: message | help` of every problem.
fn check_in(lock: &LockFile, list: &[Expected], scope: Scope) -> Vec<String> {
    let problems = lock.check("code", list, scope);
    problems.iter().map(|problem| format!("{}: {problem} | {}", problem.code(), problem.help())).collect()
}

fn check(lock: &LockFile, list: &[Expected]) -> Vec<String> {
    check_in(lock, list, Scope::AllPlatforms)
}

const NONE: [String; 0] = [];

#[test]
fn an_entry_that_fits_is_no_problem() {
    let lock = lock_of(vec![dependency("agent", A, 'a'), directory("skills[0]", B, 'b')]);
    let skill = Expected {
        kind: LockedKind::Directory,
        pin: lock.locked("code", "skills[0]", None).map(|entry| entry.sha256),
        ..expected("skills[0]", B, '0')
    };
    let unpinned = Expected { pin: None, ..expected("agent", A, '0') };
    assert_eq!(check(&lock, &[expected("agent", A, 'a'), skill.clone()]), NONE);
    assert_eq!(check(&lock, &[unpinned, skill]), NONE);
    assert_eq!(lock.find("code", &expected("agent", A, 'a')).unwrap().sha256, digest('a'));
}

#[test]
fn a_harness_without_an_entry_is_named() {
    let lock = LockFile::default();
    assert_eq!(
        check(&lock, &[expected("agent", A, 'a')]),
        ["lock-absent: harness `code` is not locked | run `fullsend lock code`"]
    );
    assert_eq!(check(&lock, &[]), NONE);
    let problem = lock.find("my harness", &expected("agent", A, 'a')).unwrap_err();
    assert_eq!(problem.help(), "run `fullsend lock -- 'my harness'`");
    let problem = lock.find("a'\u{1b}[2J", &expected("agent", A, 'a')).unwrap_err();
    assert_eq!(problem.to_string(), "harness `a'\\u{1b}[2J` is not locked");
    assert_eq!(problem.help(), r"run `fullsend lock -- 'a'\''\u{1b}[2J'`");
}

/// An edited lock file must not put other content, even cached and verified content, behind a pin.
#[test]
fn the_pin_of_the_harness_wins_over_the_lock_file() {
    let lock = lock_of(vec![dependency("agent", A, 'b')]);
    let wanted = expected("agent", A, 'a');
    assert_eq!(
        check(&lock, std::slice::from_ref(&wanted)),
        [format!(
            "lock-pin-differs: `agent` of harness `code` is pinned to {} but locked to {} | the pin is what counts; if it is right, run `fullsend lock code`",
            digest('a'),
            digest('b')
        )]
    );
    assert!(lock.find("code", &wanted).is_err());
}

/// A reference that nobody locked must not slip through as if it had been resolved.
#[test]
fn a_reference_without_an_entry_is_missing() {
    let lock = lock_of(vec![dependency("agent", A, 'a')]);
    assert_eq!(
        check(&lock, &[expected("agent", A, 'a'), expected("policy", B, 'b')]),
        [
            "lock-missing: `policy` of harness `code` is not locked: https://x.example/b | run `fullsend lock code`"
        ]
    );
}

/// With one entry per platform, a run on one must never receive what belongs to another.
#[test]
fn platforms_do_not_mix() {
    let lock = lock_of(vec![
        only_on(Platform::GitHub, dependency("skills[0]", A, 'a')),
        only_on(Platform::GitLab, dependency("skills[0]", B, 'b')),
        dependency("agent", A, 'a'),
    ]);
    let at = |platform| lock.locked("code", "skills[0]", platform).map(|entry| entry.url.as_str());
    assert_eq!(at(Some(Platform::GitHub)), Some(A));
    assert_eq!(at(Some(Platform::GitLab)), Some(B));
    assert_eq!(at(Some(Platform::Jira)), None);
    assert_eq!(at(None), None);
    assert!(lock.locked("code", "agent", Some(Platform::Jira)).is_some());
    assert!(lock.by_url("code", &url(B), Some(Platform::GitHub)).is_none());

    let github = [
        on(Platform::GitHub, expected("skills[0]", A, 'a')),
        on(Platform::GitHub, expected("agent", A, 'a')),
    ];
    assert_eq!(check_in(&lock, &github, Scope::Only(Platform::GitHub)), NONE);
    assert_eq!(
        check(&lock, &[on(Platform::GitHub, expected("skills[0]", B, 'b'))])[0],
        "lock-url-changed: `skills[0]` of harness `code` on github is https://x.example/b but https://x.example/a is locked | \
         run `fullsend lock code`"
    );
    assert_eq!(
        check_in(&lock, &[on(Platform::Jira, expected("skills[0]", B, 'b'))], Scope::Only(Platform::Jira)),
        [
            "lock-missing: `skills[0]` of harness `code` on jira is not locked: https://x.example/b | run `fullsend lock code`"
        ]
    );
}

/// Older tools wrote the entries of all platforms side by side under the same key.
#[test]
fn entries_that_claim_the_same_key_are_told_apart_by_url_or_refused() {
    let lock = lock_of(vec![dependency("skills[0]", A, 'a'), dependency("skills[0]", B, 'b')]);
    assert!(lock.locked("code", "skills[0]", None).is_none());
    let found =
        |url_text, pin| lock.find("code", &on(Platform::GitHub, expected("skills[0]", url_text, pin)));
    assert_eq!(found(A, 'a').unwrap().sha256, digest('a'));
    assert_eq!(found(B, 'b').unwrap().sha256, digest('b'));
    assert!(found(B, 'a').is_err());

    let lock = lock_of(vec![dependency("skills[0]", A, 'a'), dependency("skills[0]", A, 'b')]);
    assert_eq!(
        check(&lock, &[expected("skills[0]", A, 'a')]),
        ["lock-ambiguous: `skills[0]` of harness `code` is locked several times with different content: \
          https://x.example/a | run `fullsend lock code`"]
    );
    assert!(lock.by_url("code", &url(A), None).is_none());
}

#[test]
fn a_url_that_is_listed_once_serves_every_key_that_names_it() {
    let lock = lock_of(vec![dependency("base", A, 'a')]);
    let both = [expected("base", A, 'a'), expected("agent", A, 'a')];
    assert_eq!(check(&lock, &both), NONE);
    assert_eq!(check(&lock, &[expected("agent", A, 'a')]), NONE);
    assert_eq!(check(&lock, &[expected("agent", A, 'b')]).len(), 2, "the pin still counts");
    assert_eq!(lock.by_url("code", &url(A), Some(Platform::Jira)).unwrap().field, "base");
}

#[test]
fn what_nobody_needs_is_left_over() {
    let lock = lock_of(vec![
        dependency("agent", A, 'a'),
        dependency("host_files[0].src", B, 'b'),
        only_on(Platform::GitLab, dependency("agent", B, 'b')),
    ]);
    let stale = |place: &str| {
        format!(
            "lock-stale: nothing needs the lock entry for {place}: https://x.example/b | run `fullsend lock code`"
        )
    };
    assert_eq!(
        check(&lock, &[expected("agent", A, 'a')]),
        [stale("`host_files[0].src` of harness `code`"), stale("`agent` of harness `code` on gitlab")]
    );
    let github = [on(Platform::GitHub, expected("agent", A, 'a'))];
    assert_eq!(check_in(&lock, &github, Scope::Only(Platform::GitHub)), NONE);
}

#[test]
fn a_file_is_no_directory() {
    let lock = lock_of(vec![dependency("skills[0]", A, 'a'), directory("agent", B, 'b')]);
    let skill = Expected { kind: LockedKind::Directory, ..expected("skills[0]", A, 'a') };
    let agent = Expected { pin: None, kind: LockedKind::Resource, ..expected("agent", B, 'b') };
    assert_eq!(
        check(&lock, &[skill, agent]),
        [
            "lock-kind-differs: `skills[0]` of harness `code` takes a directory but a file is locked | run `fullsend lock code`",
            "lock-kind-differs: `agent` of harness `code` takes a resource but a directory is locked | run `fullsend lock code`",
        ]
    );
}

/// The list of files is shown to people who review a change; it must be the list that the digest stands for.
#[test]
fn the_list_of_files_must_add_up() {
    let mut entry = directory("skills[0]", A, 'a');
    let wanted = Expected { kind: LockedKind::Directory, pin: None, ..expected("skills[0]", A, 'a') };
    assert_eq!(check(&lock_of(vec![entry.clone()]), std::slice::from_ref(&wanted)), NONE);
    entry.files[0].sha256 = digest('b');
    assert_eq!(
        check(&lock_of(vec![entry.clone()]), std::slice::from_ref(&wanted)),
        [
            "lock-manifest-differs: the files listed for `skills[0]` of harness `code` do not add up to its digest: \
          https://x.example/a | run `fullsend lock code`"
        ]
    );
    entry.files.clear();
    assert_eq!(check(&lock_of(vec![entry]), &[wanted]), NONE, "older files list none");
}

#[test]
fn what_else_decides_is_part_of_staleness() {
    let mut lock = lock_of(Vec::new());
    let changed = |lock: &LockFile, sha256: Sha256Digest, composed: Option<Sha256Digest>| {
        let problem = lock.changed("code", sha256, composed)?;
        Some(format!("{}: {problem} | {}", problem.code(), problem.help()))
    };
    let file = "lock-harness-changed: `harness/code.yaml` has changed since harness `code` was locked | run `fullsend lock code`";
    let input = "lock-input-changed: the lock entry of harness `code` was made with other bases, allow-lists or options | run \
                 `fullsend lock code`";
    assert_eq!(changed(&lock, digest('1'), None), None);
    assert_eq!(changed(&lock, digest('2'), None).as_deref(), Some(file));
    assert_eq!(changed(&lock, digest('1'), Some(digest('c'))).as_deref(), Some(input), "not covered");
    lock.harnesses.get_mut("code").unwrap().composed_sha256 = Some(digest('c'));
    assert_eq!(changed(&lock, digest('1'), Some(digest('c'))), None);
    assert_eq!(changed(&lock, digest('1'), Some(digest('d'))).as_deref(), Some(input));
    assert_eq!(changed(&lock, digest('1'), None).as_deref(), Some(input));
    assert!(LockFile::default().changed("code", digest('1'), None).is_some());
}
