//! Skills that depend on skills: circles, diamonds, depths, conflicts, names.

use fullsend_testkit::{TestFile, in_namespace, test_name};
use serde_json::Value;

use crate::suite::forge_place::{AGENT, ALLOWED, ForgePlace, hosts, sha, tree};

/// A `SKILL.md` that depends on these references.
fn skill(on: &[String]) -> String {
    format!("---\nname: x\ndescription: x\ndependencies: [{}]\n---\nx\n", on.join(", "))
}

fn pin(text: &str) -> String {
    tree(&[("SKILL.md", text)])
}

fn file(name: &str, text: &str) -> TestFile {
    TestFile::new(&format!("skills/{name}/SKILL.md"), text)
}

fn named(commit: &str, name: &str, text: &str) -> String {
    format!("https://github.com/org/skills/tree/{commit}/skills/{name}#sha256={}", pin(text))
}

fn report(at: &ForgePlace, arguments: &[&str]) -> Value {
    let all: Vec<&str> = ["fetch", "code", "--format", "json"].iter().chain(arguments).copied().collect();
    let ran = at.run(&all);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap()
}

fn last(url: &Value) -> String {
    url.as_str().unwrap().rsplit('/').next().unwrap().to_owned()
}

#[test]
fn circles_are_named_although_their_pins_cannot_fit() {
    in_namespace(test_name!(), &hosts(), || {
        let at = ForgePlace::new();
        let back = skill(&[format!("a#sha256={}", sha(b"whatever"))]);
        let a = skill(&[format!("b#sha256={}", pin(&back))]);
        let commit = at.repository("skills", &[file("a", &a), file("b", &back)]);
        at.harness(&format!("agent: agents/a.md\nskills: ['{}']\n", named(&commit, "a", &a)));
        let ran = at.run(&["fetch", "code"]);
        assert_eq!(ran.code, Some(2));
        let url = format!("https://github.com/org/skills/tree/{commit}/skills");
        assert!(ran.stderr.contains(&format!("{url}/a → {url}/b → {url}/a")), "{}", ran.stderr);
    });
}

#[test]
fn a_skill_that_two_depend_on_comes_once() {
    in_namespace(test_name!(), &hosts(), || {
        let at = ForgePlace::new();
        let c = skill(&[]);
        let a = skill(&[format!("c#sha256={}", pin(&c))]);
        let commit = at.repository("skills", &[file("a", &a), file("b", &a), file("c", &c)]);
        let (one, two) = (named(&commit, "a", &a), named(&commit, "b", &a));
        // Without a role: resolving is not linting, and what skills bring must not get lost.
        let harness =
            format!("agent: agents/a.md\nskills: ['{one}', '{two}']\nplugins: ['{one}']\n{ALLOWED}");
        at.place.write(".fullsend/harness/code.yaml", harness);
        let report = report(&at, &[]);
        let found: Vec<_> =
            report["dependencies"].as_array().unwrap().iter().map(|found| last(&found["url"])).collect();
        assert_eq!(found, ["c", "a", "b"]);
        let skills: Vec<_> = report["harness"]["skills"].as_array().unwrap().iter().map(last).collect();
        assert_eq!(skills, ["a", "b", "c"]);
        assert_eq!(report["harness"]["plugins"][0], report["harness"]["skills"][0]);
        let ran = at.run(&["fetch", "code", "--max-resources", "3"]);
        assert_eq!(ran.code, Some(0), "a skill that is a plugin too counts once: {}", ran.stderr);
    });
}

#[test]
fn one_url_has_one_digest_and_one_name_one_skill() {
    in_namespace(test_name!(), &hosts(), || {
        let at = ForgePlace::new();
        let (leaf, other) = (skill(&[]), skill(&[]) + "other");
        let a = skill(&[format!("leaf#sha256={}", sha(b"old"))]);
        let files = [file("a", &a), file("leaf", &leaf), TestFile::new("more/leaf/SKILL.md", other.as_str())];
        let commit = at.repository("skills", &files);
        at.harness(&format!(
            "agent: agents/a.md\nskills: ['{}', '{}']\n",
            named(&commit, "a", &a),
            named(&commit, "leaf", &leaf)
        ));
        let ran = at.run(&["fetch", "code"]);
        assert!(ran.stderr.contains("is pinned to two digests"), "{}", ran.stderr);
        at.harness(&format!(
            "agent: agents/a.md\nskills:\n  - {}\n  - https://github.com/org/skills/tree/{commit}/more/leaf#sha256={}\n",
            named(&commit, "leaf", &leaf),
            pin(&other)
        ));
        let ran = at.run(&["fetch", "code"]);
        assert!(ran.stderr.contains("two skills are named `leaf`"), "{}", ran.stderr);
        at.harness(&format!("agent: '{0}'\nskills: ['{0}']\n", named(&commit, "leaf", &leaf)));
        let ran = at.run(&["fetch", "code"]);
        assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    });
}

