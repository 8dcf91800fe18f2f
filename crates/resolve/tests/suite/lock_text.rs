//! Texts and values that the lock tests share.

use fullsend_origin::{RemoteUrl, Sha256Digest, TreeDigest, TreePath};
use fullsend_resolve::lock::{LockFile, LockedDependency, LockedHarness, LockedKind, LockedPath, read};
use fullsend_yaml::{LineColumn, SourceMap};

/// A digest that is recognisable in a message.
pub(super) fn digest(letter: char) -> Sha256Digest {
    letter.to_string().repeat(64).parse().unwrap()
}

pub(super) fn url(text: &str) -> RemoteUrl {
    RemoteUrl::parse(text).unwrap()
}

pub(super) fn dependency(field: &str, url_text: &str, letter: char) -> LockedDependency {
    LockedDependency {
        field: field.to_owned(),
        platform: None,
        url: url(url_text),
        sha256: digest(letter),
        kind: Some(LockedKind::File),
        files: Vec::new(),
        fetched_at: "2026-06-08T12:00:00Z".parse().unwrap(),
    }
}

/// A directory of one file, with the digest that belongs to it.
pub(super) fn directory(field: &str, url_text: &str, letter: char) -> LockedDependency {
    let path = TreePath::parse("SKILL.md").unwrap();
    let tree = TreeDigest::of([(path.clone(), digest(letter))]).unwrap();
    LockedDependency {
        sha256: tree.as_sha256(),
        kind: Some(LockedKind::Directory),
        files: vec![LockedPath { path, sha256: digest(letter) }],
        ..dependency(field, url_text, letter)
    }
}

pub(super) fn harness(dependencies: Vec<LockedDependency>) -> LockedHarness {
    LockedHarness {
        source: "harness/code.yaml".to_owned(),
        sha256: digest('1'),
        composed_sha256: None,
        resolved_at: "2026-06-08T12:00:00Z".parse().unwrap(),
        dependencies,
    }
}

/// A file with the one harness `code`.
pub(super) fn lock_of(dependencies: Vec<LockedDependency>) -> LockFile {
    let mut lock = LockFile::default();
    lock.harnesses.insert("code".to_owned(), harness(dependencies));
    lock
}

/// The lock file, and `code line:column message | help` of every problem.
pub(super) fn read_text(text: &str) -> (Option<LockFile>, Vec<String>) {
    let mut sources = SourceMap::new();
    let file = sources.add("lock.yaml", text);
    let outcome = read(&sources, file);
    let described = outcome.problems.iter().map(|problem| {
        let (_, LineColumn { line, column }) = sources.resolve(problem.at).unwrap();
        format!("{} {line}:{column} {} | {}", problem.rule.code, problem.message, problem.help())
    });
    (outcome.lock, described.collect())
}
