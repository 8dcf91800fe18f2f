//! `fullsend lock`.

use fullsend_testkit::{TestFile, in_namespace, test_name};

use crate::suite::forge_place::{AGENT, ForgePlace, hosts, sha, tree};

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
