//! `bash` in a real sandbox, with commands that mean well and commands that do not.

use std::sync::Arc;
use std::time::Duration;

use fullsend_agent::execution::{Execution, SessionPlan, Whereabouts as _};
use fullsend_agent::tools::{Bash, BashLimits};
use serde_json::json;

use crate::support::directories::Directories;
use crate::support::room::{Room, expect_gone, in_rooms, open_files, status};

in_rooms![
    a_result_says_what_came_of_the_command,
    the_directory_carries_over,
    a_directory_is_taken_as_it_is_left,
    nothing_of_the_wrapper_is_seen,
    what_cannot_be_started_is_a_result,
    the_time_limit_is_a_result_with_the_output_so_far,
    children_do_not_outlive_the_call,
    long_output_is_cut_in_the_middle_and_kept_whole,
    bytes_that_are_no_text_are_counted_and_kept,
    the_records_of_the_run_are_out_of_reach,
    loopback_is_open_and_the_rest_is_refused_by_name,
    a_fork_bomb_ends,
    a_missing_program_is_called_that,
    a_flood_needs_no_memory = alone,
    many_calls_leave_nothing_behind = alone,
];

async fn a_result_says_what_came_of_the_command(room: &Room) {
    let output = room.call(&room.bash, json!({ "command": "echo out; echo err >&2; exit 3" })).await;
    let expected = json!({
        "outputId": "run-1:bash:1", "stdout": "out\n", "stderr": "err\n", "exitCode": 3, "cwd": "/workspace",
    });
    assert_eq!(output.record, expected);
    assert_eq!((output.failure, output.model_view), (None, None));
    assert_eq!(output.label, *room.sources.usual());
    assert_eq!(output.shown.line, "echo out; echo err >&2; exit 3 (exit 3)");
    let record = room.sh("kill -9 $$").await;
    assert_eq!((&record["exitCode"], &record["signal"]), (&json!(137), &json!(9)), "{record}");
    assert_eq!(room.out("cat; echo \"$#:$0\"").await, "0:bash", "no input, no arguments");
    assert_eq!(room.out("touch made && echo made").await, "made");
    assert!(room.workspace.join("made").exists());
}

async fn the_directory_carries_over(room: &Room) {
    std::fs::create_dir_all(room.workspace.join("repo/sub")).unwrap();
    let record =
        room.call(&room.bash, json!({ "command": "pwd", "cwd": "repo", "timeoutMs": 10_000 })).await.record;
    assert_eq!((&record["stdout"], &record["cwd"]), (&json!("/workspace/repo\n"), &json!("/workspace/repo")));
    assert_eq!(room.place.current(), "/workspace/repo");
    let record = room.sh("cd sub && false").await;
    assert_eq!((&record["exitCode"], &record["cwd"]), (&json!(1), &json!("/workspace/repo/sub")));
    assert_eq!(room.out("pwd").await, "/workspace/repo/sub");
    assert_eq!(room.sh("cd /tmp").await["cwd"], "/tmp");
    let record = room.sh("cd /etc; pwd").await;
    assert_eq!((&record["stdout"], &record["cwd"]), (&json!("/etc\n"), &json!("/tmp")), "not adopted");
    let record = room.call(&room.bash, json!({ "command": "touch /tmp/ran", "cwd": "/etc" })).await.record;
    let refused = ("cwd is outside the sandbox: /etc", 1, "/tmp");
    assert_eq!(
        (&record["stderr"], &record["exitCode"], &record["cwd"]),
        (&json!(refused.0), &json!(1), &json!("/tmp"))
    );
    assert_eq!(room.out("test ! -e /tmp/ran && echo not run").await, "not run");
}