/// A chain of so many edges below the first skill; gives the harness line.
fn chain(at: &ForgePlace, edges: usize) -> String {
    let mut files = Vec::new();
    let mut text = skill(&[]);
    for level in (0..edges).rev() {
        let name = format!("s{}", level + 1);
        files.push(file(&name, &text));
        text = skill(&[format!("{name}#sha256={}", pin(&text))]);
    }
    files.push(file("s0", &text));
    let commit = at.repository("skills", &files);
    format!("agent: agents/a.md\nskills: ['{}']\n", named(&commit, "s0", &text))
}

#[test]
fn depths_are_limited_as_documented() {
    in_namespace(test_name!(), &hosts(), || {
        for (edges, depths) in [
            (1, [Some(1), Some(2), Some(2), Some(2)]),
            (2, [Some(1), None, Some(3), Some(3)]),
            (10, [Some(1), None, None, Some(11)]),
            (11, [Some(1), None, None, None]),
        ] {
            let at = ForgePlace::new();
            let line = chain(&at, edges);
            at.harness(&line);
            for (limit, expected) in ["0", "1", "2", "10"].into_iter().zip(depths) {
                let ran = at.run(&["fetch", "code", "--format", "json", "--max-depth", limit]);
                let found = (ran.code == Some(0)).then(|| {
                    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
                    report["dependencies"].as_array().unwrap().len()
                });
                assert_eq!(found, expected, "{edges} edges, limit {limit}: {}", ran.stderr);
            }
        }
    });
}

#[test]
fn a_remote_skill_of_a_local_skill_lies_one_level_down() {
    in_namespace(test_name!(), &hosts(), || {
        let at = ForgePlace::new();
        let leaf = skill(&[]);
        let middle = skill(&[format!("leaf#sha256={}", pin(&leaf))]);
        let commit = at.repository("skills", &[file("leaf", &leaf), file("middle", &middle)]);
        let local = skill(&[format!("'{}'", named(&commit, "middle", &middle))]);
        at.place.write(".fullsend/skills/s/SKILL.md", local);
        at.harness("agent: agents/a.md\nskills: [skills/s]\n");
        assert_eq!(at.fetched(&["--max-depth", "2"]).len(), 2);
        let ran = at.run(&["fetch", "code", "--max-depth", "1"]);
        assert!(ran.stderr.contains("at most 1 are followed"), "{}", ran.stderr);
    });
}

#[test]
fn everything_that_may_be_remote_becomes_a_path() {
    in_namespace(test_name!(), &hosts(), || {
        let at = ForgePlace::new();
        let text = skill(&[]);
        let commit = at.repository(
            "skills",
            &[
                file("a", &text),
                TestFile::new("agents/code.md", AGENT),
                TestFile::new("policy.yaml", "version: 1\n"),
                TestFile::new("profile.yaml", "id: p\n"),
                TestFile::new("provider.yaml", "name: p\ntype: t\n"),
                TestFile::new("plugins/p/plugin.json", "{}"),
                TestFile::new("override.md", "override"),
            ],
        );
        let raw = |path: &str, text: &str| {
            let digest = sha(text.as_bytes());
            format!("https://raw.githubusercontent.com/org/skills/{commit}/{path}#sha256={digest}")
        };
        at.harness(&format!(
            "agent: {}\npolicy: {}\nskills:\n  - {}:\n      x.md: {}\nplugins:\n  - \
             https://github.com/org/skills/tree/{commit}/plugins/p#sha256={}\nopenshell:\n  profiles: ['{}']\n\
             providers: ['{}']\n",
            raw("agents/code.md", AGENT),
            raw("policy.yaml", "version: 1\n"),
            named(&commit, "a", &text),
            raw("override.md", "override"),
            tree(&[("plugin.json", "{}")]),
            raw("profile.yaml", "id: p\n"),
            raw("provider.yaml", "name: p\ntype: t\n"),
        ));
        let report = report(&at, &[]);
        assert_eq!(report["dependencies"].as_array().unwrap().len(), 7);
        let text = report["harness"].to_string();
        let without_list = report["harness"].as_object().unwrap().iter();
        for (key, value) in without_list.filter(|(key, _)| *key != "allowed_remote_resources") {
            assert!(!value.to_string().contains("https://"), "{key}: {value}");
        }
        assert_eq!(text.matches(".fullsend-cache/resources/sha256/").count(), 7, "{text}");
    });
}

