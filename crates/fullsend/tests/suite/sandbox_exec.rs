//! `fullsend sandbox exec`: real sandboxes, as root and as an ordinary user.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Child, Stdio};

use fullsend_testkit::test_name;
use serde_json::{Value, json};

use crate::suite::running::{Place, Ran};
use crate::suite::users::{User, each_user};

/// The arguments for a line of shell in a sandbox with these options.
fn shell<'a>(options: &[&'a str], line: &'a str) -> Vec<&'a str> {
    [&["sandbox", "exec"], options, &["--", "sh", "-c", line]].concat()
}

/// Starts a line of shell in a sandbox and waits for it to say that it is ready.
fn started(user: &User, options: &[&str], line: &str) -> (Child, BufReader<std::process::ChildStdout>) {
    let line = format!("{line}\necho ready; while :; do sleep 1; done");
    let mut child = user
        .command(&shell(options, &line))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    stdout.read_line(&mut first).unwrap();
    if first != "ready\n" {
        panic!("{first:?} {:?}", child.wait_with_output());
    }
    (child, stdout)
}

fn send(signal: &str, child: &Child) {
    let sent = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn the_exit_code_is_that_of_the_command() {
    for user in each_user(test_name!()) {
        for (line, code) in [("true", 0), ("exit 7", 7), ("kill -TERM $$", 143), ("kill -KILL $$", 137)] {
            let ran = user.run(&shell(&[], line));
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{line} as {user:?}: {ran:?}");
        }
        let missing = user.run(&["sandbox", "exec", "--", "no-such-program"]);
        assert_eq!(missing.code, Some(127), "{missing:?}");
        assert!(missing.stderr.contains("no-such-program"), "{missing:?}");
        let directory = user.run(&["sandbox", "exec", "--", "/usr"]);
        assert_eq!(directory.code, Some(126), "{directory:?}");
    }
}

#[test]
fn bytes_pass_through_unchanged_in_both_directions() {
    for user in each_user(test_name!()) {
        let bytes: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
        let mut child = user
            .command(&shell(&[], "cat; echo done >&2"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let sent = bytes.clone();
        let feeder = std::thread::spawn(move || stdin.write_all(&sent));
        let output = child.wait_with_output().unwrap();
        feeder.join().unwrap().unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert!(output.stdout == bytes, "{} bytes came back", output.stdout.len());
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "done\n");
    }
}

#[test]
fn a_reader_that_leaves_ends_the_command_quietly() {
    for user in each_user(test_name!()) {
        let mut child = user
            .command(&["sandbox", "exec", "--", "yes"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut some = [0; 4];
        child.stdout.take().unwrap().read_exact(&mut some).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!((&some, output.status.code()), (b"y\ny\n", Some(141)));
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    }
}

#[test]
fn a_time_limit_ends_everything() {
    for user in each_user(test_name!()) {
        let ran = user
            .run(&shell(&["--timeout", "0.4"], "echo started; (sleep 20 &); trap '' TERM; sleep 20; true"));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(124), "started\n"), "{ran:?}");
        assert!(ran.stderr.contains("limit: the time was over"), "{ran:?}");
        let quiet = user.run(&[&["--quiet"], &shell(&["--timeout", "0.4"], "sleep 20")[..]].concat());
        assert_eq!((quiet.code, quiet.stderr.as_str()), (Some(124), ""));
    }
}

#[test]
fn a_time_limit_holds_while_nobody_reads_the_output() {
    for user in each_user(test_name!()) {
        let mut child = user
            .command(&["sandbox", "exec", "--timeout", "0.5", "--", "yes"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_secs(1));
        // What fits into pipes and queues, and not what `yes` would go on to write.
        let mut output = Vec::new();
        child.stdout.take().unwrap().read_to_end(&mut output).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(124));
        assert!(!output.is_empty());
    }
}

#[test]
fn only_granted_files_are_there_and_only_as_granted() {
    for user in each_user(test_name!()) {
        for directory in ["secret", "ro", "rw", "copy"] {
            user.write(&format!("{directory}/file"), directory);
        }
        let secret = format!("cat {}/secret/file", user.path().display());
        let ran = user.run(&shell(&["--rw", "rw"], &secret));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");

        let options = ["--ro", "ro", "--rw", "rw:/in/here", "--overlay", "copy"];
        let line = format!(
            "cd {} && cat ro/file /in/here/file copy/file; echo new > /in/here/file; echo new > copy/file; cat copy/file; echo new > ro/file",
            user.path().display()
        );
        let ran = user.run(&shell(&options, &line));
        assert_eq!(ran.stdout, "rorwcopynew\n", "{ran:?}");
        assert!(
            ran.stderr.contains("Read-only file system") || ran.stderr.contains("ermission denied"),
            "{ran:?}"
        );
        assert_ne!(ran.code, Some(0));
        let read = |name: &str| fs::read_to_string(user.path().join(name)).unwrap();
        assert_eq!(
            (read("ro/file"), read("rw/file"), read("copy/file")),
            ("ro".into(), "new\n".into(), "copy".into())
        );
    }
}

#[test]
fn the_command_starts_where_the_caller_is_when_that_is_granted() {
    for user in each_user(test_name!()) {
        user.write("work/deep/file", "");
        let here = fs::canonicalize(user.path()).unwrap();
        let ran = user.run(&shell(&["--ro", "."], "pwd"));
        assert_eq!(ran.stdout, format!("{}\n", here.display()), "{ran:?}");
        let ran = user.run(&shell(&["--rw", "work"], "pwd"));
        assert_eq!(ran.stdout, format!("{}/work\n", here.display()), "{ran:?}");
        let ran = user.run(&shell(&[], "[ \"$PWD\" = \"$HOME\" ] && [ -w . ] && echo home"));
        assert_eq!(ran.stdout, "home\n", "{ran:?}");
        let ran = user.run(&shell(&["--rw", "work", "--cwd", "work/deep"], "ls"));
        assert_eq!(ran.stdout, "file\n", "{ran:?}");
        let ran = user.run(&shell(&["--cwd", "/no/such/place"], "pwd"));
        assert!(!matches!(ran.code, Some(0)) && ran.stderr.contains("/no/such/place"), "{ran:?}");
    }
}

#[test]
fn nothing_of_the_environment_is_passed_on_but_what_is_named() {
    for user in each_user(test_name!()) {
        let mut command = user.command(&shell(&["--env", "GIVEN=a=b", "--env", "EMPTY="], "env"));
        let ran = Ran::from(command.env("SECRET_TOKEN", "hunter2").output().unwrap());
        assert!(ran.stdout.contains("\nGIVEN=a=b\n") || ran.stdout.starts_with("GIVEN=a=b\n"), "{ran:?}");
        assert!(ran.stdout.contains("EMPTY=\n"), "{ran:?}");
        assert!(!ran.stdout.contains("hunter2") && !ran.stdout.contains("SECRET"), "{ran:?}");
    }
}

#[test]
fn without_a_grant_there_is_no_network() {
    for user in each_user(test_name!()) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let line =
            format!("exec 3<>/dev/tcp/127.0.0.1/{} && echo connected", listener.local_addr().unwrap().port());
        let with = |options: &[&str]| {
            user.run(&[&["sandbox", "exec"], options, &["--", "bash", "-c", &line]].concat())
        };
        let closed = with(&[]);
        assert_eq!((closed.code == Some(0), closed.stdout.as_str()), (false, ""), "{closed:?}");
        let listed = with(&["--allow-host", "a.test"]);
        assert_eq!((listed.code == Some(0), listed.stdout.as_str()), (false, ""), "{listed:?}");
        let open = with(&["--allow-network"]);
        assert_eq!(open.stdout, "connected\n", "{open:?}");
    }
}

#[test]
fn a_refused_host_is_named_with_the_option_that_would_allow_it() {
    for user in each_user(test_name!()) {
        let line = ["--allow-host", "a.test", "--", "curl", "-sSf", "--max-time", "20", "http://b.test/"];
        let ran = user.run(&[&["sandbox", "exec"], &line[..]].concat());
        assert_ne!(ran.code, Some(0));
        let denied: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("denied: ")).collect();
        assert!(
            matches!(denied.as_slice(), [one] if one.contains("connection to b.test:80") && one.ends_with("--allow-host b.test")),
            "{ran:?}"
        );
        let quiet = user.run(&[&["--quiet", "sandbox", "exec"], &line[..]].concat());
        assert!(!quiet.stderr.contains("denied: "), "{quiet:?}");
    }
}

