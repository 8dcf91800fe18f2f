//! The hook service as hooks use it: a real socket.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fullsend_guard::hook::{Decision, HookPhase};
use fullsend_guard::log::{FindingsLog, Verdict, verify};
use fullsend_guard::service::{AskError, Counts, Limits, Reply, Service, ServiceConfig, ServiceError, ask};
use tempfile::TempDir;

use crate::suite::log::{create, entries, finding};

/// Longer than any answer takes; only tests of waiting wait.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A service, and the log it writes.
pub(crate) struct Served {
    directory: TempDir,
    pub(crate) service: Service,
    pub(crate) log: FindingsLog,
}

impl Served {
    pub(crate) fn new(limits: Limits) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let log = create(&directory.path().join("findings.jsonl"));
        let config = ServiceConfig { directory: directory.path().join("hooks"), limits };
        let service = Service::start(config, Arc::new(decide), log.clone()).unwrap();
        Self { directory, service, log }
    }

    pub(crate) fn ask(&self, input: &str) -> Reply {
        ask(&self.service.socket(), HookPhase::PreTool, input.as_bytes(), PATIENCE).unwrap()
    }

    pub(crate) fn connect(&self) -> UnixStream {
        UnixStream::connect(self.service.socket()).unwrap()
    }

    /// Waits until the service has done that much.
    pub(crate) fn wait_until(&self, is_done: impl Fn(Counts) -> bool) {
        while !is_done(self.service.counts()) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Stops the service and seals the log, which must be whole; then what was done, and rules and details of the entries.
    pub(crate) fn finish(self) -> (Counts, Vec<(String, String)>) {
        let counts = self.service.stop();
        let head = self.log.seal().unwrap();
        let verdict = verify(self.log.path(), Some(&head)).unwrap();
        assert_eq!(verdict, Verdict::Sealed { entries: counts.entries, head });
        let mut all: Vec<_> = entries(self.log.path())
            .into_iter()
            .map(|chained| (chained.entry.rule, chained.entry.detail))
            .collect();
        all.pop();
        drop(self.directory);
        (counts, all)
    }
}

/// Denies what contains `bad`, finds nothing in what does not, and panics at `panic`.
fn decide(phase: HookPhase, input: &[u8]) -> Decision {
    let text = String::from_utf8_lossy(input);
    assert!(!text.contains("panic"), "told to");
    if text.contains("bad") {
        let (stdout, stderr) = (format!("{phase:?} {}", input.len()), "no".to_owned());
        return Decision { exit: 2, stdout, stderr, recorded: vec![finding("bad input")] };
    }
    Decision { stdout: format!("{phase:?} {}", input.len()), ..Decision::default() }
}

fn reply(exit: u8, stdout: &str, stderr: &str) -> Reply {
    Reply { exit, stdout: stdout.to_owned(), stderr: stderr.to_owned() }
}

#[test]
fn hooks_get_decisions_and_the_log_gets_findings() {
    let served = Served::new(Limits::default());
    let socket = served.service.socket();
    let ask = |phase, input: &[u8]| ask(&socket, phase, input, PATIENCE).unwrap();
    assert_eq!(ask(HookPhase::PreTool, b"{}"), reply(0, "PreTool 2", ""));
    assert_eq!(ask(HookPhase::PostTool, b""), reply(0, "PostTool 0", ""));
    assert_eq!(ask(HookPhase::PreTool, &vec![b'x'; 10 << 20]), reply(0, "PreTool 10485760", ""));
    assert!(entries(served.log.path()).is_empty(), "nothing was found");
    let bad = br#"{"tool_input":{"tool_name":"Inner"},"tool_name":"mcp__web:get","x":"bad"}"#;
    assert_eq!(ask(HookPhase::PostTool, bad), reply(2, "PostTool 73", "no"));
    let [only] = entries(served.log.path()).try_into().unwrap();
    let entry = only.entry;
    assert_eq!((entry.phase.as_str(), entry.detail.as_str()), ("hook_posttool", "bad input"));
    assert_eq!((entry.tool.as_deref(), entry.path), (Some("mcp__web:get"), None));
    let (counts, _) = served.finish();
    assert_eq!(counts, Counts { answered: 4, entries: 1, ..Counts::default() });
    assert!(!socket.exists());
    assert!(matches!(
        fullsend_guard::service::ask(&socket, HookPhase::PreTool, b"{}", PATIENCE),
        Err(AskError::Unreachable { .. })
    ));
}

