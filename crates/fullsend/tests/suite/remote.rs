//! Remote resources end to end: a real resolver, real TLS, real names and addresses, the real binary.

use fullsend_testkit::{TestFile, in_namespace, test_name};
use serde_json::json;

use crate::suite::forge_place::{AGENT, ForgePlace, hosts, sha, tree};
use crate::suite::running::Place;

const SKILL: &str = "---\nname: style\ndescription: Style.\n---\nBe brief.\n";

/// A forge with an agent file and a skill directory, and a harness that names both.
fn usual() -> (ForgePlace, String) {
    let at = ForgePlace::new();
    let commit = at.repository(
        "agents",
        &[
            TestFile::new("agents/code.md", AGENT),
            TestFile::new("skills/style/SKILL.md", SKILL),
            TestFile::executable("skills/style/scripts/check.sh", "#!/bin/sh\n"),
        ],
    );
    at.harness(&usual_harness(&commit, &sha(AGENT.as_bytes())));
    (at, commit)
}

fn usual_harness(commit: &str, agent: &str) -> String {
    let skill = tree(&[("SKILL.md", SKILL), ("scripts/check.sh", "#!/bin/sh\n")]);
    format!(
        "agent: https://raw.githubusercontent.com/org/agents/{commit}/agents/code.md#sha256={agent}\n\
         skills:\n  - https://github.com/org/agents/tree/{commit}/skills/style#sha256={skill}\n"
    )
}