async fn a_directory_is_taken_as_it_is_left(room: &Room) {
    let odd = room.workspace.join("a b\n'\"$x");
    for directory in [&odd, &room.workspace.join("plain")] {
        std::fs::create_dir_all(directory).unwrap();
    }
    std::os::unix::fs::symlink("/etc", room.workspace.join("out")).unwrap();
    for (command, expected) in [
        ("cd *x", "/workspace/a b\n'\"$x"),
        ("cd /workspace; exit 7", "/workspace"),
        ("cd plain; set -eu; false; cd ..", "/workspace/plain"),
        ("set -o noclobber; umask 077; pwd() { echo /workspace; }; trap() { :; }; cd /tmp", "/tmp"),
        ("cd /workspace; PWD=/tmp", "/workspace"),
        ("cd plain; trap 'echo mine' EXIT", "/workspace"),
        ("cd plain; exec true", "/workspace"),
        ("(cd plain)", "/workspace"),
        ("cd out", "/workspace"),
        ("cd plain; exec 2>&- >&-", "/workspace/plain"),
        ("mkdir gone; cd gone; rmdir ../gone", "/workspace/plain"),
        ("cd /workspace; if then", "/workspace/plain"),
        ("cd /workspace; kill -9 $$", "/workspace/plain"),
        (
            "for i in /mnt/session/shell/*; do :; done; mkfifo \"$__fullsend_word\"; trap - EXIT",
            "/workspace/plain",
        ),
        ("ln -s /etc/hostname \"$__fullsend_word\"; trap - EXIT", "/workspace/plain"),
    ] {
        let record = room.sh(command).await;
        assert_eq!(record["cwd"], expected, "{command}: {record}");
    }
    assert_eq!(room.out("ls -A /mnt/session/shell | wc -l").await, "0", "what was left was taken away");
}

async fn nothing_of_the_wrapper_is_seen(room: &Room) {
    for command in [
        "set -x; cd /tmp; true",
        "cd /tmp; env; set -x",
        "nosuch; cd /tmp",
        "cd /tmp; if then",
        "cd /tmp; exit 3",
    ] {
        let record = room.sh(command).await.to_string();
        assert!(!record.contains("__fullsend") && !record.contains("session/shell"), "{record}");
    }
    let record = room.sh("cd /tmp\n\nnosuch").await;
    assert_eq!(record["stderr"], "bash: line 3: nosuch: command not found\n", "lines are the command's own");
}

async fn what_cannot_be_started_is_a_result(room: &Room) {
    for (input, exit_code, said) in [
        (json!({ "command": "true", "cwd": "missing" }), 1, "cannot be entered"),
        (json!({ "command": "echo a\0b" }), 1, "NUL"),
        (json!({ "command": format!("true {}", "x".repeat(3 << 20)) }), 126, "/bin/bash"),
    ] {
        let output = room.call(&room.bash, input).await;
        assert_eq!(output.record["exitCode"], exit_code, "{:?}", output.shown);
        assert!(output.record["stderr"].as_str().unwrap().contains(said), "{:?}", output.record);
        assert!(output.failure.is_some());
    }
    assert_eq!(room.out("echo next").await, "next");
}

async fn the_time_limit_is_a_result_with_the_output_so_far(room: &Room) {
    let input = json!({ "command": "cd /tmp; echo before; sleep 3600.125", "timeoutMs": 300 });
    let output = room.call(&room.bash, input).await;
    let record = output.record;
    let told = (&record["stdout"], &record["stderr"], &record["exitCode"], &record["timedOut"]);
    let expected = (&json!("before\n"), &json!("command timed out after 300ms"), &json!(124), &json!(true));
    assert_eq!(told, expected);
    assert_eq!(output.failure.unwrap().kind, "timeout");
    assert_eq!(record["cwd"], "/workspace");
    expect_gone("3600.125").await;
    let limits = BashLimits { max_timeout: Duration::from_millis(200), ..BashLimits::default() };
    let place = Arc::clone(&room.place);
    let sources = Arc::clone(&room.sources);
    let strict = Bash::new(room.execution.clone(), place, Arc::clone(&room.spill) as _, limits, sources);
    let record = room.call(&strict, json!({ "command": "sleep 60", "timeoutMs": 60_000 })).await.record;
    assert_eq!(record["stderr"], "command timed out after 200ms");
}

async fn children_do_not_outlive_the_call(room: &Room) {
    // Each of them holds the pipes open.
    let record = room.sh("sleep 3600.25 & setsid sleep 3600.25 & (nohup sleep 3600.25 &) ; echo done").await;
    assert_eq!(record["stdout"], "done\n", "{record}");
    expect_gone("3600.25").await;
}

