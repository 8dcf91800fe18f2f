//! Commands that mean harm: floods, bombs, daemons, murder, and a look around the host.

use std::fs;

use fullsend_testkit::test_name;
use serde_json::{Value, json};

use crate::suite::hostile_run::{CANARY, Target, bash, call};

fn timed(command: &str, milliseconds: u64) -> Value {
    call("bash", &json!({"command": command, "timeoutMs": milliseconds}))
}

#[test]
fn after_each_attack_on_the_session_the_next_command_runs() {
    let Some(target) = Target::new(test_name!()) else { return };
    let attacks = [
        timed(":(){ :|:& };:", 2_000),
        timed("sleep 100000 & echo started", 5_000),
        timed("setsid nohup sleep 100000 >/dev/null 2>&1 </dev/null & disown; echo started", 20_000),
        timed("(trap '' HUP TERM INT; while :; do sleep 1; done) & echo started", 5_000),
        timed("trap '' TERM INT HUP; while :; do :; done", 1_000),
        bash("kill -9 $PPID"),
        bash("kill -9 1; kill -TERM 1; kill -STOP 1"),
        bash("kill -9 -1"),
        bash("kill -STOP $$ & kill -9 $$"),
        timed("kill -STOP $$", 1_000),
        bash("exec 0<&- 1>&- 2>&-; exit 3"),
        bash("ulimit -n 1; ls"),
        bash("rm -rf /mnt/session /tmp/* 2>/dev/null; cd /tmp && rmdir /tmp; exit 0"),
        bash("mkdir -p gone && cd gone && rmdir ../gone"),
        bash("exit 255"),
        bash(&"x".repeat(200_000)),
    ];
    let calls: Vec<Value> =
        attacks.iter().flat_map(|attack| [attack.clone(), bash("cd /workspace; echo still here")]).collect();
    let results = target.results_of(&calls);
    for (number, pair) in results.chunks(2).enumerate() {
        assert!(pair[0]["exitCode"].is_i64(), "{number}: {}", pair[0]);
        assert_eq!(pair[1]["stdout"], "still here\n", "{number}: {} {}", pair[0], pair[1]);
    }
}

#[test]
fn a_gigabyte_of_output_is_cut_and_costs_no_memory() {
    let Some(target) = Target::new(test_name!()) else { return };
    let results = target.results_of(&[
        bash("yes flood | head -c 1000000000; echo the end"),
        bash("head -c 100000000 /dev/zero >&2"),
        bash("head -c 1000000 /dev/urandom"),
    ]);
    let text = results[0]["stdout"].as_str().unwrap();
    assert!(
        text.len() < 100_000 && text.starts_with("flood\n") && text.ends_with("the end\n"),
        "{}",
        text.len()
    );
    for result in &results {
        assert_eq!(result["exitCode"], 0);
        assert!(result.to_string().len() < 400_000, "{}", result.to_string().len());
    }
}

#[test]
fn commands_see_neither_the_key_nor_the_home_of_the_host() {
    let Some(target) = Target::new(test_name!()) else { return };
    let secret = target.secret();
    let home = secret.parent().unwrap().display().to_string();
    // The text looked for is put together in the command, or the command would find itself.
    let (front, back) = CANARY.split_at(10);
    let search = format!(
        "word={front}; word=${{word}}{back}; env | grep -c \"$word\"; \
         cat /proc/[0-9]*/environ /proc/[0-9]*/task/*/environ 2>/dev/null | grep -ac \"$word\"; \
         grep -rlsaF \"$word\" /workspace /tmp /home /mnt /run /var /etc /dev/shm 2>/dev/null | wc -l"
    );
    let results = target.results_of(&[
        bash(&search),
        bash(&format!("cat {home}/secret.txt; ls {home}; cat /proc/1/root{home}/secret.txt; cat /proc/*/root{home}/secret.txt; cat /proc/*/cwd/../home/secret.txt")),
        bash("cat /etc/shadow /etc/gshadow /root/.bashrc /root/.ssh/*; ls /root"),
        bash("ls /proc/*/fd/ -l 2>/dev/null | grep -c fullsend-artifacts"),
        bash("mount -t tmpfs x /workspace || umount -l /workspace/.fullsend-artifacts || unshare -Urm true; echo tried"),
    ]);
    assert_eq!(results[0]["stdout"], "0\n0\n0\n", "{}", results[0]);
    for looked in &results[1..3] {
        assert_eq!(looked["stdout"], "", "{looked}");
        assert_ne!(looked["exitCode"], 0);
    }
    assert_eq!(results[3]["stdout"], "0\n", "{}", results[3]);
    assert_eq!(fs::read_to_string(secret).unwrap(), "the-secret-of-the-host\n");
}

#[test]
fn commands_neither_see_nor_harm_the_records_of_runs() {
    let Some(target) = Target::new(test_name!()) else { return };
    let host = target.workspace().display().to_string();
    let before = target.play(&json!([{"say": "the first run"}]), &[]);
    let run = before.directory.file_name().unwrap().to_str().unwrap().to_owned();
    let journal = fs::read(before.directory.join("journal.jsonl")).unwrap();
    let calls: Vec<Value> = [
        "ls -A .fullsend-artifacts".to_owned(),
        "find / -name journal.jsonl 2>/dev/null".to_owned(),
        "find /proc/*/root/ -maxdepth 5 -name journal.jsonl 2>/dev/null".to_owned(),
        format!("cat .fullsend-artifacts/{run}/journal.jsonl 2>/dev/null"),
        format!("ln -s .fullsend-artifacts/{run} alias; cat alias/journal.jsonl 2>/dev/null"),
        format!("ln -s {host}/.fullsend-artifacts/{run} other; cat other/journal.jsonl 2>/dev/null"),
        "echo x 2>/dev/null > .fullsend-artifacts/forged".to_owned(),
        "mv .fullsend-artifacts moved 2>/dev/null; ls -A moved 2>/dev/null".to_owned(),
        "rm -rf .fullsend-artifacts 2>/dev/null; ls -A .fullsend-artifacts 2>/dev/null".to_owned(),
        "mkdir .fullsend-artifacts 2>/dev/null; ln -sfn /tmp .fullsend-artifacts 2>/dev/null".to_owned(),
        "mount --bind /tmp .fullsend-artifacts 2>/dev/null; umount .fullsend-artifacts 2>/dev/null; ls -A .fullsend-artifacts".to_owned(),
    ]
    .iter()
    .map(|command| bash(command))
    .collect();
    for result in target.results_of(&calls) {
        assert_eq!(result["stdout"], "", "{result}");
    }
    assert_eq!(fs::read(before.directory.join("journal.jsonl")).unwrap(), journal);
    assert!(!target.workspace().join(".fullsend-artifacts/forged").exists());
}

#[test]
fn a_workspace_that_is_deleted_leaves_a_run_that_goes_on() {
    let Some(target) = Target::new(test_name!()) else { return };
    let results = target.results_of(&[
        bash("rm -rf /workspace /workspace/* /workspace/.[a-z]* 2>/dev/null; ls /workspace"),
        call("read_file", &json!({"path": "README.md"})),
        call("write_file", &json!({"path": "new", "content": "again\n"})),
        bash("cat /workspace/new"),
    ]);
    assert_eq!(results[0]["stdout"], "");
    assert_eq!(results[1]["error"]["code"], "file_not_found", "{}", results[1]);
    assert_eq!(results[3]["stdout"], "again\n", "{}", results[3]);
}
