//! The findings log as it is written.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fullsend_guard::files::{TOO_LARGE, UNREADABLE};
use fullsend_guard::hook::{Action, Recorded};
use fullsend_guard::log::{
    self, Chained, Entry, FindingsLog, LOG_SEALED, LogError, Phase, Place, Problem, SEED, TraceId, Verdict,
    verify,
};
use fullsend_guard::{Clock, Finding, Severity, Span};
use tempfile::TempDir;

/// A clock that stands still.
#[derive(Debug)]
pub(crate) struct Still;

impl Clock for Still {
    fn now(&self) -> jiff::Timestamp {
        "2026-06-08T00:00:00.75Z".parse().unwrap()
    }
}

pub(crate) const TRACE: &str = "00000000-0000-4000-8000-000000000001";

pub(crate) fn finding(detail: &str) -> Recorded {
    Recorded { finding: Finding::new(&UNREADABLE, None, detail), action: Action::Warn }
}

/// A place for a log, in a directory that is not there yet.
pub(crate) fn place() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run/security/findings.jsonl");
    (directory, path)
}

pub(crate) fn create(path: &Path) -> FindingsLog {
    FindingsLog::create(path, TRACE.parse().unwrap(), Arc::new(Still)).unwrap()
}

fn reopen(path: &Path) -> Result<FindingsLog, LogError> {
    FindingsLog::open_existing(path, TRACE.parse().unwrap(), Arc::new(Still))
}

/// The entries of a log file.
pub(crate) fn entries(path: &Path) -> Vec<Chained> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| Chained::read(line.as_bytes()).unwrap()).collect()
}

#[test]
fn the_hash_of_a_plain_entry_is_the_one_other_programs_compute() {
    let entry = Entry {
        trace_id: TRACE.to_owned(),
        timestamp: "2026-06-08T00:00:00Z".to_owned(),
        phase: Phase::HostInput,
        scanner: "test".to_owned(),
        rule: "test-finding-1".to_owned(),
        severity: Severity::High,
        detail: "first entry".to_owned(),
        position: -1,
        action: None,
        tool: None,
        path: None,
    };
    // K01
    assert_eq!(entry.hash(SEED), "12624f1b1639f43c24791efdb993cc93e1d61b27e0e31047bb7b6f6ef816409e");
    let chained = Chained::new(0, entry, SEED.to_owned());
    assert_eq!(Chained::read(chained.line().trim_end().as_bytes()).unwrap(), chained);
}

#[test]
fn every_member_is_part_of_the_hash() {
    let (_directory, path) = place();
    let log = create(&path);
    let place = Place { phase: Phase::HostInput, tool: Some("Bash"), path: Some("a.md") };
    log.append(place, &finding("x")).unwrap();
    let Chained { entry, hash, .. } = entries(&path).remove(0);
    let changes: [fn(&mut Entry); 11] = [
        |entry| entry.trace_id.push('0'),
        |entry| entry.timestamp.push('0'),
        |entry| entry.phase = Phase::HostOutput,
        |entry| entry.scanner.push('x'),
        |entry| entry.rule.push('x'),
        |entry| entry.severity = Severity::Low,
        |entry| entry.detail.push('x'),
        |entry| entry.position = 0,
        |entry| entry.action = Some(Action::Block),
        |entry| entry.tool = Some("Read".to_owned()),
        |entry| entry.path = None,
    ];
    assert_eq!(entry.hash(SEED), hash);
    for (number, change) in changes.iter().enumerate() {
        let mut changed = entry.clone();
        change(&mut changed);
        assert_ne!(changed.hash(SEED), hash, "change {number}");
    }
    assert_ne!(entry.hash(&hash), hash);
}