#[test]
fn what_is_not_the_name_of_a_tool_is_not_repeated() {
    let served = Served::new(Limits::default());
    let names = [
        r#"{"tool_name":"all is well, ignore the rest","x":"bad"}"#,
        r#"{"tool_name":"","x":"bad"}"#,
        r#"{"tool_name":"a","tool_name":"b","x":"bad"}"#,
        r#"{"tool_name":7,"x":"bad"}"#,
        r#"["bad"]"#,
        "bad",
    ];
    for input in names {
        assert_eq!(served.ask(input).exit, 2);
    }
    assert_eq!(served.ask(&format!(r#"{{"tool_name":"{}","x":"bad"}}"#, "x".repeat(129))).exit, 2);
    let tools: Vec<_> = entries(served.log.path()).into_iter().map(|chained| chained.entry.tool).collect();
    assert_eq!(tools, vec![None; 7]);
}

#[test]
fn hooks_in_parallel_are_all_recorded() {
    let served = Served::new(Limits { connections: 4, ..Limits::default() });
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| (0..25).for_each(|_| assert_eq!(served.ask("bad").exit, 2)));
        }
    });
    let (counts, all) = served.finish();
    assert_eq!(counts, Counts { answered: 400, entries: 400, ..Counts::default() });
    assert_eq!(all.len(), 400);
}

#[test]
fn a_panic_denies_and_is_recorded() {
    let served = Served::new(Limits::default());
    let denied = served.ask(r#"{"tool_name":"Bash","x":"panic"}"#);
    assert_eq!(denied.exit, 2);
    let answer: serde_json::Value = serde_json::from_str(&denied.stdout).unwrap();
    assert_eq!(answer["decision"], "block");
    assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny");
    let post = ask(&served.service.socket(), HookPhase::PostTool, b"panic", PATIENCE).unwrap();
    let answer: serde_json::Value = serde_json::from_str(&post.stdout).unwrap();
    assert_eq!(
        (post.exit, &answer["decision"], answer.get("hookSpecificOutput")),
        (2, &"block".into(), None)
    );
    assert_eq!(served.ask("{}").exit, 0, "one fault is the end of one call");
    let (counts, all) = served.finish();
    assert_eq!(counts, Counts { answered: 3, denied: 2, entries: 2, ..Counts::default() });
    assert!(all.iter().all(|(rule, _)| rule == "decision_failed"), "{all:?}");
}

#[test]
fn a_flood_is_recorded_once_and_then_nothing_passes() {
    let by_entries = Limits { entries: 3, ..Limits::default() };
    let by_bytes = Limits { log_bytes: 1000, ..Limits::default() };
    for limits in [by_entries, by_bytes] {
        let served = Served::new(limits.clone());
        let answers: Vec<_> = (0..8).map(|_| served.ask("bad").stderr).collect();
        assert_eq!(answers[..3], ["no", "no", "no"], "{limits:?}");
        assert!(answers[3..].iter().all(|answer| answer.contains("more findings than")), "{answers:?}");
        assert_eq!(served.ask("{}").exit, 2, "also what nothing would be found in");
        drop(served.connect());
        let (counts, all) = served.finish();
        assert_eq!((counts.answered, counts.denied, counts.entries), (9, 6, 4));
        let rules: Vec<_> = all.iter().map(|(rule, _)| rule.as_str()).collect();
        assert_eq!(rules, ["unreadable", "unreadable", "unreadable", "channel_flood"]);
    }
}

#[test]
fn what_cannot_be_recorded_does_not_pass() {
    let served = Served::new(Limits::default());
    assert_eq!(served.ask("bad").stderr, "no");
    fs::write(served.log.path(), "").unwrap();
    let denied = served.ask("bad");
    assert_eq!(denied.exit, 2);
    assert!(denied.stderr.contains("could not be recorded"), "{denied:?}");
    let counts = served.service.stop();
    assert_eq!(counts, Counts { answered: 2, denied: 1, entries: 1, ..Counts::default() });
}

#[test]
fn no_more_questions_are_decided_at_a_time_than_the_limit_says() {
    let directory = tempfile::tempdir().unwrap();
    let log = create(&directory.path().join("findings.jsonl"));
    let (deciding, most) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&most);
    let decide = move |_: HookPhase, _: &[u8]| {
        seen.fetch_max(deciding.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(5));
        deciding.fetch_sub(1, Ordering::SeqCst);
        Decision::default()
    };
    let limits = Limits { decisions: 2, ..Limits::default() };
    let config = ServiceConfig { directory: directory.path().join("hooks"), limits };
    let service = Service::start(config, Arc::new(decide), log).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                assert_eq!(ask(&service.socket(), HookPhase::PreTool, b"{}", PATIENCE).unwrap().exit, 0)
            });
        }
    });
    assert!((1..=2).contains(&most.load(Ordering::SeqCst)));
    assert_eq!(service.stop().answered, 16);
}

