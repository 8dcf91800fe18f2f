//! `fullsend lock`.

use fullsend_testkit::{TestFile, in_namespace, test_name};

use crate::suite::forge_place::{AGENT, ALLOWED, ForgePlace, hosts, sha, tree};

fn locked(at: &ForgePlace) -> String {
    std::fs::read_to_string(at.place.path().join(".fullsend/lock.yaml")).unwrap()
}

#[test]
fn what_was_resolved_is_recorded_and_checked() {
    in_namespace(test_name!(), &hosts(), || {
        let at = ForgePlace::new();
        let commit = at.repository(
            "agents",
            &[TestFile::new("agents/code.md", AGENT), TestFile::new("skills/s/SKILL.md", "# S\n")],
        );
        let (agent, skill) = (sha(AGENT.as_bytes()), tree(&[("SKILL.md", "# S\n")]));
        let url = format!("https://raw.githubusercontent.com/org/agents/{commit}/agents/code.md");
        let harness = format!(
            "agent: {url}#sha256={agent}\nforge:\n  github:\n    skills:\n      \
             - https://github.com/org/agents/tree/{commit}/skills/s#sha256={skill}\n  gitlab: {{}}\n"
        );
        at.harness(&harness);
        assert_eq!(at.run(&["lock", "code", "--check"]).code, Some(1), "nothing is locked yet");
        let ran = at.run(&["lock", "code"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ".fullsend/lock.yaml\n"), "{}", ran.stderr);
        let lock = locked(&at);
        assert!(lock.contains(&format!("url: {url}\n")) && lock.contains(&agent), "{lock}");
        assert_eq!(lock.matches("platform: github").count(), 1, "the skill belongs to one platform:\n{lock}");
        assert_eq!(at.run(&["lock", "code", "--check"]).code, Some(0));
        let again = at.run(&["lock", "code"]);
        assert_eq!((again.stdout.as_str(), again.stderr.as_str()), ("", "code: up to date\n"));
        assert_eq!(locked(&at), lock, "nothing changed, nothing is written");
        assert_eq!(at.fetched(&["--forge", "gitlab"]).len(), 1, "platforms do not mix");

        let forged = lock.replace(&agent, &sha(b"evil"));
        at.place.write(".fullsend/lock.yaml", forged);
        let ran = at.run(&["fetch", "code"]);
        assert_eq!(ran.code, Some(2), "a lock file cannot replace a pin");
        assert!(ran.stderr.contains("fullsend lock code"), "{}", ran.stderr);

        at.place.write(".fullsend/lock.yaml", &lock);
        at.harness(&format!("{harness}description: changed\n"));
        let ran = at.run(&["lock", "--all", "--check"]);
        assert_eq!(ran.code, Some(1));
        assert!(ran.stdout.contains("help: "), "{}", ran.stdout);
        assert_eq!(at.run(&["lock", "--all"]).code, Some(0));
        at.place.write(".fullsend/harness/code.yaml", "agent: agents/a.md\nrole: coder\n");
        assert_eq!(at.run(&["lock", "--all"]).code, Some(0));
        assert!(!locked(&at).contains("code:"), "a harness without remote resources needs no entry");
    });
}

#[test]
fn files_beside_a_base_are_held_to_the_lock() {
    in_namespace(test_name!(), &hosts(), || {
        let at = ForgePlace::new();
        let base = "agent: agents/code.md\n";
        at.repository(
            "agents",
            &[TestFile::new("harness/base.yaml", base), TestFile::new("agents/code.md", AGENT)],
        );
        let pin = sha(base.as_bytes());
        at.harness(&format!(
            "base: https://raw.githubusercontent.com/org/agents/main/harness/base.yaml#sha256={pin}\n"
        ));
        assert_eq!(at.run(&["lock", "code"]).code, Some(0));
        assert_eq!(at.fetched(&[]).len(), 2);
        std::fs::remove_dir_all(at.place.path().join(".fullsend/.fullsend-cache")).unwrap();
        at.forge.change_file(AGENT.as_bytes(), "evil");
        let ran = at.run(&["fetch", "code"]);
        assert_eq!(ran.code, Some(2), "what changed beside the base is refused");
        assert!(ran.stderr.contains("not what was pinned"), "{}", ran.stderr);
    });
}