async fn long_output_is_cut_in_the_middle_and_kept_whole(room: &Room) {
    for (character, count) in [("a", 80_000_u64), ("b", 80_001), ("界", 100_000), ("𝄞", 400_000)] {
        let command = format!(
            "c={character}; for i in 1 2 3 4; do c=$c$c$c$c$c$c$c$c$c$c; done; \
            for i in $(seq {}); do printf %s $c; done; for i in $(seq {}); do printf %s {character}; done",
            count / 10_000,
            count % 10_000
        );
        let record = room.sh(&command).await;
        let text = record["stdout"].as_str().unwrap();
        if count <= 80_000 {
            assert_eq!((text.chars().count() as u64, record.get("stdoutTruncated")), (count, None));
            continue;
        }
        let (head, rest) = text.split_once("\n[").unwrap();
        let (notice, tail) = rest.split_once("]\n").unwrap();
        assert_eq!((head, tail), (character.repeat(60_000).as_str(), character.repeat(20_000).as_str()));
        let id = record["outputId"].as_str().unwrap();
        let expected = format!(
            "{} characters of stdout are left out here; the artifact of {id} has all of it",
            count - 80_000
        );
        assert_eq!(notice, expected);
        assert_eq!(
            (&record["stdoutTruncated"], &record["stdoutOriginalLength"]),
            (&json!(true), &json!(count))
        );
        let kept =
            std::fs::read_to_string(room.artifacts.join(record["stdoutArtifact"].as_str().unwrap())).unwrap();
        assert!(kept == character.repeat(usize::try_from(count).unwrap()), "{character}");
    }
}

async fn bytes_that_are_no_text_are_counted_and_kept(room: &Room) {
    let record = room.sh("printf 'a\\000b\\377\\303'; printf ok >&2").await;
    assert_eq!((&record["stdout"], &record["stderr"]), (&json!("a\u{2400}b\u{fffd}\u{fffd}"), &json!("ok")));
    assert_eq!(
        (&record["stdoutReplacedCharacters"], record.get("stderrReplacedCharacters")),
        (&json!(3), None)
    );
    let kept = std::fs::read(room.artifacts.join(record["stdoutArtifact"].as_str().unwrap())).unwrap();
    assert_eq!(kept, b"a\0b\xff\xc3");
    let record = room.sh("head -c 2000000 /dev/zero | tr '\\000' '\\200'").await;
    assert!(record["stdout"].as_str().unwrap().chars().count() < 81_000);
    assert_eq!(record["stdoutTruncated"], true);
}

async fn a_flood_needs_no_memory(room: &Room) {
    room.sh("true").await;
    let before = status("VmHWM:");
    let record = room.sh("head -c 1073741824 /dev/zero | tr '\\000' x; echo; echo end").await;
    assert_eq!(record["exitCode"], 0);
    let total = (1_u64 << 30) + 5;
    let told = (&record["stdoutOriginalLength"], &record["stdoutDroppedBytes"]);
    assert_eq!(told, (&json!(total), &json!(total - (16 << 20))));
    assert!(record["stdout"].as_str().unwrap().ends_with("x\nend\n"));
    let kept = std::fs::metadata(room.artifacts.join(record["stdoutArtifact"].as_str().unwrap())).unwrap();
    assert_eq!(kept.len(), 16 << 20);
    assert!(status("VmHWM:") < before + (24 << 10), "{} KiB more", status("VmHWM:") - before);
}

async fn the_records_of_the_run_are_out_of_reach(room: &Room) {
    let secret = room.artifacts.join("transcript.jsonl");
    std::fs::write(&secret, "secret").unwrap();
    let host = room.artifacts.display();
    std::os::unix::fs::symlink(&room.artifacts, room.workspace.join("absolute")).unwrap();
    std::os::unix::fs::symlink(".fullsend/runs/one", room.workspace.join("relative")).unwrap();
    for way in [
        ".fullsend/runs/one",
        "relative",
        "absolute",
        "/proc/self/cwd/.fullsend/runs/one",
        "/proc/self/root/workspace/relative",
        &format!("{host}"),
        &format!("/proc/1/root{host}"),
    ] {
        for command in [
            format!("cat {way}/transcript.jsonl"),
            format!("echo forged > {way}/transcript.jsonl"),
            format!("touch {way}/new"),
        ] {
            let record = room.sh(&command).await;
            assert_ne!(record["exitCode"], 0, "{command}: {record}");
            assert!(!record.to_string().contains("secret"), "{record}");
        }
    }
    // Whoever can move what lies above decides where the next record is written.
    for command in [
        "mv .fullsend moved",
        "mv .fullsend/runs .fullsend/moved",
        "mv .fullsend/runs/one moved",
        "rm -rf .fullsend",
    ] {
        assert_ne!(room.sh(command).await["exitCode"], 0, "{command}");
    }
    assert_eq!(
        room.out("ls -A .fullsend/runs/one; umount .fullsend/runs/one 2>/dev/null || echo kept").await,
        "kept"
    );
    assert_eq!(std::fs::read_to_string(secret).unwrap(), "secret");
    let names = std::fs::read_dir(&room.artifacts).unwrap().count();
    assert_eq!(names, 1, "and nothing new");
}