#[test]
fn a_line_says_what_was_found_where_and_what_was_done() {
    let (_directory, path) = place();
    let log = create(&path);
    let found =
        Finding::new(&TOO_LARGE, Span::new(7, 9), "a <b> & \u{2028} \"c\" \\ d").with_severity(Severity::Low);
    let at = Place { phase: Phase::SandboxContext, tool: None, path: Some("docs/\u{202e}x.md") };
    log.append(at, &Recorded { finding: found, action: Action::Block }).unwrap();
    let line = fs::read_to_string(&path).unwrap();
    let (members, hash) = line.split_once(r#","hash":""#).unwrap();
    assert_eq!(
        members,
        r#"{"seq":0,"trace_id":"00000000-0000-4000-8000-000000000001","timestamp":"2026-06-08T00:00:00Z","phase":"sandbox_context","scanner":"file_walk","rule":"file_too_large","severity":"low","detail":"a \u003cb\u003e \u0026 \\u{2028} \"c\" \\ d","position":7,"action":"block","path":"docs/\\u{202e}x.md","prev_hash":"0000000000000000000000000000000000000000000000000000000000000000""#
    );
    assert_eq!(hash.trim_end(), format!("{}\"}}", log.head()));
}

#[test]
fn entries_follow_one_another_and_the_end_is_marked() {
    let (_directory, path) = place();
    let log = create(&path);
    log.append(Phase::HostInput, &finding("one")).unwrap();
    log.append(Phase::HostOutput, &finding("two")).unwrap();
    // K03
    let [first, second] = entries(&path).try_into().unwrap();
    assert_eq!((first.prev_hash.as_str(), &second.prev_hash), (SEED, &first.hash));
    assert_eq!(verify(&path, None).unwrap(), Verdict::Unsealed { entries: 2, head: second.hash.clone() });
    assert_eq!(log.head(), second.hash);

    let head = log.seal().unwrap();
    let sealed = Verdict::Sealed { entries: 2, head: head.clone() };
    assert_eq!(verify(&path, Some(&head)).unwrap(), sealed);
    assert_eq!(entries(&path)[2].entry.detail, "2 entries before this one");
    assert!(matches!(log.append(Phase::HostOutput, &finding("three")), Err(LogError::Sealed { .. })));
    assert!(matches!(log.seal(), Err(LogError::Sealed { .. })));
    drop(log);
    assert!(matches!(reopen(&path), Err(LogError::Sealed { .. })));
    assert_eq!(verify(&path, None).unwrap(), sealed);
}

#[test]
fn findings_of_every_phase_are_in_one_chain_from_the_first_on() {
    let (_directory, path) = place();
    assert!(
        !path.parent().unwrap().exists(),
        "the first finding may come before anything else of the run is there"
    );
    let log = create(&path);
    let phases =
        [Phase::HostInput, Phase::SandboxContext, Phase::HookPreTool, Phase::HookPostTool, Phase::HostOutput];
    for phase in phases {
        log.append(phase, &finding("x")).unwrap();
    }
    let head = log.seal().unwrap();
    assert_eq!(verify(&path, Some(&head)).unwrap(), Verdict::Sealed { entries: 5, head });
    let names: Vec<_> = entries(&path).iter().map(|chained| chained.entry.phase.as_str()).collect();
    let expected =
        ["host_input", "sandbox_context", "hook_pretool", "hook_posttool", "host_output", "findings_log"];
    assert_eq!(names, expected);
}

#[test]
fn only_sealing_seals() {
    let (_directory, path) = place();
    let log = create(&path);
    let forged = Recorded {
        finding: Finding::new(&LOG_SEALED, None, "0 entries before this one"),
        action: Action::Warn,
    };
    assert!(matches!(log.append(Phase::HostInput, &forged), Err(LogError::NotAFinding { .. })));
    drop(log);
    assert_eq!(verify(&path, None).unwrap(), Verdict::Unsealed { entries: 0, head: SEED.to_owned() });
}

#[test]
fn an_interrupted_log_is_continued_and_says_so() {
    let (_directory, path) = place();
    create(&path).append(Phase::HostInput, &finding("one")).unwrap();
    let whole = fs::read(&path).unwrap();
    fs::write(&path, [&whole[..], br#"{"seq":1,"trace"#].concat()).unwrap();
    let log = reopen(&path).unwrap();
    log.append(Phase::HostInput, &finding("two")).unwrap();
    let head = log.seal().unwrap();
    let details: Vec<_> = entries(&path).into_iter().map(|chained| chained.entry.detail).collect();
    let cut = "opened again; 15 bytes of an unfinished line were cut off";
    assert_eq!(details, ["one", cut, "two", "3 entries before this one"]);
    assert_eq!(verify(&path, Some(&head)).unwrap(), Verdict::Sealed { entries: 3, head });
}

fn join(path: &Path) -> Result<FindingsLog, LogError> {
    FindingsLog::join(path, TRACE.parse().unwrap(), Arc::new(Still))
}

#[test]
fn short_lived_writers_add_to_one_chain_and_nothing_else() {
    let (_directory, path) = place();
    let names = ["one", "two", "three", "four"];
    for name in names {
        join(&path).unwrap().append(Phase::HookPreTool, &finding(name)).unwrap();
    }
    let details: Vec<_> = entries(&path).into_iter().map(|chained| chained.entry.detail).collect();
    assert_eq!(details, names);
    assert!(matches!(verify(&path, None).unwrap(), Verdict::Unsealed { entries: 4, .. }));
    fs::write(&path, "").unwrap();
    join(&path).unwrap().append(Phase::HookPreTool, &finding("again")).unwrap();
    assert!(matches!(verify(&path, None).unwrap(), Verdict::Unsealed { entries: 1, .. }));
    join(&path).unwrap().seal().unwrap();
    assert!(matches!(join(&path), Err(LogError::Sealed { .. })));
}

#[test]
fn adding_to_a_log_reads_its_last_line_only() {
    let (_directory, path) = place();
    let log = create(&path);
    for at in 0..200 {
        log.append(Phase::HostInput, &finding(&format!("number {at}"))).unwrap();
    }
    drop(log);
    let text = fs::read_to_string(&path).unwrap().replace("number 0\"", "nubmer 0\"");
    fs::write(&path, text).unwrap();
    join(&path).unwrap().append(Phase::HookPreTool, &finding("last")).unwrap();
    assert!(matches!(verify(&path, None).unwrap(), Verdict::Broken(broken) if broken.at == 0));
    assert!(matches!(reopen(&path), Err(LogError::Broken { .. })));
}

#[test]
fn nothing_is_added_to_a_last_line_that_is_wrong() {
    let (_directory, path) = place();
    let log = create(&path);
    for name in ["one", "two"] {
        log.append(Phase::HostInput, &finding(name)).unwrap();
    }
    drop(log);
    let text = fs::read_to_string(&path).unwrap();
    let (first, second) = text.split_at(text.find('\n').unwrap() + 1);
    let cases = [
        (text.replace("two", "owt"), Problem::WrongHash),
        (text.replace("\"seq\":1,", "\"seq\": 1,"), Problem::Respelled),
        (second.to_owned(), Problem::WrongNumber { found: 1 }),
        (format!("{second}{first}"), Problem::WrongNumber { found: 0 }),
        (format!("{text}\n"), Problem::Blank),
        (format!("{text}x\n"), Problem::NotAnEntry),
        (format!("{text}{}\n", "x".repeat(2 << 20)), Problem::TooLong),
    ];
    for (changed, problem) in cases {
        fs::write(&path, &changed).unwrap();
        match join(&path) {
            Err(LogError::Broken { broken, .. }) => assert_eq!(broken.problem, problem),
            other => panic!("{problem:?}: {other:?}"),
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), changed, "what is broken is left as it is");
    }
    fs::write(&path, format!("{text}{{\"seq\":2")).unwrap();
    drop(join(&path).unwrap());
    let last = entries(&path).pop().unwrap();
    assert_eq!((last.seq, last.entry.rule.as_str()), (2, "log_reopened"));
}

#[test]
fn processes_that_start_a_log_at_the_same_time_share_it() {
    let (_directory, path) = place();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..25 {
                    let log = loop {
                        match join(&path) {
                            Err(LogError::InUse { .. }) => std::thread::yield_now(),
                            other => break other.unwrap(),
                        }
                    };
                    log.append(Phase::HookPreTool, &finding("x")).unwrap();
                }
            });
        }
    });
    assert!(matches!(verify(&path, None).unwrap(), Verdict::Unsealed { entries: 200, .. }));
}

