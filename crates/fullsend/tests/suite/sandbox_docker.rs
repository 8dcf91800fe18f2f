//! `fullsend sandbox exec --backend docker`, on whatever engine the environment names.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use fullsend_testkit::{declare_skip, test_name};
use serde_json::Value;

use crate::suite::docker_engine::{self, IMAGE};
use crate::suite::running::Ran;
use crate::suite::users::User;

/// A user with an engine.
struct Engine {
    user: User,
}

impl Engine {
    /// None, and a skip, when there is no engine or no image.
    fn find(test: &str) -> Option<Self> {
        docker_engine::is_there(test).then(|| Self { user: User::caller() })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.user.command(arguments);
        docker_engine::announce(&mut command);
        command
    }

    fn shell(&self, options: &[&str], line: &str) -> Ran {
        Ran::from(self.command(&arguments(options, line)).stdin(Stdio::null()).output().unwrap())
    }

    /// Containers of this user's state directory.
    fn containers(&self) -> String {
        docker_engine::containers(&self.user.home().join(".local/state"))
    }
}

fn arguments<'a>(options: &[&'a str], line: &'a str) -> Vec<&'a str> {
    let start = ["sandbox", "exec", "--backend", "docker", "--image", IMAGE];
    [&start[..], options, &["--", "sh", "-c", line]].concat()
}

#[test]
fn a_container_is_as_good_as_any_sandbox() {
    let Some(engine) = Engine::find(test_name!()) else { return };
    engine.user.write("work/file", "content");
    engine.user.write("kept/file", "kept");
    let here = fs::canonicalize(engine.user.path()).unwrap().display().to_string();
    let line = "pwd; cat file; echo new > file; echo x > ../kept/file; echo e >&2; exit 7";
    let ran = engine.shell(&["--rw", "work", "--ro", "kept", "--env", "A=b"], line);
    assert_eq!((ran.code, ran.stdout), (Some(7), format!("{here}/work\ncontent")), "{}", ran.stderr);
    assert!(ran.stderr.contains("\ne\n") || ran.stderr.starts_with("e\n"), "{}", ran.stderr);
    let read = |name: &str| fs::read_to_string(engine.user.path().join(name)).unwrap();
    assert_eq!((read("work/file"), read("kept/file")), ("new\n".into(), "kept".into()));

    let missing = engine.shell(&["--cwd", "/"], "exec no-such-program");
    assert_eq!(missing.code, Some(127), "{missing:?}");
    let late = engine.shell(&["--timeout", "0.5"], "sleep 30");
    assert_eq!(late.code, Some(124), "{late:?}");
    let outside = engine.shell(&[], &format!("cat {here}/work/file"));
    assert_eq!((outside.code, outside.stdout.as_str()), (Some(1), ""), "{outside:?}");
    assert_eq!(engine.containers(), "", "nothing is left");
}

#[test]
fn the_explanation_is_about_the_container() {
    let Some(engine) = Engine::find(test_name!()) else { return };
    let curl = "curl -sSf --max-time 20 http://b.test/";
    let ran = engine.shell(&["--explain", "--allow-host", "a.test", "--processes", "64"], curl);
    assert_ne!(ran.code, Some(0), "{ran:?}");
    for expected in [
        "         everything in the image fullsend-test:latest\n",
        "  use    4096 MiB of memory (default)\n         64 processes\n",
        "Enforced by the docker sandbox\n",
        "denied: connection to b.test:80: ",
        "; to allow it: --allow-host b.test\n",
    ] {
        assert!(ran.stderr.contains(expected), "{expected}\n{}", ran.stderr);
    }
    assert!(!ran.stderr.contains("/usr, /bin"), "which are the image's: {}", ran.stderr);
}

#[test]
fn another_runtime_can_be_chosen() {
    let Some(engine) = Engine::find(test_name!()) else { return };
    let unknown = engine.shell(&["--runtime", "magic"], "echo ran");
    assert_eq!((unknown.code, unknown.stdout.as_str()), (Some(125), ""), "{unknown:?}");
    assert!(unknown.stderr.contains("no runtime `magic`"), "{unknown:?}");
    let found = engine.command(&["doctor", "--format", "json"]).output().unwrap();
    let found: Value = serde_json::from_slice(&found.stdout).unwrap();
    let layers = found["containers"]["layers"].as_array().unwrap();
    let has = |name: &str| layers.iter().any(|layer| layer["name"] == name && layer["status"] == "available");
    assert!(has("engine") && has("user mapping"), "{found}");
    if !has("runtime runsc") {
        return declare_skip(test_name!(), "the engine has no runtime runsc");
    }
    let ran = engine.shell(&["--runtime", "runsc"], "head -n 1 /proc/version; exit 5");
    assert_eq!(ran.code, Some(5), "{ran:?}");
    let kernel = fs::read_to_string("/proc/version").unwrap();
    assert!(!kernel.starts_with(ran.stdout.trim_end()) && !ran.stdout.is_empty(), "its own kernel: {ran:?}");
}

#[test]
fn what_containers_cannot_enforce_is_refused() {
    let Some(engine) = Engine::find(test_name!()) else { return };
    engine.user.write("p.yaml", "exec: [sh]\n");
    let ran = engine.shell(&["--policy", "p.yaml"], "echo ran");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(125), ""), "{ran:?}");
    assert!(ran.stderr.contains("lists of programs"), "{ran:?}");
    engine.user.write("p.yaml", "exec: ['**']\nlimits: {timeout: 60}\n");
    let ran = engine.shell(&["--policy", "p.yaml"], "echo ran");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "ran\n"), "{ran:?}");
}

#[test]
fn what_a_killed_run_leaves_is_removed_by_the_next() {
    let Some(engine) = Engine::find(test_name!()) else { return };
    let mut child = engine
        .command(&arguments(&[], "echo ready; sleep 60"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert_eq!((first.as_str(), engine.containers().lines().count()), ("ready\n", 1));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(engine.shell(&[], "true").code, Some(0));
    let sessions = engine.user.home().join(".local/state/fullsend/docker/sessions");
    assert_eq!((engine.containers().as_str(), fs::read_dir(sessions).unwrap().count()), ("", 0));
}

#[test]
fn mistakes_are_told_without_an_engine() {
    let user = User::caller();
    for (options, code, expected) in [
        (&["--backend", "docker"][..], 2, "--image"),
        (&["--image", "x"], 2, "add `--backend docker`"),
        (&["--runtime", "runsc"], 2, "add `--backend docker`"),
        (&["--docker", "podman"], 2, "add `--backend docker`"),
        (&["--backend", "docker", "--image", "x", "--docker", "/no/such/docker"], 125, "/no/such/docker"),
        (&["--backend", "docker", "--sandbox-image", "x", "--docker", "/bin/false"], 125, "/bin/false"),
    ] {
        let ran = user.run(&[&["sandbox", "exec"], options, &["--", "echo", "ran"]].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{options:?}: {ran:?}");
        assert!(ran.stderr.contains(expected), "{options:?}: {ran:?}");
    }
}
