//! Many processes, some of them killed, and still every entry is whole and every line of the log complete.

use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fullsend_fetch::audit::{Audit, FetchType, Refusal, Source, Success};
use fullsend_fetch::cache::{Cache, EntryId, Listing, Lookup, Parallel};
use fullsend_fetch::{Clock, SystemClock};
use fullsend_origin::Sha256Digest;
use fullsend_testkit::{reexec, test_name};

use super::support::{tree, url};

/// Scales the test up: `processes x entries`, such as `32x1000`.
const SCALE: &str = "FULLSEND_TEST_CACHE_SCALE";

fn scale() -> (usize, usize) {
    let text = std::env::var(SCALE).unwrap_or_else(|_| "8x60".to_owned());
    let (processes, entries) = text.split_once('x').unwrap();
    (processes.parse().unwrap(), entries.parse().unwrap())
}

/// Every third entry is a directory.
fn put(cache: &Cache, n: usize) -> EntryId {
    let content = format!("entry {n}\n").repeat(200);
    let source = url(&format!("https://example.com/{n}"));
    if n.is_multiple_of(3) {
        let files = tree(&[("SKILL.md", &content), ("scripts/a.sh", "#!/bin/sh\n"), ("deep/er/b", &content)]);
        cache.put_tree(&source, &files, Listing::Full).unwrap().id
    } else {
        cache.put_file(&source, content.as_bytes()).unwrap().id
    }
}

/// Puts all entries in an order of its own and reads what is there; nothing found may ever be corrupt.
fn work(directory: &Path, number: usize, entries: usize) {
    let cache = Cache::open(directory).unwrap();
    for step in 0..entries {
        let id = put(&cache, (step * 7 + number * 13) % entries);
        let answer = cache.verify(id).unwrap();
        assert!(matches!(answer, Lookup::Hit(_)), "{id:?}: {answer:?}");
    }
}

#[test]
fn entries_are_whole_whoever_dies() {
    let (processes, entries) = scale();
    if let Some(role) = reexec::role() {
        let (number, directory) = role.split_once(' ').unwrap();
        return work(directory.as_ref(), number.parse().unwrap(), entries);
    }
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_str().unwrap();
    let start = |n: usize| {
        reexec::command(test_name!(), &format!("{n} {place}")).stdout(Stdio::null()).spawn().unwrap()
    };
    let mut children: Vec<Child> = (0..processes).map(start).collect();
    let mut victims: Vec<Child> = (0..processes / 2).map(|n| start(processes + n)).collect();
    // Killed at moments that differ from run to run; one second bounds the test, not the outcome.
    let deadline = Instant::now() + Duration::from_secs(1);
    let mut round = 0;
    while Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(3));
        round += 1;
        let at = round % victims.len();
        victims[at].kill().unwrap();
        victims[at].wait().unwrap();
        victims[at] = start(processes + round);
    }
    for mut victim in victims {
        victim.kill().unwrap();
        victim.wait().unwrap();
    }
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let cache = Cache::open(directory.path()).unwrap();
    let report = cache.verify_all(Parallel::Available).unwrap();
    assert!(report.is_sound(), "{report:?}");
    assert_eq!(report.entries.len(), entries);
}

#[test]
fn readers_of_an_entry_that_is_replaced_see_a_whole_one_or_none() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::open(directory.path()).unwrap();
    let id = put(&cache, 0);
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let collector = scope.spawn(|| {
            for _ in 0..60 {
                cache.gc(&[].into(), Duration::ZERO).unwrap();
                put(&cache, 0);
            }
            done.store(true, std::sync::atomic::Ordering::SeqCst);
        });
        for _ in 0..3 {
            scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::SeqCst) {
                    match cache.verify(id).unwrap() {
                        Lookup::Hit(_) | Lookup::Miss => {}
                        Lookup::Corrupt(reason) => panic!("{reason}"),
                    }
                }
            });
        }
        collector.join().unwrap();
    });
}

#[test]
fn concurrent_repair_converges() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::open(directory.path()).unwrap();
    let id = put(&cache, 1);
    for _ in 0..10 {
        std::fs::write(cache.body_path(id), "damage").unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| put(&cache, 1));
            }
        });
        assert!(matches!(cache.verify(id).unwrap(), Lookup::Hit(_)));
    }
}

#[test]
fn lines_of_the_log_are_whole_with_sixteen_writers() {
    const EACH: usize = 50;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    if let Some(role) = reexec::role() {
        let (number, directory) = role.split_once(' ').unwrap();
        let audit = Audit::open(directory.as_ref(), number, clock).unwrap();
        let long = format!("https://example.com/{}", "x".repeat(9_000));
        for n in 0..EACH {
            let url = if n % 2 == 0 { "https://example.com/a" } else { &long };
            let digest = Sha256Digest::of(b"");
            let (fetch_type, allowed_by) = (FetchType::Static, "https://example.com/");
            audit.success(&Success { url, digest, fetch_type, allowed_by, source: Source::Network }).unwrap();
            let (digest, allowed_by) = (None, None);
            let (code, reason) = ("fetch-offline", "offline");
            audit.refusal(&Refusal { url, digest, fetch_type, allowed_by, code, reason }).unwrap();
        }
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_str().unwrap();
    let start = |n: usize| {
        reexec::command(test_name!(), &format!("{n} {place}")).stdout(Stdio::null()).spawn().unwrap()
    };
    let children: Vec<Child> = (0..16).map(start).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let audit = Audit::open(directory.path(), "", clock).unwrap();
    let text = std::fs::read_to_string(audit.path()).unwrap();
    let keys = ["trace_id", "fetch_time", "url", "sha256", "fetch_type", "allowed_by", "cache_hit"];
    for line in text.lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        let found: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(found[..7], keys);
        assert!(found[7..].is_empty() || found[7..] == ["refused", "reason"]);
    }
    assert_eq!(text.lines().count(), 16 * EACH * 2);
    assert!(text.ends_with('\n'));
}
