//! `fullsend run` in containers of whatever engine the environment names: the same promises as without them.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;

use fullsend_testkit::{declare_skip, test_name};
use serde_json::json;

use crate::suite::docker_engine::{self, EmptyImage, IMAGE};
use crate::suite::examples::{DENIALS, Examples, json, nothing_leaks};
use crate::suite::run_cancel::{Scene, interrupt_all, the_next_tidies_up_after};
use crate::suite::run_place::{AGENT, bash, harness, says, surround};
use crate::suite::running::{Place, Ran};

/// How many instants are tried.
const INSTANTS: u32 = 12;
const IN_CONTAINER: [&str; 2] = ["--sandbox-image", IMAGE];

/// A fullsend directory with the agent `code`, and a repository; no sandbox of this machine is needed.
fn place(turns: &serde_json::Value) -> Place {
    let place = Place::new();
    place.write(".fullsend/agents/a.md", AGENT);
    place.write("repo/README.md", "A repository.\n");
    harness(&place, "");
    says(&place, turns);
    place
}

fn command(place: &Place, options: &[&str]) -> Command {
    let usual =
        ["run", "code", "--fullsend-dir", ".fullsend", "--target-repo", "repo", "--output-dir", "out"];
    let model = ["--runtime", "replay", "--replay", "model.yaml"];
    let mut command = place.command(&[&usual[..], &model, options].concat());
    surround(&mut command, place.path());
    docker_engine::announce(&mut command);
    command
}

fn run(place: &Place, options: &[&str]) -> Ran {
    Ran::from(command(place, options).output().unwrap())
}