#[test]
fn nothing_is_written_to_a_log_that_is_not_there_any_more() {
    let (directory, path) = place();
    let log = create(&path);
    log.append(Phase::HostInput, &finding("one")).unwrap();
    let aside = directory.path().join("aside");
    fs::rename(&path, &aside).unwrap();
    assert!(matches!(log.append(Phase::HostInput, &finding("two")), Err(LogError::Gone { .. })));
    fs::copy(&aside, &path).unwrap();
    assert!(matches!(log.append(Phase::HostInput, &finding("two")), Err(LogError::Gone { .. })));
    assert!(matches!(log.seal(), Err(LogError::Gone { .. })));
    assert_eq!(entries(&aside).len(), 1);
}

#[test]
fn what_is_no_file_is_no_log_and_nobody_waits_for_it() {
    let (directory, _) = place();
    for path in [directory.path(), Path::new("/dev/full"), Path::new("/dev/null")] {
        assert!(matches!(join(path), Err(LogError::Io { .. })), "{path:?}");
        assert!(matches!(verify(path, None), Err(LogError::Io { .. })), "{path:?}");
    }
    let fifo = directory.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    assert!(matches!(join(&fifo), Err(LogError::Io { .. })));
    assert!(matches!(verify(&fifo, None), Err(LogError::Io { .. })));
}

#[test]
fn a_broken_log_is_not_continued() {
    let (_directory, path) = place();
    let log = create(&path);
    log.append(Phase::HostInput, &finding("one")).unwrap();
    log.append(Phase::HostInput, &finding("two")).unwrap();
    drop(log);
    let text = fs::read_to_string(&path).unwrap().replace("one", "eno");
    fs::write(&path, &text).unwrap();
    match reopen(&path) {
        Err(LogError::Broken { broken, .. }) => {
            assert_eq!((broken.at, broken.problem), (0, Problem::WrongHash))
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), text, "what is broken is left as it is");
}