#[test]
fn decisions_about_connections_are_logged() {
    for user in each_user(test_name!()) {
        let line = ["--allow-host", "a.test", "--log", "egress.jsonl", "--", "curl", "-s", "http://b.test/"];
        user.run(&[&["sandbox", "exec"], &line[..]].concat());
        let log = fs::read_to_string(user.path().join("egress.jsonl")).unwrap();
        let entries: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(entries.iter().any(|entry| entry["host"] == "b.test"), "{log}");
    }
}

#[test]
fn ctrl_c_goes_to_the_command() {
    for user in each_user(test_name!()) {
        let (mut child, _stdout) = started(&user, &[], "");
        send("-INT", &child);
        assert_eq!(child.wait().unwrap().code(), Some(130));

        let (mut child, mut stdout) = started(&user, &[], "trap 'echo caught; exit 3' INT");
        send("-INT", &child);
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).unwrap();
        assert_eq!((child.wait().unwrap().code(), rest.as_str()), (Some(3), "caught\n"));

        let (mut child, _stdout) = started(&user, &[], "");
        send("-TERM", &child);
        assert_eq!(child.wait().unwrap().code(), Some(143));
    }
}

#[test]
fn a_second_ctrl_c_kills_what_ignores_the_first() {
    for user in each_user(test_name!()) {
        let (mut child, mut stdout) = started(&user, &[], "trap 'echo no' INT");
        send("-INT", &child);
        let mut answer = String::new();
        stdout.read_line(&mut answer).unwrap();
        assert_eq!(answer, "no\n");
        send("-INT", &child);
        assert_eq!(child.wait().unwrap().code(), Some(130));
    }
}