/// What is left of runs: containers, sessions, mounts and stages.
fn nothing_is_left(place: &Path) {
    let state = place.join("state");
    // A run that was refused before it asked the engine has left nothing there.
    if state.join("fullsend/docker").is_dir() {
        assert_eq!(docker_engine::containers(&state), "");
    }
    for directory in ["docker/sessions", "docker/shown", "stages"] {
        let entries = fs::read_dir(state.join("fullsend").join(directory)).into_iter().flatten().flatten();
        assert_eq!(entries.map(|entry| entry.path()).collect::<Vec<_>>(), Vec::<std::path::PathBuf>::new());
    }
    let name = place.file_name().unwrap().to_str().unwrap();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert_eq!(mounts.lines().filter(|line| line.contains(name)).collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn hello_fixes_the_bug_in_a_container() {
    if !docker_engine::is_there(test_name!()) {
        return;
    }
    let examples = Examples::for_containers();
    let ran = examples.run("hello", &IN_CONTAINER);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let run = examples.run_dir();
    let report = json(&run.join("report.json"));
    assert_eq!((&report["state"], &report["sandbox"]["backend"]), (&json!("success"), &json!("docker")));
    assert_eq!(json(&run.join("iteration-1/output/agent-result.json"))["tests_passed"], true);
    let patch = fs::read_to_string(run.join("iteration-1/changes.patch")).unwrap();
    assert!(patch.contains("| tr -cs 'a-z0-9\\n' '-'\n"), "{patch}");
    nothing_is_left(examples.place.path());
}

/// Which files were refused is not told by containers; that they were is in the script of the model.
#[test]
fn hostile_gets_nowhere_in_a_container() {
    if !docker_engine::is_there(test_name!()) {
        return;
    }
    let examples = Examples::for_containers();
    let ran = examples.run("hostile", &[&IN_CONTAINER[..], &["--keep-sandbox"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for line in DENIALS.iter().filter(|line| !line.contains("denied by sandbox")) {
        assert!(ran.stderr.contains(line), "{line}: {}", ran.stderr);
    }
    nothing_leaks(&examples, &examples.run_dir(), &ran);
    assert_eq!(docker_engine::containers(&examples.place.path().join("state")), "");
}

/// Tools on the host and commands in the container change each other's files, and what is delivered is the caller's.
#[test]
fn files_of_a_container_belong_to_whoever_started_the_run() {
    if !docker_engine::is_there(test_name!()) {
        return;
    }
    let file = |tool: &str, args: serde_json::Value| json!({"tool": tool, "args": args});
    let place = place(&json!([
        {"calls": [bash("mkdir -p deep/er; echo one > deep/er/made; echo two >> README.md; chmod 600 deep/er/made")]},
        {"calls": [file("edit_file", json!({"path": "deep/er/made", "edits": [{"oldText": "one", "newText": "ONE"}]})),
                   file("write_file", json!({"path": "written", "content": "by a tool\n"}))]},
        {"calls": [bash("echo by a command >> written; cat written deep/er/made; id -u; cp written /sandbox/workspace/output/result.txt; \
                         chmod 000 /sandbox/workspace/output")]},
        {"say": "done"},
    ]));
    let ran = run(&place, &IN_CONTAINER);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let mut runs = fs::read_dir(place.path().join("out")).unwrap();
    let attempt = runs.next().unwrap().unwrap().path().join("iteration-1");
    let own = fs::metadata(place.path()).unwrap().uid();
    for (name, text) in [
        ("output/result.txt", "by a tool\nby a command\n"),
        ("repo/written", "by a tool\nby a command\n"),
        ("repo/deep/er/made", "ONE\n"),
        ("repo/README.md", "A repository.\ntwo\n"),
    ] {
        let path = attempt.join(name);
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "{name}");
        assert_eq!(fs::metadata(&path).unwrap().uid(), own, "{name}");
    }
    nothing_is_left(place.path());
}

/// Both are on the host, and commands in the container reach them.
#[test]
fn hooks_and_the_fetch_service_answer_in_a_container() {
    if !docker_engine::is_there(test_name!()) {
        return;
    }
    let ask = |phase: &str, input: &str| {
        format!(
            "printf '%s' '{input}' | fullsend hook {phase} --config /sandbox/hooks/hook.json; echo \"code=$?\"; "
        )
    };
    let asked = ask("pre-tool", r#"{"tool_name":"Read","tool_input":{"file_path":"x"}}"#)
        + &ask("pre-tool", "no json")
        + "fullsend fetch-skill https://github.com/other/x/tree/main/y#sha256=\
           0000000000000000000000000000000000000000000000000000000000000000; echo \"code=$?\"";
    let place = place(&json!([{"calls": [bash(&asked)]}, {"say": "done"}]));
    let allowed = "allowed_remote_resources: [https://github.com/org/]\n";
    place.write(".fullsend/config.yaml", format!("version: \"1\"\n{allowed}"));
    harness(&place, &format!("allow_runtime_fetch: true\n{allowed}"));
    let ran = run(&place, &IN_CONTAINER);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let mut runs = fs::read_dir(place.path().join("out")).unwrap();
    let records = runs.next().unwrap().unwrap().path().join("records");
    let journals = fs::read_dir(records).unwrap().map(|entry| entry.unwrap().path().join("journal.jsonl"));
    let text: String = journals.filter_map(|journal| fs::read_to_string(journal).ok()).collect();
    for part in ["code=0\\\\n", "code=2\\\\n", "code=1\\\\n", "is not in allowed_remote_resources"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn what_containers_cannot_do_is_refused() {
    if !docker_engine::is_there(test_name!()) {
        return;
    }
    let place = place(&json!([{"calls": [bash("true")]}, {"say": "done"}]));
    place.write(".fullsend/policies/p.yaml", "exec: [/bin/sh]\n");
    let empty = EmptyImage::new();
    let cases: [(&str, &[&str], i32, &str); 6] = [
        ("", &["--sandbox-docker-runtime", "runsc"], 2, "no image for one is named"),
        ("", &["--sandbox-image", IMAGE, "--explain"], 2, "`--explain` has no effect in containers"),
        ("policy: policies/p.yaml\n", &IN_CONTAINER, 2, "does not support lists of programs"),
        ("", &["--sandbox-image", &empty.name], 2, "has no `/bin/sh` that works"),
        (
            "image: no-such-image:1\n",
            &[],
            1,
            "the image `no-such-image:1` is not there, and images are not fetched",
        ),
        (
            "",
            &["--sandbox-image", IMAGE, "--sandbox-docker-runtime", "no-such-one"],
            2,
            "no runtime `no-such-one`",
        ),
    ];
    for (lines, options, code, why) in cases {
        harness(&place, lines);
        let _there_may_be_none = fs::remove_dir_all(place.path().join("out"));
        let ran = run(&place, options);
        assert_eq!(ran.code, Some(code), "{why}: {ran:?}");
        assert!(ran.stderr.contains(why), "{why}: {}", ran.stderr);
        let run = fs::read_dir(place.path().join("out")).unwrap().next().unwrap().unwrap().path();
        let report = json(&run.join("report.json"));
        assert!(report["reason"].as_str().unwrap().contains(why), "{why}: {report:#}");
        nothing_is_left(place.path());
    }
}

/// The command line wins over the variable, and the variable over the harness.
#[test]
fn the_image_is_named_in_one_of_three_places() {
    if !docker_engine::is_there(test_name!()) {
        return;
    }
    let place = place(&json!([{"say": "done"}]));
    harness(&place, "image: of-the-harness:1\n");
    let cases: [(Option<&str>, &[&str], &str); 3] = [
        (None, &[], "`of-the-harness:1`"),
        (Some("of-the-variable:1"), &[], "`of-the-variable:1`"),
        (Some("of-the-variable:1"), &["--sandbox-image", "of-the-line:1"], "`of-the-line:1`"),
    ];
    for (variable, options, named) in cases {
        let mut command = command(&place, options);
        command.envs(variable.map(|image| ("FULLSEND_SANDBOX_IMAGE", image)));
        let ran = Ran::from(command.output().unwrap());
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains(&format!("the image {named} is not there")), "{named}: {}", ran.stderr);
    }
}

#[test]
fn an_engine_that_is_not_there_is_told() {
    let place = place(&json!([{"say": "done"}]));
    let mut command = command(&place, &IN_CONTAINER);
    command.env("DOCKER_HOST", "unix:///no/such/socket");
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("docker"), "{}", ran.stderr);
}

/// A kernel of its own cannot be shown files of root as another user's.
#[test]
fn a_kernel_of_its_own_runs_the_example_for_ordinary_users() {
    if !docker_engine::is_there(test_name!()) {
        return;
    }
    let examples = Examples::for_containers();
    let ran = examples.run("hello", &[&IN_CONTAINER[..], &["--sandbox-docker-runtime", "runsc"]].concat());
    if ran.stderr.contains("no runtime `runsc`") {
        return declare_skip(test_name!(), "the engine has no runtime runsc");
    }
    if fs::metadata(examples.place.path()).unwrap().uid() == 0 {
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains("do not run as root"), "{}", ran.stderr);
    } else {
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    nothing_is_left(examples.place.path());
}

#[test]
fn interrupted_in_a_container_it_leaves_nothing_but_its_record() {
    if !docker_engine::is_there(test_name!()) {
        return;
    }
    let undisturbed = Scene::in_containers();
    let length = undisturbed.runs_through();
    undisturbed.records_are_whole(&["success"], "undisturbed");
    interrupt_all(length, INSTANTS, 3, Scene::in_containers);
}

#[test]
fn what_a_killed_run_leaves_of_containers_is_removed_by_the_next_one() {
    if !docker_engine::is_there(test_name!()) {
        return;
    }
    let scene = Scene::in_containers();
    the_next_tidies_up_after(&scene, &["provision", "agent", "validate"]);
    assert_eq!(docker_engine::containers(&scene.path("state")), "");
}