/// A forge with an agent, and a harness that names it; gives the harness's lines.
fn one_agent(at: &ForgePlace) -> String {
    let commit = at.repository("agents", &[TestFile::new("agents/code.md", AGENT)]);
    let digest = sha(AGENT.as_bytes());
    format!("agent: https://raw.githubusercontent.com/org/agents/{commit}/agents/code.md#sha256={digest}\n")
}

#[test]
fn a_check_sees_every_file_that_decides() {
    in_namespace(test_name!(), &hosts(), || {
        let at = ForgePlace::new();
        let agent = one_agent(&at);
        at.place.write(".fullsend/harness/parent.yaml", "role: coder\nmodel: sonnet\n");
        let check = |expected: i32, why: &str| {
            let ran = at.run(&["lock", "code", "--check"]);
            assert_eq!(ran.code, Some(expected), "{why}: {}{}", ran.stdout, ran.stderr);
        };
        let lock = || assert_eq!(at.run(&["lock", "code"]).code, Some(0));
        at.harness(&agent);
        lock();
        check(0, "just locked");
        at.place.write(".fullsend/config.yaml", format!("{ALLOWED}  - https://example.com/\n"));
        check(1, "the organisation's list");
        lock();
        check(0, "locked again");
        at.harness(&format!("base: parent.yaml\n{agent}"));
        check(1, "the harness");
        lock();
        check(0, "locked again");
        at.place.write(".fullsend/harness/parent.yaml", "role: coder\nmodel: opus\n");
        check(1, "the base");
    });
}

#[test]
fn what_the_lock_lacks_or_contradicts_is_refused_and_locking_repairs_it() {
    in_namespace(test_name!(), &hosts(), || {
        let at = ForgePlace::new();
        let agent = one_agent(&at);
        at.harness(&agent);
        assert_eq!(at.run(&["lock", "code"]).code, Some(0));
        let good = locked(&at);
        for forged in [
            good.replace(&sha(AGENT.as_bytes()), &sha(b"evil")),
            good.replace("/agents/code.md", "/agents/other.md"),
        ] {
            at.place.write(".fullsend/lock.yaml", &forged);
            for command in [&["fetch", "code"][..], &["lock", "code", "--check"]] {
                let ran = at.run(command);
                assert_ne!(ran.code, Some(0), "{command:?} {}", ran.stdout);
                assert!(format!("{}{}", ran.stdout, ran.stderr).contains("fullsend lock code"), "{ran:?}");
            }
            let ran = at.run(&["lock", "code"]);
            assert_eq!(ran.code, Some(0), "{}", ran.stderr);
            assert_eq!(at.run(&["lock", "code", "--check"]).code, Some(0));
            assert_eq!(at.run(&["fetch", "code"]).code, Some(0), "what the message says to do helps");
        }
        at.harness(&format!("{agent}forge: {{github: {{}}}}\n"));
        assert_eq!(at.run(&["lock", "code"]).code, Some(0));
        let other = good.replace("field: agent\n", "field: agent\n              platform: gitlab\n");
        assert_ne!(other, good);
        at.place.write(".fullsend/lock.yaml", other);
        let ran = at.run(&["fetch", "code", "--forge", "github"]);
        assert_eq!(ran.code, Some(2), "an entry of another platform does not count");
        assert!(ran.stderr.contains("fullsend lock code"), "{}", ran.stderr);
    });
}