#[test]
fn a_key_is_added_outside_and_never_seen_inside() {
    for user in each_user(test_name!()) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("model=http://{}/v1", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                request.extend(byte);
            }
            stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nanswer")
                .unwrap();
            String::from_utf8(request).unwrap()
        });
        let options = ["--endpoint", &endpoint, "--endpoint-key", "model=KEY"];
        let line = "env | grep -c hunter2; curl -sS --max-time 20 \"$FULLSEND_ENDPOINT_MODEL/ask\"";
        let ran = Ran::from(user.command(&shell(&options, line)).env("KEY", "hunter2").output().unwrap());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "0\nanswer"), "{ran:?}");
        let request = server.join().unwrap();
        assert!(request.starts_with("GET /v1/ask HTTP/1.1\r\n"), "{request}");
        assert!(request.to_lowercase().contains("\r\nauthorization: bearer hunter2\r\n"), "{request}");
    }
}

#[test]
fn what_a_killed_run_leaves_is_removed_by_the_next() {
    for user in each_user(test_name!()) {
        let sessions = user.home().join(".local/state/fullsend/sandbox/sessions");
        let left = || fs::read_dir(&sessions).unwrap().count();
        let (mut child, _stdout) = started(&user, &[], "");
        assert_eq!(left(), 1);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(left(), 1);
        assert_eq!(user.run(&shell(&[], "true")).code, Some(0));
        assert_eq!(left(), 0);
    }
}

#[test]
fn memory_and_processes_are_limited_where_they_can_be() {
    for user in each_user(test_name!()).into_iter().filter(User::is_root) {
        // A line without an end is kept in memory as a whole; it has an end so that a limit that does not hold fails
        // the test and not the machine.
        let bomb = "head -c 500000000 /dev/zero | tail > /dev/null";
        let ran = user.run(&shell(&["--memory", "64"], bomb));
        if ran.code == Some(125) {
            fullsend_testkit::declare_skip(test_name!(), &ran.stderr);
            return;
        }
        assert_eq!(ran.code, Some(137), "{ran:?}");
        assert!(ran.stderr.contains("limit: the memory was used up"), "{ran:?}");
        let bomb = "for i in $(seq 40); do sleep 20 & done; echo all";
        let ran = user.run(&shell(&["--processes", "16"], bomb));
        assert_ne!((ran.code, ran.stdout.as_str()), (Some(0), "all\n"), "{ran:?}");
    }
}

#[test]
fn what_is_granted_is_printed_on_request() {
    for user in each_user(test_name!()) {
        user.write("work/file", "");
        let ran = user.run(&shell(&["--explain", "--rw", "work:/w", "--allow-host", "a.test"], "echo out"));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "out\n"), "{ran:?}");
        let real = fs::canonicalize(user.path().join("work")).unwrap();
        for expected in [
            format!("/w, which is {} on the host\n", real.display()),
            "  reach  a.test on ports 80 and 443\n".to_owned(),
            "  use    2048 processes (default)\n         4096 MiB in one file (default)\n".to_owned(),
            "         time, processors and memory without a limit (default)\n".to_owned(),
            "Enforced by the local sandbox\n".to_owned(),
        ] {
            assert!(ran.stderr.contains(&expected), "{expected}\n{ran:?}");
        }
    }
}