async fn loopback_is_open_and_the_rest_is_refused_by_name(room: &Room) {
    if room.sh("command -v python3 && command -v curl").await["exitCode"] != 0 {
        return fullsend_testkit::declare_skip("loopback_is_open", "no python3 or no curl in the sandbox");
    }
    let serve = "echo inside > page; python3 -m http.server 8000 --bind 127.0.0.1 >/dev/null 2>&1 & \
        for i in $(seq 100); do curl -fsS --url http://127.0.0.1:8000/page 2>/dev/null && break; sleep 0.1; done; \
        curl -fsS localhost:8000/page";
    assert_eq!(room.out(serve).await, "inside\ninside");
    for (command, host) in [
        ("curl -fsS --max-time 20 https://example.com", "example.com:443"),
        ("a=cu; b=rl; $a$b -fsS --max-time 20 http://127.0.0.1.evil.example/", "127.0.0.1.evil.example:80"),
        ("curl --noproxy '*' -fsS --max-time 20 http://93.184.216.34/", ""),
    ] {
        let record = room.sh(command).await;
        assert_ne!(record["exitCode"], 0, "{command}: {record}");
        let denied = record["denied"].to_string();
        assert!(host.is_empty() || denied.contains(&format!("network: {host}: ")), "{command}: {record}");
    }
}

async fn a_fork_bomb_ends(room: &Room) {
    let plan = SessionPlan {
        limits: fullsend_sandbox::ResourceLimits { processes: Some(64), ..room.plan.limits.clone() },
        ..room.plan.clone()
    };
    let execution = Execution::start(Arc::clone(&room.backend), plan.clone()).await.unwrap();
    let place = Arc::new(Directories::new(&plan));
    let (spill, sources) = (Arc::clone(&room.spill), Arc::clone(&room.sources));
    let bash = Bash::new(execution.clone(), place, spill as _, BashLimits::default(), sources);
    let bomb = json!({ "command": "f() { f | f & }; f; while :; do :; done", "timeoutMs": 2000 });
    let record = room.call(&bash, bomb).await.record;
    assert_eq!((&record["exitCode"], &record["timedOut"]), (&json!(124), &json!(true)));
    let record = room.call(&bash, json!({ "command": "echo next" })).await.record;
    assert_eq!(record["stdout"], "next\n", "{record}");
    execution.end().await.unwrap();
}

async fn a_missing_program_is_called_that(room: &Room) {
    let output = room.call(&room.bash, json!({ "command": "no-such-program --help" })).await;
    assert_eq!(output.record["exitCode"], 127);
    let failure = output.failure.unwrap();
    assert_eq!((failure.kind.as_str(), failure.exit_code), ("missing_binary", Some(127)));
    let said_by_the_model = room.call(&room.bash, json!({ "command": "exit 127" })).await;
    assert_eq!(said_by_the_model.failure, None);
}

async fn many_calls_leave_nothing_behind(room: &Room) {
    for _ in 0..100 {
        room.sh("cd /tmp; echo x").await;
    }
    let (files, memory) = (open_files(), status("VmRSS:"));
    for _ in 0..1000 {
        room.sh("cd /tmp; echo x").await;
    }
    assert!(open_files() <= files, "{} open files, {files} before", open_files());
    assert!(status("VmRSS:") < memory + (4 << 10), "{} KiB, {memory} before", status("VmRSS:"));
}
