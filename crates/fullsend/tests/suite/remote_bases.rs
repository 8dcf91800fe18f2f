//! What a remote base may bring, and what it may not.

use fullsend_testkit::{TestFile, in_namespace, test_name};
use serde_json::{Value, json};

use crate::suite::forge_place::{AGENT, ForgePlace, hosts, sha, tree};

const SKILL: &str = "---\nname: style\ndescription: Style.\n---\nBe brief.\n";

/// Puts a base and files beside it on the forge, and a harness that names it; gives the commit.
fn based_on(at: &ForgePlace, base: &str, files: &[TestFile], more: &str) -> String {
    let all: Vec<TestFile> =
        [TestFile::new("harness/base.yaml", base)].into_iter().chain(files.iter().cloned()).collect();
    let commit = at.repository("agents", &all);
    name_base(at, base, &commit, more);
    commit
}

fn name_base(at: &ForgePlace, base: &str, reference: &str, more: &str) {
    let pin = sha(base.as_bytes());
    at.harness(&format!(
        "base: https://raw.githubusercontent.com/org/agents/{reference}/harness/base.yaml#sha256={pin}\n{more}"
    ));
}

fn harness(at: &ForgePlace, arguments: &[&str]) -> Value {
    let all: Vec<&str> = ["fetch", "code", "--format", "json"].iter().chain(arguments).copied().collect();
    let ran = at.run(&all);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    serde_json::from_str::<Value>(&ran.stdout).unwrap()["harness"].take()
}

