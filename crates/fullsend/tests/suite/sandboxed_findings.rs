//! The hook service and a process in a sandbox that would rather write the log itself.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fullsend_guard::hook::{Action, Decision, HookPhase, Recorded};
use fullsend_guard::log::{CHANNEL_MISUSE, Chained, FindingsLog, TraceId, Verdict, verify};
use fullsend_guard::service::{Counts, Limits, Reply, Service, ServiceConfig, ask};
use fullsend_guard::{Finding, SystemClock, files};
use fullsend_testkit::{reexec, test_name};

use crate::suite::users::{User, each_user};

/// Where the socket is inside.
const SOCKET: &str = "/hooks/hook.sock";

/// What the process inside would like to read in the log.
const FORGED: &str = r#"{"seq":0,"trace_id":"x","phase":"hook_pretool","detail":"FORGED"}"#;

/// Denies what contains `bad`.
fn decide(_: HookPhase, input: &[u8]) -> Decision {
    if !input.windows(3).any(|part| part == b"bad") {
        return Decision::default();
    }
    let finding = Finding::new(&files::UNREADABLE, None, "bad input");
    let recorded = vec![Recorded { finding, action: Action::Block }];
    Decision { exit: 2, stderr: "no".to_owned(), recorded, ..Decision::default() }
}

#[test]
fn a_process_in_a_sandbox_can_ask_but_not_write() {
    if let Some(log) = reexec::role() {
        return misbehave(Path::new(&log));
    }
    for user in each_user(test_name!()) {
        let path = user.path().join("run/security/findings.jsonl");
        let log = FindingsLog::create(&path, TraceId::generate(), Arc::new(SystemClock)).unwrap();
        let service = start(&user, &log);
        let ran = run_inside(&user, &service, &path);
        assert_eq!(ran.code, Some(0), "{user:?}: {ran:?}");
        assert!(ran.stdout.contains("1 passed"), "{user:?}: {ran:?}");

        let socket = service.socket();
        assert!(fs::symlink_metadata(&socket).unwrap().file_type().is_socket());
        let counts = service.stop();
        assert_eq!(counts, Counts { answered: 3, misused: 2, entries: 3, ..Counts::default() }, "{user:?}");
        let head = log.seal().unwrap();
        assert_eq!(verify(&path, Some(&head)).unwrap(), Verdict::Sealed { entries: 3, head });
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains("FORGED"), "{text}");
        let rules: Vec<_> =
            text.lines().map(|line| Chained::read(line.as_bytes()).unwrap().entry.rule).collect();
        assert_eq!(rules, ["unreadable", CHANNEL_MISUSE.id, CHANNEL_MISUSE.id, "log_sealed"]);
    }
}

/// A service whose directory belongs to the user, as it does where one user runs everything.
fn start(user: &User, log: &FindingsLog) -> Service {
    user.write("service/owned", "");
    let directory = user.path().join("service");
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).unwrap();
    let config = ServiceConfig { directory, limits: Limits::default() };
    Service::start(config, Arc::new(decide), log.clone()).unwrap()
}

/// Runs this test again in a sandbox that has the socket.
fn run_inside(user: &User, service: &Service, log: &Path) -> crate::suite::running::Ran {
    let program = user.path().join("program");
    let original = std::env::current_exe().unwrap();
    fs::hard_link(&original, &program).or_else(|_| fs::copy(&original, &program).map(drop)).unwrap();
    let role = reexec::command("", log.to_str().unwrap());
    let (name, value) = role.get_envs().next().unwrap();
    user.run(&[
        "sandbox",
        "exec",
        "--ro",
        &format!("{}:/hooks", service.mount().display()),
        "--ro",
        &format!("{}:/program", program.display()),
        "--env",
        &format!("{}={}", name.to_str().unwrap(), value.unwrap().to_str().unwrap()),
        "--",
        "/program",
        "suite::sandboxed_findings::a_process_in_a_sandbox_can_ask_but_not_write",
        "--exact",
        "--nocapture",
    ])
}

/// What runs inside: asks, then tries everything else.
fn misbehave(log: &Path) {
    let socket = Path::new(SOCKET);
    let asked =
        |input: &str| ask(socket, HookPhase::PreTool, input.as_bytes(), Duration::from_secs(60)).unwrap();
    assert_eq!(asked(r#"{"tool_name":"Read"}"#), Reply::default());
    let denied = Reply { exit: 2, stdout: String::new(), stderr: "no".to_owned() };
    assert_eq!(asked(r#"{"tool_name":"Bash","tool_input":"bad FORGED"}"#), denied);

    assert!(fs::read(log).is_err(), "the log is not there");
    for beside in ["/hooks/findings.jsonl", "/hooks/../findings.jsonl", "/hooks/../security/findings.jsonl"] {
        assert!(fs::read(beside).is_err(), "{beside}");
    }
    assert!(fs::write("/hooks/findings.jsonl", FORGED).is_err());
    assert!(fs::remove_file(socket).is_err());
    assert!(fs::rename(socket, "/hooks/old").is_err());
    assert!(fs::set_permissions(socket, fs::Permissions::from_mode(0)).is_err());
    assert!(UnixListener::bind("/hooks/mine").is_err());

    for attempt in [FORGED.to_owned(), format!("fsq1\u{1}{FORGED}\n")] {
        let mut stream = UnixStream::connect(socket).unwrap();
        stream.write_all(attempt.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let _reset_is_no_answer_either = stream.read_to_end(&mut answer);
        assert_eq!(answer, b"");
    }
    assert_eq!(asked("{}"), Reply::default(), "the service goes on");
}