#[test]
fn a_local_harness_fetches_nothing_and_leaves_nothing() {
    let place = Place::with_harness();
    for arguments in [&["fetch", "code"][..], &["fetch", "code", "--offline"]] {
        let ran = place.run(arguments);
        assert_eq!(
            (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
            (Some(0), "", "the harness names nothing remote\n")
        );
    }
    assert!(!place.path().join(".fullsend/.fullsend-cache").exists());
}

#[test]
fn what_linting_says_does_not_stop_resolving() {
    let place = Place::with_harness();
    place.write(
        ".fullsend/harness/code.yaml",
        "agent: agents/gone.md\npre_script: scripts/gone.sh\nskills: [skills/gone, skills/s]\n",
    );
    assert_eq!(place.run(&["harness", "lint"]).code, Some(1));
    for arguments in [&["fetch", "code"][..], &["lock", "code"], &["lock", "--all", "--check"]] {
        let ran = place.run(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.stderr);
    }
    assert!(!place.path().join(".fullsend/lock.yaml").exists());
    assert!(!place.path().join(".fullsend/.fullsend-cache").exists());
    let ran = place.run(&["fetch", "code", "--forge", "github"]);
    assert_eq!(ran.code, Some(0), "without overlays every platform is the same: {}", ran.stderr);
    place.write(".fullsend/harness/code.yaml", "agent: agents/a.md\nforge: {github: {}}\n");
    let ran = place.run(&["fetch", "code", "--forge", "gitlab"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("the harness has no `forge.gitlab`"), "{}", ran.stderr);
}

#[test]
fn resources_are_fetched_verified_cached_and_used_again_offline() {
    in_namespace(test_name!(), &hosts(), || {
        let (at, _) = usual();
        let first = at.fetched(&[]);
        let fields: Vec<_> =
            first.iter().map(|found| (&found["field"], &found["type"], &found["cache_hit"])).collect();
        assert_eq!(
            fields,
            [
                (&json!("agent"), &json!("file"), &json!(false)),
                (&json!("skills[0]"), &json!("directory"), &json!(false))
            ]
        );
        let agent = std::fs::read_to_string(first[0]["path"].as_str().unwrap()).unwrap();
        assert_eq!(agent, AGENT);
        assert!(first[0]["path"].as_str().unwrap().ends_with(".md"), "the extension is kept");
        let skill = std::path::PathBuf::from(first[1]["path"].as_str().unwrap());
        assert_eq!(skill.file_name().unwrap(), "style", "the directory keeps its name");
        assert_eq!(std::fs::read_to_string(skill.join("SKILL.md")).unwrap(), SKILL);
        let asked = at.forge.requests().len();
        let again = at.fetched(&["--offline"]);
        assert!(again.iter().all(|found| found["cache_hit"] == true), "{again:?}");
        assert_eq!(at.forge.requests().len(), asked, "nothing was asked of the network");
        let audit = at.audit();
        assert_eq!(audit.len(), 4, "two fetches, two hits");
        assert_eq!(audit[0]["fetch_type"], "static");
        assert!(audit.iter().all(|line| line["trace_id"].as_str().is_some_and(|id| id.len() == 36)));
        assert!(
            audit
                .iter()
                .all(|line| line["allowed_by"].as_str().is_some_and(|entry| entry.ends_with("/org/")))
        );
    });
}

#[test]
fn content_that_is_not_what_was_pinned_is_refused_and_not_kept() {
    in_namespace(test_name!(), &hosts(), || {
        let (at, commit) = usual();
        at.harness(&usual_harness(&commit, &sha(b"something else")));
        let ran = at.run(&["fetch", "code"]);
        assert_eq!(ran.code, Some(2));
        for part in [sha(b"something else"), sha(AGENT.as_bytes()), "fullsend pin --write".to_owned()] {
            assert!(ran.stderr.contains(&part), "{part}: {}", ran.stderr);
        }
        let refusals: Vec<_> = at.audit().into_iter().filter(|line| line["refused"].is_string()).collect();
        assert_eq!(refusals.len(), 1);
        assert_eq!(refusals[0]["refused"], "integrity-mismatch");
        assert!(!at.run(&["cache", "ls"]).stdout.contains(&sha(AGENT.as_bytes())));
    });
}

#[test]
fn what_the_lists_do_not_permit_is_refused_before_anything_is_asked() {
    in_namespace(test_name!(), &hosts(), || {
        let (at, commit) = usual();
        let harness = format!(
            "role: coder\nallowed_remote_resources: [https://github.com/org/]\n{}",
            usual_harness(&commit, &sha(AGENT.as_bytes()))
        );
        at.place.write(".fullsend/harness/code.yaml", harness);
        let ran = at.run(&["fetch", "code"]);
        assert_eq!(ran.code, Some(2));
        assert!(
            ran.stderr.contains("help: add its prefix to `allowed_remote_resources` of the harness"),
            "{}",
            ran.stderr
        );
        at.harness(&usual_harness(&commit, &sha(AGENT.as_bytes())));
        at.place.write(".fullsend/config.yaml", "allowed_remote_resources: [https://github.com/org/]\n");
        let ran = at.run(&["fetch", "code"]);
        assert!(ran.stderr.contains("`allowed_remote_resources` in `config.yaml`"), "{}", ran.stderr);
        assert_eq!(at.forge.requests().len(), 0, "nobody was asked for anything");
        assert!(at.audit().iter().any(|line| line["refused"] == "not-allowed"));
    });
}

#[test]
fn missing_pins_and_remote_scripts_never_get_that_far() {
    let place = Place::with_harness();
    for (line, expected) in [
        ("agent: https://github.com/org/a/blob/main/a.md", "error[unpinned-url]"),
        ("pre_script: https://github.com/org/a/blob/main/a.sh", "must be a local path, not a URL"),
    ] {
        place.write(".fullsend/harness/code.yaml", format!("role: coder\n{line}\n"));
        let ran = place.run(&["fetch", "code"]);
        assert_eq!(ran.code, Some(2));
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
}

#[test]
fn offline_misses_fail_with_the_way_out() {
    in_namespace(test_name!(), &hosts(), || {
        let (at, _) = usual();
        let ran = at.run(&["fetch", "code", "--offline"]);
        assert_eq!(ran.code, Some(2));
        assert!(ran.stderr.contains("help: run `fullsend fetch` with a network first"), "{}", ran.stderr);
        assert_eq!(at.forge.requests().len(), 0);
        assert_eq!(at.cached(), 0);
    });
}

#[test]
fn a_damaged_entry_is_replaced_online_and_refused_offline() {
    in_namespace(test_name!(), &hosts(), || {
        let (at, _) = usual();
        let agent = at.fetched(&[])[0]["path"].as_str().unwrap().to_owned();
        std::fs::write(&agent, "tampered").unwrap();
        let ran = at.run(&["fetch", "code", "--offline"]);
        assert_eq!(ran.code, Some(2));
        assert!(ran.stderr.contains("the cached copy is damaged"), "{}", ran.stderr);
        let again = at.fetched(&[]);
        assert_eq!(std::fs::read_to_string(again[0]["path"].as_str().unwrap()).unwrap(), AGENT);
        assert_eq!(at.run(&["cache", "verify"]).code, Some(0));
    });
}

#[test]
fn skills_bring_what_they_depend_on() {
    in_namespace(test_name!(), &hosts(), || {
        let at = ForgePlace::new();
        let leaf = "---\nname: leaf\ndescription: Leaf.\n---\nLeaf.\n";
        let middle = format!(
            "---\nname: middle\ndescription: M.\ndependencies:\n  - leaf#sha256={}\n---\nM.\n",
            tree(&[("SKILL.md", leaf)])
        );
        let top = format!(
            "---\nname: top\ndescription: T.\ndependencies:\n  - ../skills/middle#sha256={}\n---\nT.\n",
            tree(&[("SKILL.md", &middle)])
        );
        let commit = at.repository(
            "skills",
            &[
                TestFile::new("skills/leaf/SKILL.md", leaf),
                TestFile::new("skills/middle/SKILL.md", middle.as_str()),
                TestFile::new("skills/top/SKILL.md", top.as_str()),
            ],
        );
        let pin = tree(&[("SKILL.md", &top)]);
        at.harness(&format!(
            "agent: agents/a.md\nskills:\n  - skills/s\n  \
             - https://github.com/org/skills/tree/{commit}/skills/top#sha256={pin}\n"
        ));
        let names: Vec<String> = at
            .fetched(&[])
            .iter()
            .map(|found| found["url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned())
            .collect();
        assert_eq!(names, ["leaf", "middle", "top"], "dependencies first");
        let ran = at.run(&["fetch", "code", "--max-depth", "1"]);
        assert_eq!(ran.code, Some(2));
        assert!(ran.stderr.contains("at most 1 are followed"), "{}", ran.stderr);
        assert_eq!(at.fetched(&["--max-depth", "0"]).len(), 1);
        let ran = at.run(&["fetch", "code", "--max-resources", "2"]);
        assert!(ran.stderr.contains("more than 2 remote resources"), "{}", ran.stderr);
    });
}

#[test]
fn local_skills_depend_on_each_other_and_circles_are_named() {
    let place = Place::with_harness();
    let skill = |name: &str, on: &str| {
        let text = format!("---\nname: {name}\ndescription: x\ndependencies: [{on}]\n---\nx\n");
        place.write(&format!(".fullsend/skills/{name}/SKILL.md"), text);
    };
    skill("s", "b");
    skill("b", "");
    assert_eq!(place.run(&["fetch", "code"]).code, Some(0));
    skill("b", "s");
    let ran = place.run(&["fetch", "code"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("skills/s → .fullsend/skills/b → .fullsend/skills/s"), "{}", ran.stderr);
    skill("b", "../../outside");
    let ran = place.run(&["fetch", "code"]);
    assert!(ran.stderr.contains("no directory inside the fullsend directory"), "{}", ran.stderr);
}

#[test]
fn a_remote_base_gives_values_and_the_files_beside_it() {
    in_namespace(test_name!(), &hosts(), || {
        let at = ForgePlace::new();
        let base = "agent: agents/code.md\npre_script: scripts/pre.sh\nskills: [skills/style]\nmodel: sonnet\n\
                    allow_runtime_fetch: true\nallowed_remote_resources: [https://evil.example/]\n";
        let commit = at.repository(
            "agents",
            &[
                TestFile::new("harness/base.yaml", base),
                TestFile::new("agents/code.md", AGENT),
                TestFile::executable("scripts/pre.sh", "#!/bin/sh\n. ./lib.sh\n"),
                TestFile::new("scripts/lib.sh", "# shared\n"),
                TestFile::new("skills/style/SKILL.md", SKILL),
            ],
        );
        let pin = sha(base.as_bytes());
        let harness = |reference: &str| {
            format!(
                "base: https://raw.githubusercontent.com/org/agents/{reference}/harness/base.yaml#sha256={pin}\n"
            )
        };
        at.harness(&harness(&commit));
        let found = at.fetched(&[]);
        let kinds: Vec<_> = found
            .iter()
            .map(|found| (found["field"].as_str().unwrap(), found["type"].as_str().unwrap()))
            .collect();
        assert_eq!(
            kinds,
            [
                ("base", "file"),
                ("agent", "resource"),
                ("skills[0]", "directory"),
                ("pre_script", "directory")
            ]
        );
        let scripts = std::path::PathBuf::from(found[3]["path"].as_str().unwrap());
        assert!(scripts.join("lib.sh").is_file(), "what lies beside a script comes with it");
        assert_eq!(at.fetched(&["--offline"]).len(), 4, "all of it is in the cache");
        at.harness(&harness("main"));
        let ran = at.run(&["fetch", "code"]);
        assert_eq!(ran.code, Some(2));
        assert!(ran.stderr.contains("whose URL does not name a commit"), "{}", ran.stderr);
        assert_eq!(at.run(&["lock", "code"]).code, Some(0), "locking records what lies there");
        assert_eq!(at.fetched(&[]).len(), 4, "and then it may be used");
    });
}