#[test]
fn refused_paths_are_named_when_an_explanation_is_asked_for() {
    for user in each_user(test_name!()) {
        user.write("secret/file", "content");
        user.write("kept/file", "content");
        let here = fs::canonicalize(user.path()).unwrap().display().to_string();
        let line = format!("cat {here}/secret/file; echo x > {here}/kept/new; exit 3");
        let denied = |ran: &Ran| -> Vec<String> {
            let lines = ran.stderr.lines().filter(|line| line.starts_with("denied: "));
            let mut denied: Vec<String> = lines.map(|line| line.replace(&here, "HERE")).collect();
            denied.sort();
            denied
        };
        let ran = user.run(&shell(&["--explain", "--ro", "kept"], &line));
        assert_eq!(ran.code, Some(3), "{ran:?}");
        let expected = [
            "denied: read access to HERE/secret/file: `HERE/secret/file` is not part of this sandbox; to allow it: read: [\"HERE/secret/file\"] (--ro HERE/secret/file)",
            "denied: write access to HERE/kept/new: `HERE/kept/new` is in a mount that is read-only; to allow it: --rw HERE/kept:HERE/kept",
        ];
        assert_eq!(denied(&ran), expected);
        // What is named is what helps.
        let secret = format!("{here}/secret/file");
        let kept = format!("{here}/kept:{here}/kept");
        let allowed = user.run(&shell(&["--explain", "--ro", &secret, "--rw", &kept], &line));
        assert_eq!((allowed.stdout.as_str(), denied(&allowed)), ("content", Vec::new()), "{allowed:?}");
        assert!(user.path().join("kept/new").exists());
        let unasked = user.run(&shell(&["--ro", "kept"], &line));
        assert_eq!(denied(&unasked), Vec::<String>::new(), "watching is not free");
        let fine = user.run(&shell(&["--explain"], &format!("cat {here}/secret/file; true")));
        assert_eq!((fine.code, denied(&fine)), (Some(0), Vec::new()), "it did not fail");
    }
}

#[test]
fn as_json_everything_is_an_event() {
    for user in each_user(test_name!()) {
        let ran = user.run(&shell(
            &["--format", "json", "--explain"],
            r"printf 'a\377'; sleep 0.2; echo e >&2; exit 5",
        ));
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(5), ""), "{ran:?}");
        let events: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let names: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
        assert_eq!(names, ["granted", "stdout", "stderr", "exited"]);
        assert_eq!(events[0]["policy"]["reach"], json!({ "mode": "nothing" }));
        assert_eq!(events[1]["data"], json!({ "base64": "Yf8=" }));
        assert_eq!(events[2]["data"], "e\n");
        assert_eq!((&events[3]["exit_code"], &events[3]["timed_out"]), (&json!(5), &json!(false)));
    }
}

#[test]
fn mistakes_are_told_before_anything_runs() {
    for user in each_user(test_name!()) {
        user.write("file", "");
        for (options, expected) in [
            (&["--rw", "nowhere"][..], "`nowhere` cannot be granted"),
            (&["--rw", "file:/proc/x"], "belongs to the sandbox itself"),
            (&["--ro", "file:/a", "--ro", "file:/a"], "/a"),
            (&["--allow-host", "a.*"], "`*` may only stand in front"),
            (&["--allow-host", "*"], "--allow-network"),
            (&["--allow-network", "--deny-host", "a.test"], "cannot be used with"),
            (&["--endpoint-key", "m=KEY"], "add `--endpoint m=URL`"),
            (&["--timeout", "never"], "not a number of seconds"),
            (&["--memory", "0"], "0 is not in"),
            (&["--env", "NAME"], "there must be a name"),
            (&["--format", "json", "--tty"], "cannot be used with"),
            (&["--backend", "magic"], "local"),
            (&["--unknown"], "--unknown"),
        ] {
            let ran = user.run(&shell(options, "echo ran"));
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{options:?}: {ran:?}");
            assert!(ran.stderr.contains(expected), "{options:?}: {ran:?}");
        }
        let nothing = user.run(&["sandbox", "exec", "--"]);
        assert_eq!(nothing.code, Some(2), "{nothing:?}");
    }
}

#[test]
fn output_that_cannot_be_written_is_named() {
    let place = Place::new();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = place.command(&["sandbox", "exec", "--", "echo", "x"]).stdout(full).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        (output.status.code(), told.as_str()),
        (Some(125), "error: cannot write the command's output: No space left on device (os error 28)\n")
    );
}