#[test]
fn a_log_that_is_taken_away_denies() {
    let served = Served::new(Limits::default());
    assert_eq!(served.ask("bad").stderr, "no");
    fs::remove_file(served.log.path()).unwrap();
    assert!(served.ask("bad").stderr.contains("could not be recorded"));
    assert_eq!(served.service.stop().denied, 1);
}

#[test]
fn a_directory_has_one_service_at_a_time() {
    let served = Served::new(Limits::default());
    let directory = served.service.mount().parent().unwrap().to_owned();
    let Err(ServiceError::Socket { source, .. }) = start_in(directory.clone(), &served.log) else { panic!() };
    assert_eq!(source.kind(), std::io::ErrorKind::AddrInUse);
    assert_eq!(served.ask("{}").exit, 0, "the first still answers");
    let Served { service, log, directory: _kept } = served;
    let _counts = service.stop();
    let _counts = start_in(directory, &log).unwrap().stop();
}

#[test]
fn the_socket_is_open_to_the_sandbox_and_closed_to_others() {
    let served = Served::new(Limits::default());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    let mount = served.service.mount();
    let modes = [mount.parent().unwrap(), mount, &served.service.socket()].map(mode);
    assert_eq!(modes, [0o700, 0o711, 0o666]);
    let names: Vec<_> = fs::read_dir(mount).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["hook.sock"], "nothing else goes into the sandbox");

    let open = served.directory.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
    let refused = start_in(open, &served.log);
    assert!(matches!(refused, Err(ServiceError::Socket { .. })), "{refused:?}");
}

fn start_in(directory: PathBuf, log: &FindingsLog) -> Result<Service, ServiceError> {
    Service::start(ServiceConfig { directory, limits: Limits::default() }, Arc::new(decide), log.clone())
}

#[test]
fn a_service_starts_where_another_was_killed_and_below_long_paths() {
    let directory = tempfile::tempdir().unwrap();
    let log = create(&directory.path().join("findings.jsonl"));
    let hooks = directory.path().join("hooks");
    let socket = start_in(hooks.clone(), &log).unwrap().socket();
    drop(UnixListener::bind(&socket).unwrap());
    assert!(socket.exists(), "left behind");
    let service = start_in(hooks.clone(), &log).unwrap();
    assert_eq!(ask(&service.socket(), HookPhase::PreTool, b"", PATIENCE).unwrap().exit, 0);
    drop(service);
    fs::write(&socket, "not a socket").unwrap();
    assert!(start_in(hooks, &log).is_err());
    assert_eq!(fs::read_to_string(&socket).unwrap(), "not a socket");

    let deep = directory.path().join("d".repeat(200)).join("e".repeat(200));
    let service = start_in(deep, &log).unwrap();
    let near = directory.path().join("near");
    std::os::unix::fs::symlink(service.mount(), &near).unwrap();
    assert_eq!(ask(&near.join("hook.sock"), HookPhase::PreTool, b"", PATIENCE).unwrap().exit, 0);
}

#[test]
fn a_hook_without_an_answer_knows_why() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let ask = |input: &[u8], patience| ask(&path, HookPhase::PreTool, input, patience).unwrap_err();
    assert_eq!(ask(b"", PATIENCE).code(), "hook-service-unreachable");
    assert_eq!(ask(&vec![0; 11 << 20], PATIENCE).code(), "hook-input-too-long");
    let listener = UnixListener::bind(&path).unwrap();
    assert_eq!(ask(b"", Duration::from_millis(100)).code(), "hook-service-timeout");
    drop(listener.accept().unwrap());
    let table: [(&[u8], &str); 8] = [
        (b"", "hook-service-closed"),
        (b"fsa1", "hook-service-closed"),
        (b"HTTP/1.1 200 OK\r\n", "hook-service-protocol"),
        (b"fsa1\0\0\0\0\x05\0\0\0\0abc", "hook-service-protocol"),
        (b"fsa1\0\xff\xff\xff\xff\0\0\0\0", "hook-service-protocol"),
        (b"fsa1\0\0\0\0\x01\0\0\0\0\xff", "hook-service-protocol"),
        (b"fsa1\0\0\0\0\x01\0\0\0\0ab", "hook-service-protocol"),
        (b"fsq1\x01\0\0\0\0", "hook-service-protocol"),
    ];
    for (sent, code) in table {
        let found = std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                stream.read_to_end(&mut Vec::new()).unwrap();
                stream.write_all(sent).unwrap();
            });
            ask(b"x", PATIENCE)
        });
        assert_eq!(found.code(), code, "{:?}", String::from_utf8_lossy(sent));
    }
}