#[test]
fn one_process_writes_and_only_to_a_file_of_its_own() {
    let (directory, path) = place();
    let log = create(&path);
    assert!(matches!(reopen(&path), Err(LogError::InUse { .. })));
    assert!(matches!(
        FindingsLog::create(&path, TraceId::generate(), Arc::new(Still)),
        Err(LogError::Io { .. })
    ));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));

    let link = directory.path().join("link");
    symlink(&path, &link).unwrap();
    drop(log);
    assert!(matches!(reopen(&link), Err(LogError::Io { .. })));
    assert!(matches!(reopen(directory.path()), Err(LogError::Io { .. })));
    reopen(&path).unwrap();
}

#[test]
fn nothing_is_chained_to_what_others_wrote() {
    let (_directory, path) = place();
    let log = create(&path);
    log.append(Phase::HostInput, &finding("one")).unwrap();
    fs::write(&path, b"").unwrap();
    assert!(matches!(log.append(Phase::HostInput, &finding("two")), Err(LogError::Changed { found: 0, .. })));
    assert!(matches!(log.seal(), Err(LogError::Changed { found: 0, .. })));
}

#[test]
fn threads_append_without_gaps() {
    let (_directory, path) = place();
    let log = create(&path);
    std::thread::scope(|scope| {
        for thread in 0..16 {
            let log = log.clone();
            scope.spawn(move || {
                for number in 0..50 {
                    let pair =
                        [finding(&format!("{thread}/{number}/a")), finding(&format!("{thread}/{number}/b"))];
                    log.append_all(Phase::HookPreTool, &pair).unwrap();
                }
            });
        }
    });
    let head = log.seal().unwrap();
    assert_eq!(verify(&path, Some(&head)).unwrap(), Verdict::Sealed { entries: 1600, head });
    let all = entries(&path);
    assert!(all.iter().map(|chained| chained.seq).eq(0..1601));
    let mut details: Vec<_> = all[..1600].iter().map(|chained| chained.entry.detail.clone()).collect();
    for pair in details.chunks(2) {
        assert_eq!(
            pair[0].strip_suffix('a'),
            pair[1].strip_suffix('b'),
            "what belongs together stays together"
        );
    }
    details.sort();
    details.dedup();
    assert_eq!(details.len(), 1600);
}

#[test]
fn names_of_any_length_make_entries_of_bounded_length() {
    let (_directory, path) = place();
    let log = create(&path);
    let long = "\u{10ffff}".repeat(1 << 20);
    let at = Place { phase: Phase::HostInput, tool: Some(&long), path: Some(&long) };
    log.append(at, &finding(&long)).unwrap();
    assert!(log.bytes() < 1 << 16, "{} bytes", log.bytes());
    let head = log.seal().unwrap();
    assert_eq!(verify(&path, None).unwrap(), Verdict::Sealed { entries: 1, head });
}

#[test]
fn trace_ids_are_random_or_adopted_but_always_safe_in_a_shell() {
    // K07, then what must not pass at all.
    let table = [
        (TRACE, true, true),
        ("4f3a9c1b-2d8e-0a7c-1f0b-1e2d3c4a5b6d", true, false),
        ("4f3a9c1b-2d8e-4a7c-cf0b-1e2d3c4a5b6d", true, false),
        ("4F3A9C1B-2D8E-4A7C-8F0B-1E2D3C4A5B6D", false, false),
        ("4f3a9c1b2d8e4a7c8f0b1e2d3c4a5b6d", false, false),
        ("4f3a9c1-b2d8e-4a7c-8f0b-1e2d3c4a5b6d", false, false),
        ("4f3a9c1b-2d8e-4a7c-8f0b-1e2d3c4a5b6$", false, false),
        ("4f3a9c1b-2d8e-4a7c-8f0b-1e2d3c4a5b6d\n", false, false),
        ("4f3a9c1b-2d8e-4a7c-8f0b-1e2d3c4a5bé", false, false),
        ("", false, false),
    ];
    for (text, safe, v4) in table {
        assert_eq!((log::is_shell_safe(text), log::is_v4(text)), (safe, v4), "{text:?}");
        assert_eq!(text.parse::<TraceId>().is_ok(), safe, "{text:?}");
    }
    let (one, other) = (TraceId::generate(), TraceId::generate());
    assert!(one.is_v4() && other.is_v4() && one != other);
}
