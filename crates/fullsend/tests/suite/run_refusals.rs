//! `fullsend run`: what is refused and how it is said, and what programs can read of a run.

use std::fs;

use fullsend_testkit::test_name;
use serde_json::{Value, json};

use crate::suite::run_place::{AGENT, Bench, bash, run_command, surround};
use crate::suite::running::{Place, Ran};

/// A place in which nothing gets as far as a sandbox.
fn place() -> Place {
    let place = Place::new();
    place.write(".fullsend/harness/code.yaml", "agent: agents/a.md\nrole: coder\n");
    place.write(".fullsend/agents/a.md", AGENT);
    place.write("model.yaml", "turns: [{say: done}]\n");
    place.write("repo/README.md", "x\n");
    place
}

fn run(place: &Place, arguments: &[&str]) -> Ran {
    let usual = ["run", "--runtime", "replay", "--replay", "model.yaml", "--output-dir", "out"];
    let mut command = place.command(&[&usual, arguments].concat());
    surround(&mut command, place.path());
    Ran::from(command.output().unwrap())
}

#[test]
fn who_asks_for_something_else_is_told_what_there_is() {
    let place = place();
    place.write("file", "x");
    for (arguments, code, said) in [
        (&["coed", "--target-repo", "repo"][..], 2, "`code`"),
        (&["code", "--target-repo", "gone"], 2, "the target repository `gone` cannot be used"),
        (&["code", "--target-repo", "file"], 2, "is not a directory"),
        (&["code", "--target-repo", "repo", "--runtime", "cluade"], 2, "claude"),
        (&["code", "--target-repo", "repo", "--replay", "gone.yaml"], 2, "gone.yaml"),
        (&["code", "--target-repo", "repo", "--forge", "githb"], 2, "github"),
        (&["code", "--target-repo", "repo", "--env-file", "gone.env"], 2, "gone.env"),
        (&["code", "--target-repo", "repo", "--fullsend-dir", "gone"], 2, "gone"),
        (&["code", "--target-repo", "repo", "--fullsend-binary", "gone"], 2, "gone"),
        (&["code", "--target-repo", "repo", "--format", "xml"], 2, "xml"),
        (&["code", "--target-repo", "repo", "--nonsense"], 2, "--nonsense"),
        (&["code", "more", "--target-repo", "repo"], 2, "more"),
        (&[], 2, "<AGENT>"),
    ] {
        // Of an option that is given twice, the first one here is left out.
        let ran = match arguments.iter().find(|word| ["--runtime", "--replay"].contains(word)) {
            Some(_) => {
                let mut command = place.command(&[&["run", "--output-dir", "out"], arguments].concat());
                surround(&mut command, place.path());
                if arguments.contains(&"--replay") {
                    command.args(["--runtime", "replay"]);
                }
                Ran::from(command.output().unwrap())
            }
            None => run(&place, arguments),
        };
        assert_eq!(ran.code, Some(code), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{arguments:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    }
}

#[test]
fn names_that_mean_something_to_a_shell_are_refused() {
    let place = place();
    for name in [
        "with space",
        "quo'te",
        "dou\"ble",
        "$(touch pwned)",
        "semi;colon",
        "-dash",
        "new\nline",
        "output",
        ".hidden",
    ] {
        fs::create_dir(place.path().join(name)).unwrap();
        let target = format!("./{name}");
        let ran = run(&place, &["code", "--fullsend-dir", ".fullsend", "--target-repo", &target]);
        assert_eq!(ran.code, Some(2), "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains("rename it to letters, digits"), "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains(&name.escape_debug().to_string()), "{name}: {}", ran.stderr);
    }
    assert!(!place.path().join("pwned").exists());
}

#[test]
fn agents_that_may_not_run_do_not() {
    let place = place();
    let usual = ["code", "--target-repo", "repo"];
    let disabled = "agents:\n  - {name: code, source: harness/code.yaml, enabled: false}\n";
    for (config, code, said) in [
        ("version: \"1\"\nkill_switch: true\n".to_owned(), 3, "`kill_switch` is on"),
        ("kill_switch: true\n".to_owned(), 3, "`kill_switch` is on"),
        (format!("version: \"1\"\n{disabled}"), 2, "the agent `code` is disabled"),
    ] {
        place.write(".fullsend/config.yaml", &config);
        let ran = run(&place, &usual);
        assert_eq!(ran.code, Some(code), "{config}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{config}: {}", ran.stderr);
        assert!(!ran.stdout.contains("state      success"), "{}", ran.stdout);
    }
    // What is wrong with a harness is said before anything is done, with its place.
    place.write(".fullsend/config.yaml", "version: \"1\"\n");
    place.write(".fullsend/harness/code.yaml", "agent: agents/a.md\nrole: coder\npre_scirpt: x\n");
    let ran = run(&place, &usual);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("code.yaml:3:1") && ran.stderr.contains("pre_script"), "{}", ran.stderr);
}

#[test]
fn every_line_for_programs_is_json_and_the_last_is_the_report() {
    let Some(bench) = Bench::new(test_name!()) else { return };
    bench.script("pre.sh", "printf 'a\\033[31m\\r\"quoted\"\\n\\377\\n'; echo err >&2");
    bench.script("no.sh", "exit 1");
    bench.says(&json!([{"say": "two\nlines\u{1b}[2J", "calls": [bash("echo hi")]}, {"say": "done"}]));
    for (lines, code, state) in [
        ("pre_script: scripts/pre.sh\n", 0, "success"),
        ("pre_script: scripts/no.sh\n", 1, "failure"),
        ("agent_input: gone\n", 2, ""),
        ("skills: [skills/gone]\n", 2, ""),
    ] {
        bench.harness(lines);
        // Every line is read as JSON on the way.
        let told = bench.run(&[]);
        assert_eq!(told.ran.code, Some(code), "{lines}: {}", told.ran.stderr);
        let last = told.lines.last().unwrap();
        assert_eq!(last["exit_code"], code, "{lines}");
        assert!(last.get("report").is_some() && last.get("run_dir").is_some(), "{last}");
        if !state.is_empty() {
            assert_eq!(told.report()["state"], state);
            let kept: Value = serde_json::from_str(&told.read("report.json")).unwrap();
            assert_eq!(&kept, told.report(), "what is printed is what is kept");
        }
        let (events, _) = told.lines.split_at(told.lines.len() - 1);
        assert!(events.iter().all(|line| line["event"]["type"].is_string()), "{lines}");
    }
    let told = run_command(
        &bench.place,
        &[
            "run",
            "gone",
            "--format",
            "json",
            "--target-repo",
            "repo",
            "--runtime",
            "replay",
            "--replay",
            "model.yaml",
        ],
        &[],
    );
    assert_eq!((told.ran.code, &told.lines.last().unwrap()["exit_code"]), (Some(2), &json!(2)));
}

#[test]
fn runs_are_found_again_where_they_are_kept() {
    let Some(bench) = Bench::new(test_name!()) else { return };
    bench.does("echo hi");
    let command = |arguments: &[&str]| {
        let mut command = bench.place.command(arguments);
        surround(&mut command, bench.place.path());
        Ran::from(command.output().unwrap())
    };
    // Nobody says where: both commands mean the same place.
    let ran =
        command(&["run", "code", "--target-repo", "repo", "--runtime", "replay", "--replay", "model.yaml"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let name = ran.stdout.lines().find_map(|line| line.strip_prefix("run ")).unwrap().trim().to_owned();
    assert!(!ran.stdout.contains("validated"), "nothing checked it: {}", ran.stdout);
    let listed = command(&["runs", "ls"]);
    assert!(listed.stdout.contains(&name) && listed.stdout.contains("success"), "{listed:?}");
    let shown = command(&["runs", "show", &name]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    for part in ["bash", "echo hi", "provision", "agent", "post_script"] {
        assert!(shown.stdout.contains(part), "{part}: {}", shown.stdout);
    }
    let shown: Value =
        serde_json::from_str(&command(&["runs", "show", &name, "--format", "json"]).stdout).unwrap();
    assert_eq!(shown["summary"]["state"], "success");
}