fn fields(found: &[Value]) -> Vec<String> {
    found.iter().map(|found| found["field"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_remote_base_cannot_name_files_of_this_machine() {
    in_namespace(test_name!(), &hosts(), || {
        for line in [
            "agent: /etc/passwd",
            "agent: ../../../../etc/passwd",
            "agent: agents/%2e%2e/%2e%2e/x.md",
            "agent: agents/%2E%2E/x.md",
            "agent: //evil.example/x.md",
            "agent: agents/x.md?token=secret",
            "agent: 'agents/${HOME}.md'",
            "policy: /etc/passwd",
            "pre_script: /bin/sh",
            "skills: [/etc]",
            "skills: [skills/../../other]",
            "plugins: [../x]",
            "providers: [/etc/passwd]",
            "openshell: {profiles: [/etc/passwd]}",
            "host_files: [{src: /etc/passwd, dest: /x}]",
            "host_files: [{src: '/etc/passwd${EMPTY}', dest: /x}]",
            "validation_loop: {script: /bin/sh, schema: /etc/passwd}",
            "api_servers: [{name: x, script: /bin/sh, port: 8080}]",
            "forge: {github: {pre_script: /bin/sh}}",
            "forge: {github: {skills: [../x]}}",
        ] {
            let at = ForgePlace::new();
            based_on(&at, &format!("{line}\n"), &[], "");
            let ran = at.run(&["fetch", "code", "--forge", "github"]);
            assert_eq!(ran.code, Some(2), "{line}: {}{}", ran.stdout, ran.stderr);
            assert!(!ran.stderr.contains("secret"), "{line}: {}", ran.stderr);
            let audit = at.audit();
            let refused: Vec<_> = audit.iter().filter(|line| line["refused"].is_string()).collect();
            assert_eq!(refused.len(), 1, "{line}: {audit:?}\n{}", ran.stderr);
            assert!(!format!("{audit:?}").contains("secret"), "{audit:?}");
            assert_eq!(at.forge.requests().len(), 1, "{line}: only the base was asked for");
        }
    });
}

#[test]
fn overlays_of_a_base_are_fetched_for_the_active_platform_only() {
    in_namespace(test_name!(), &hosts(), || {
        let at = ForgePlace::new();
        let base = "agent: agents/code.md\nagent_input: /etc\nhost_files:\n  - {src: '${HOME}/x', dest: /x}\n\
                    forge:\n  github:\n    pre_script: scripts/gh.sh\n    skills: [skills/style]\n  \
                    gitlab:\n    pre_script: /bin/sh\n    skills: [skills/absent]\n";
        let files = [
            TestFile::new("agents/code.md", AGENT),
            TestFile::executable("scripts/gh.sh", "#!/bin/sh\n"),
            TestFile::new("skills/style/SKILL.md", SKILL),
        ];
        based_on(&at, base, &files, "");
        assert_eq!(fields(&at.fetched(&[])), ["base", "agent"]);
        let found = at.fetched(&["--forge", "github"]);
        assert_eq!(fields(&found), ["base", "agent", "forge.github.skills[0]", "forge.github.pre_script"]);
        let harness = harness(&at, &["--forge", "github"]);
        let script = harness["pre_script"].as_str().unwrap();
        assert_eq!(std::fs::read_to_string(script).unwrap(), "#!/bin/sh\n");
        assert!(std::path::Path::new(harness["skills"][0].as_str().unwrap()).join("SKILL.md").is_file());
        assert_eq!(harness["host_files"][0]["src"], "${HOME}/x");
        assert_eq!(harness.get("agent_input"), None);
        assert!(!at.forge.requests().iter().any(|request| format!("{request:?}").contains("absent")));
        let ran = at.run(&["fetch", "code", "--forge", "gitlab"]);
        assert_eq!(ran.code, Some(2));
        assert!(ran.stderr.contains("forge.gitlab."), "{}", ran.stderr);
        name_base(&at, base, "main", "forge: {gitlab: null}\n");
        let ran = at.run(&["lock", "code"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(at.fetched(&["--forge", "github"]).len(), 4, "overlays of the base are locked");
        assert_eq!(at.fetched(&[]).len(), 2);
    });
}

#[test]
fn skills_beside_a_base_bring_what_they_depend_on() {
    in_namespace(test_name!(), &hosts(), || {
        let at = ForgePlace::new();
        let top = format!(
            "---\nname: top\ndescription: T.\ndependencies: [style#sha256={}]\n---\nT.\n",
            tree(&[("SKILL.md", SKILL)])
        );
        let files = [
            TestFile::new("skills/style/SKILL.md", SKILL),
            TestFile::new("skills/top/SKILL.md", top.as_str()),
        ];
        let files: Vec<_> = files.into_iter().chain([TestFile::new("agents/code.md", AGENT)]).collect();
        based_on(&at, "agent: agents/code.md\nskills: [skills/top]\n", &files, "");
        let found = at.fetched(&[]);
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found[3]["url"].as_str().unwrap().starts_with("https://github.com/org/agents/tree/"));
        let skills = harness(&at, &[])["skills"].take();
        let names: Vec<_> =
            skills.as_array().unwrap().iter().map(|path| path.as_str().unwrap().rsplit('/').next()).collect();
        assert_eq!(names, [Some("top"), Some("style")]);
        drop(at);
        let local = "---\nname: top\ndescription: T.\ndependencies: [../../../../../../skills/s]\n---\nT.\n";
        let at = ForgePlace::new();
        let files = [TestFile::new("agents/code.md", AGENT), TestFile::new("skills/top/SKILL.md", local)];
        based_on(&at, "agent: agents/code.md\nskills: [skills/top]\n", &files, "");
        let ran = at.run(&["fetch", "code"]);
        assert_eq!(ran.code, Some(2), "a skill from elsewhere cannot name files of this machine");
        assert!(at.audit().iter().any(|line| line["refused"] == "invalid-reference"), "{}", ran.stderr);
    });
}

#[test]
fn what_changed_beside_a_base_is_accepted_by_an_update_only() {
    in_namespace(test_name!(), &hosts(), || {
        let at = ForgePlace::new();
        let base = "agent: agents/code.md\n";
        based_on(&at, base, &[TestFile::new("agents/code.md", AGENT)], "");
        name_base(&at, base, "main", "");
        let ran = at.run(&["fetch", "code"]);
        assert_eq!(ran.code, Some(2));
        assert!(at.audit().iter().any(|line| line["refused"] == "mutable-base"), "{:?}", at.audit());
        assert_eq!(at.run(&["lock", "code"]).code, Some(0));
        let lines = at.audit();
        let agent = lines.iter().rev().find(|line| line["fetch_type"] == "base_resource").unwrap();
        assert_eq!(agent["cache_hit"], false, "what came from the network is recorded as such: {agent}");
        at.forge.change_file(AGENT.as_bytes(), "---\nname: code\ndescription: New.\n---\nNew.\n");
        assert_eq!(at.run(&["lock", "code"]).stderr, "code: up to date\n");
        assert_eq!(at.fetched(&[])[1]["sha256"], json!(sha(AGENT.as_bytes())), "the lock holds");
        std::fs::remove_dir_all(at.place.path().join(".fullsend/.fullsend-cache")).unwrap();
        let ran = at.run(&["fetch", "code"]);
        assert_eq!(ran.code, Some(2));
        assert!(ran.stderr.contains("fullsend lock NAME --update"), "{}", ran.stderr);
        at.forge.change_file(AGENT.as_bytes(), "---\nname: code\ndescription: Newer.\n---\nNewer.\n");
        let ran = at.run(&["lock", "code", "--update"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let newer = sha(b"---\nname: code\ndescription: Newer.\n---\nNewer.\n");
        assert_eq!(at.fetched(&[])[1]["sha256"], json!(newer));
    });
}

#[test]
fn harnesses_that_share_a_base_are_locked_each_for_itself() {
    in_namespace(test_name!(), &hosts(), || {
        let at = ForgePlace::new();
        let base = "agent: agents/code.md\nskills: [skills/style]\n";
        let files = [TestFile::new("agents/code.md", AGENT), TestFile::new("skills/style/SKILL.md", SKILL)];
        let commit = based_on(&at, base, &files, "");
        let own = format!(
            "skills:\n  - https://github.com/org/agents/tree/{commit}/agents#sha256={}\n",
            tree(&[("code.md", AGENT)])
        );
        name_base(&at, base, "main", &own);
        let text = std::fs::read(at.place.path().join(".fullsend/harness/code.yaml")).unwrap();
        at.place.write(".fullsend/harness/other.yaml", text);
        let ran = at.run(&["lock", "--all"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(ran.stderr.matches(": 4 remote resources").count(), 2, "{}", ran.stderr);
        let ran = at.run(&["lock", "--all", "--check"]);
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        assert_eq!(at.run(&["fetch", "other"]).code, Some(0));
        assert_eq!(at.fetched(&["--offline"]).len(), 4);
    });
}

#[test]
fn a_lock_cannot_put_one_cached_file_in_the_place_of_another() {
    in_namespace(test_name!(), &hosts(), || {
        let at = ForgePlace::new();
        let base = "agent: agents/code.md\npolicy: policy.yaml\n";
        let files = [TestFile::new("agents/code.md", AGENT), TestFile::new("policy.yaml", "version: 1\n")];
        based_on(&at, base, &files, "");
        assert_eq!(at.run(&["lock", "code"]).code, Some(0));
        let path = at.place.path().join(".fullsend/lock.yaml");
        let lock = std::fs::read_to_string(&path).unwrap();
        let forged = lock.replace(&sha(b"version: 1\n"), &sha(AGENT.as_bytes()));
        assert_ne!(forged, lock);
        std::fs::write(&path, forged).unwrap();
        for arguments in [&["fetch", "code"][..], &["fetch", "code", "--offline"]] {
            let ran = at.run(arguments);
            assert_eq!(ran.code, Some(2), "{}{}", ran.stdout, ran.stderr);
        }
        std::fs::write(&path, &lock).unwrap();
        assert_eq!(at.fetched(&["--offline"]).len(), 3);
        std::fs::remove_file(at.place.path().join(".fullsend/.fullsend-cache/url-index.json")).unwrap();
        assert_eq!(at.fetched(&["--offline"]).len(), 3, "entries know where they came from");
    });
}