#[test]
fn a_failed_lock_changes_nothing_and_loses_nothing() {
    in_namespace(test_name!(), &hosts(), || {
        let at = ForgePlace::new();
        let agent = one_agent(&at);
        at.harness(&agent);
        at.place.write(".fullsend/harness/other.yaml", format!("role: coder\n{ALLOWED}{agent}"));
        assert_eq!(at.run(&["lock", "--all"]).code, Some(0));
        let before = locked(&at);
        at.place.write(
            ".fullsend/harness/other.yaml",
            format!(
                "role: coder\n{ALLOWED}{}",
                agent.replace("code.md", "gone.md").replace(&sha(AGENT.as_bytes()), &sha(b"gone"))
            ),
        );
        let ran = at.run(&["lock", "--all"]);
        assert_eq!(ran.code, Some(2));
        assert_eq!(locked(&at), before);
        assert_eq!(at.run(&["lock", "other"]).code, Some(2));
        assert_eq!(locked(&at), before);
        at.place.write(".fullsend/harness/other.yaml", "role: [\n");
        assert_eq!(at.run(&["lock", "--all"]).code, Some(2));
        assert_eq!(locked(&at), before);
        let names: Vec<String> = std::fs::read_dir(at.place.path().join(".fullsend"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.contains("tmp") || name.contains("lock"))
            .filter(|name| name != "lock.yaml")
            .collect();
        assert_eq!(names, Vec::<String>::new());
        assert_eq!(at.run(&["cache", "verify"]).code, Some(0));
    });
}

#[test]
fn two_harnesses_locked_at_once_are_both_there() {
    in_namespace(test_name!(), &hosts(), || {
        let at = ForgePlace::new();
        let agent = one_agent(&at);
        let names: Vec<String> = (0..6).map(|index| format!("h{index}")).collect();
        for name in &names {
            at.place
                .write(&format!(".fullsend/harness/{name}.yaml"), format!("role: coder\n{ALLOWED}{agent}"));
        }
        std::thread::scope(|scope| {
            for name in &names {
                scope.spawn(|| {
                    let ran = at.run(&["lock", name.as_str()]);
                    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
                });
            }
        });
        for name in &names {
            assert_eq!(at.run(&["lock", name, "--check"]).code, Some(0), "{name}");
        }
    });
}

#[test]
fn locking_for_one_platform_keeps_the_others() {
    in_namespace(test_name!(), &hosts(), || {
        let at = ForgePlace::new();
        let commit = at.repository(
            "agents",
            &[TestFile::new("a/SKILL.md", "# A\n"), TestFile::new("b/SKILL.md", "# B\n")],
        );
        let skill = |name: &str, text: &str| {
            let digest = tree(&[("SKILL.md", text)]);
            format!("skills: ['https://github.com/org/agents/tree/{commit}/{name}#sha256={digest}']")
        };
        at.harness(&format!(
            "agent: agents/a.md\nforge:\n  github:\n    {}\n  gitlab:\n    {}\n",
            skill("a", "# A\n"),
            skill("b", "# B\n")
        ));
        assert_eq!(at.run(&["lock", "code", "--forge", "github"]).code, Some(0));
        assert_eq!(at.fetched(&["--forge", "github"]).len(), 1);
        assert_eq!(at.run(&["lock", "code", "--check"]).code, Some(1), "the other platform is missing");
        let ran = at.run(&["lock", "code", "--forge", "gitlab"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        for platform in ["github", "gitlab"] {
            let ran = at.run(&["fetch", "code", "--forge", platform]);
            assert_eq!(ran.code, Some(0), "{platform}: {}\n{}", ran.stderr, locked(&at));
        }
        assert_eq!(at.run(&["lock", "code", "--check"]).code, Some(0), "{}", locked(&at));
    });
}

#[test]
fn one_harness_that_cannot_be_locked_does_not_hold_up_the_others() {
    in_namespace(test_name!(), &hosts(), || {
        let at = ForgePlace::new();
        let commit = at.repository("agents", &[TestFile::new("agents/code.md", AGENT)]);
        let url = format!("https://raw.githubusercontent.com/org/agents/{commit}/agents/code.md");
        at.harness(&format!("agent: {url}#sha256={}\n", sha(AGENT.as_bytes())));
        at.place.write(".fullsend/harness/broken.yaml", "role: coder\nagnet: x\n");
        at.place.write(".fullsend/harness/also-broken.yaml", "role: [\n");
        let ran = at.run(&["lock", "--all"]);
        assert_eq!(ran.code, Some(2));
        for name in ["`.fullsend/harness/broken.yaml`", "`.fullsend/harness/also-broken.yaml`"] {
            assert!(ran.stderr.contains(name), "{name}: {}", ran.stderr);
        }
        assert!(locked(&at).contains(&url), "what could be locked is");
    });
}