#[test]
fn a_branch_is_accepted_with_a_pin_and_a_warning() {
    in_namespace(test_name!(), &hosts(), || {
        let at = ForgePlace::new();
        let text = skill(&[]);
        let commit = at.repository("skills", &[file("a", &text)]);
        at.harness(&format!("agent: agents/a.md\nskills: ['{}']\n", named("main", "a", &text)));
        let ran = at.run(&["fetch", "code"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stderr.contains("warning: `skills[0]` names a branch or tag"), "{}", ran.stderr);
        at.harness(&format!("agent: agents/a.md\nskills: ['{}']\n", named(&commit, "a", &text)));
        assert!(!at.run(&["fetch", "code"]).stderr.contains("warning"));
    });
}

#[test]
fn dependencies_stay_within_the_lists_and_refusals_are_recorded() {
    in_namespace(test_name!(), &hosts(), || {
        for reference in ["//evil.example/x", "/evil/r/tree/main/x", "https://gitlab.com/evil/r/-/tree/v1/x"]
        {
            let at = ForgePlace::new();
            let a = skill(&[format!("'{reference}#sha256={}'", sha(b"x"))]);
            let commit = at.repository("skills", &[file("a", &a)]);
            at.harness(&format!("agent: agents/a.md\nskills: ['{}']\n", named(&commit, "a", &a)));
            let ran = at.run(&["fetch", "code"]);
            assert_eq!(ran.code, Some(2), "{reference}");
            let refused: Vec<_> =
                at.audit().into_iter().filter(|line| line["refused"] == "not-allowed").collect();
            assert_eq!(refused.len(), 1, "{reference}: {}", ran.stderr);
            assert!(at.forge.requests().iter().all(|request| !format!("{request:?}").contains("evil")));
        }
    });
}

#[test]
fn fifty_skills_with_many_files_take_no_longer_than_their_sum() {
    in_namespace(test_name!(), &hosts(), || {
        let at = ForgePlace::new();
        let text = skill(&[]);
        let mut files = Vec::new();
        let mut pins = Vec::new();
        for index in 0..50 {
            let own: Vec<(String, String)> =
                (0..20).map(|file| (format!("f{file}.md"), format!("{index} {file}\n"))).collect();
            let listed: Vec<(&str, &str)> = own
                .iter()
                .map(|(path, text)| (path.as_str(), text.as_str()))
                .chain([("SKILL.md", text.as_str())])
                .collect();
            let file = |(path, text): &(&str, &str)| TestFile::new(&format!("skills/s{index}/{path}"), *text);
            files.extend(listed.iter().map(file));
            pins.push(tree(&listed));
        }
        let commit = at.repository("skills", &files);
        let mut lines = String::from("agent: agents/a.md\nskills:\n");
        for (index, pin) in pins.iter().enumerate() {
            lines +=
                &format!("  - https://github.com/org/skills/tree/{commit}/skills/s{index}#sha256={pin}\n");
        }
        at.harness(&lines);
        assert_eq!(at.fetched(&[]).len(), 50);
        let start = std::time::Instant::now();
        assert_eq!(at.fetched(&["--offline"]).len(), 50);
        assert!(start.elapsed() < std::time::Duration::from_secs(20), "{:?}", start.elapsed());
        let ran = at.run(&["fetch", "code", "--max-resources", "49"]);
        assert!(ran.stderr.contains("more than 49 remote resources"), "{}", ran.stderr);
    });
}
