//! Remote resources through `fullsend run`: what a harness names arrives verified in the sandbox, or nothing runs.

use fullsend_testkit::{Host, Reply, TestFile, in_namespace, test_name};
use serde_json::{Value, json};

use crate::suite::forge_place::{ALLOWED, ForgePlace, hosts, sha, tree};
use crate::suite::run_place::{ATTACK, Told, bash, run, says};

const SKILL: &str = "---\nname: style\ndescription: Style.\n---\nBe brief.\n";
const SCRIPT: &str = "#!/bin/sh\necho checked\n";
/// What is in the sandbox of skills.
const LOOK: &str = "cd /sandbox/replay-config/skills && find . -type f | sort && cat style/SKILL.md && style/scripts/check.sh";

/// A forge with the skill `style`, a target repository, and an agent that looks at its skills.
struct Remote {
    at: ForgePlace,
    /// The URL of the skill, without a pin.
    url: String,
}

impl Remote {
    /// Nothing if there are no sandboxes inside.
    fn new(test: &str) -> Option<Self> {
        let at = ForgePlace::with_sandboxes(test)?;
        at.place.write("repo/README.md", "A repository.\n");
        says(&at.place, &json!([{"calls": [bash(LOOK)]}, {"say": "done"}]));
        let commit = at.repository(
            "skills",
            &[
                TestFile::new("skills/style/SKILL.md", SKILL),
                TestFile::executable("skills/style/scripts/check.sh", SCRIPT),
            ],
        );
        Some(Self { at, url: format!("https://github.com/org/skills/tree/{commit}/skills/style") })
    }

    fn pin() -> String {
        tree(&[("SKILL.md", SKILL), ("scripts/check.sh", SCRIPT)])
    }

    /// The harness names this skill.
    fn names(&self, skill: &str) {
        self.at.harness(&format!("agent: agents/a.md\nskills: ['{skill}']\n"));
    }

    /// The harness names the skill as it is.
    fn usual(&self) {
        self.names(&format!("{}#sha256={}", self.url, Self::pin()));
    }

    fn run(&self, options: &[&str]) -> Told {
        run(&self.at.place, options, &[])
    }

    /// The run is refused before anything else happens, with these words.
    fn refused(&self, options: &[&str], said: &str) {
        let told = self.run(options);
        assert_eq!(
            (told.ran.code, told.step("pre_script"), told.step("agent")),
            (Some(2), None, None),
            "{}",
            told.ran.stderr
        );
        assert!(told.ran.stderr.contains(said), "{said}: {}", told.ran.stderr);
        assert!(told.ran.stderr.contains("help: "), "{}", told.ran.stderr);
    }

    fn asked(&self) -> usize {
        self.at.forge.requests().len()
    }

    /// The reasons for refusals, from the audit log.
    fn refusals(&self) -> Vec<String> {
        let lines = self.at.audit().into_iter();
        lines.filter_map(|line| line["refused"].as_str().map(str::to_owned)).collect()
    }
}

#[test]
fn a_local_harness_asks_nobody() {
    in_namespace(test_name!(), &hosts(), || {
        let Some(remote) = Remote::new(test_name!()) else { return };
        says(
            &remote.at.place,
            &json!([{"calls": [bash("cat /sandbox/replay-config/skills/s/SKILL.md")]}, {"say": "done"}]),
        );
        remote
            .at
            .place
            .write(".fullsend/harness/code.yaml", "agent: agents/a.md\nrole: coder\nskills: [skills/s]\n");
        let mut seen = Vec::new();
        for options in [&[][..], &["--offline"]] {
            let told = remote.run(options);
            assert_eq!(told.end(), (Some(0), "success"), "{}", told.ran.stderr);
            assert_eq!(told.report()["dependencies"], json!([]));
            seen.push(told.stdout());
        }
        assert!(seen[0].contains("name: s\n") && seen[0] == seen[1], "{seen:?}");
        assert_eq!((remote.asked(), remote.at.audit().len()), (0, 0));
    });
}

#[test]
fn a_pinned_skill_is_in_the_sandbox_and_on_record_also_without_a_network() {
    in_namespace(test_name!(), &hosts(), || {
        let Some(remote) = Remote::new(test_name!()) else { return };
        remote.usual();
        remote.refused(&["--offline"], "help: run `fullsend fetch` with a network first");
        assert_eq!(remote.asked(), 0, "offline is offline");
        let told = remote.run(&[]);
        assert_eq!(told.end(), (Some(0), "success"), "{}", told.ran.stderr);
        let expected = format!("./style/SKILL.md\n./style/scripts/check.sh\n{SKILL}checked\n");
        assert_eq!(told.stdout(), expected);
        let asked = remote.asked();
        assert!(asked > 0);
        let again = remote.run(&["--offline"]);
        assert_eq!((again.end(), again.stdout()), ((Some(0), "success"), expected));
        assert_eq!(remote.asked(), asked, "nothing was asked of the network");
        for told in [&told, &again] {
            let found = &told.report()["dependencies"][0];
            assert_eq!(
                (&found["source"], &found["sha256"]),
                (&json!(remote.url), &json!(Remote::pin())),
                "{found}"
            );
        }
        let audit = remote.at.audit();
        let kept: Vec<_> = audit.iter().filter(|line| line.get("refused").is_none()).collect();
        let hits: Vec<&Value> = kept.iter().map(|line| &line["cache_hit"]).collect();
        assert_eq!(hits, [&json!(false), &json!(true)], "{audit:?}");
        for line in kept {
            assert_eq!((&line["fetch_type"], &line["url"]), (&json!("static"), &json!(remote.url)));
            assert_eq!(
                (&line["sha256"], &line["allowed_by"]),
                (&json!(Remote::pin()), &json!("https://github.com/org/"))
            );
        }
    });
}

#[test]
fn what_is_not_pinned_not_allowed_or_not_what_was_pinned_is_refused() {
    in_namespace(test_name!(), &hosts(), || {
        let Some(remote) = Remote::new(test_name!()) else { return };
        let pin = format!("#sha256={}", Remote::pin());
        remote.names(&remote.url);
        remote.refused(&[], "error[unpinned-url]");
        remote.names(&format!("{}{pin}", remote.url.replace("/org/", "/evil/")));
        remote.refused(&[], "allowed_remote_resources");
        remote.names(&format!("{}{pin}", remote.url.replace("https:", "http:")));
        remote.refused(&[], "https");
        remote.names(&format!("{}{pin}", remote.url.replace("github.com", "140.82.112.3")));
        remote.refused(&[], "");
        for key in ["pre_script", "post_script", "agent_input"] {
            remote.at.harness(&format!("agent: agents/a.md\n{key}: {}{pin}\n", remote.url));
            remote.refused(&[], "must be a local path, not a URL");
        }
        remote
            .at
            .harness(&format!("agent: agents/a.md\nvalidation_loop: {{script: '{}{pin}'}}\n", remote.url));
        remote.refused(&[], "must be a local path, not a URL");
        remote.at.harness(&format!(
            "agent: agents/a.md\nhost_files: [{{src: '{}{pin}', dest: /sandbox/x}}]\n",
            remote.url
        ));
        remote.refused(&[], "");
        // A harness cannot allow itself more than the organisation does.
        remote.usual();
        remote
            .at
            .place
            .write(".fullsend/config.yaml", "allowed_remote_resources: [https://github.com/org/other/]\n");
        remote.refused(&[], "allowed_remote_resources");
        remote.at.place.write(".fullsend/config.yaml", "version: \"1\"\n");
        remote.refused(&[], "allowed_remote_resources");
        assert_eq!(remote.asked(), 0, "somebody was asked for something");
        remote.at.place.write(".fullsend/config.yaml", ALLOWED);
        let wrong = sha(b"something else");
        remote.names(&format!("{}#sha256={wrong}", remote.url));
        remote.refused(&[], &wrong);
        assert!(remote.refusals().contains(&"integrity-mismatch".to_owned()), "{:?}", remote.refusals());
        assert_eq!(remote.at.cached(), 0, "what was refused is not kept");
    });
}

#[test]
fn addresses_that_are_not_public_and_redirects_are_refused() {
    let mut hosts: Vec<Host> = hosts().into_iter().filter(|host| host.name != "gitlab.com").collect();
    hosts.extend([Host::new("elsewhere.example", "172.65.251.78"), Host::new("gitlab.com", "10.0.0.1")]);
    in_namespace(test_name!(), &hosts, || {
        let Some(remote) = Remote::new(test_name!()) else { return };
        let pin = Remote::pin();
        remote.names(&format!(
            "https://gitlab.com/org/skills/-/tree/{}/skills/style#sha256={pin}",
            "a".repeat(40)
        ));
        remote.refused(&[], "10.0.0.1");
        assert_eq!(remote.asked(), 0);
        remote.usual();
        remote.at.forge.interject(0, 100, Reply::redirect(302, "https://elsewhere.example/x"));
        // A forge that sends the request elsewhere is not followed.
        remote.refused(&[], "under another name now");
        assert!(
            remote
                .at
                .forge
                .requests()
                .iter()
                .all(|request| request.header("host") != Some("elsewhere.example"))
        );
        assert_eq!(remote.at.cached(), 0);
    });
}

/// A `SKILL.md` that depends on these references.
fn depends(name: &str, on: &[String]) -> String {
    format!("---\nname: {name}\ndescription: x\ndependencies: [{}]\n---\nText of {name}.\n", on.join(", "))
}

#[test]
fn skills_arrive_with_what_they_depend_on_within_limits() {
    in_namespace(test_name!(), &hosts(), || {
        let Some(remote) = Remote::new(test_name!()) else { return };
        let pinned = |name: &str, text: &str| format!("{name}#sha256={}", tree(&[("SKILL.md", text)]));
        let leaf = depends("leaf", &[]);
        let middle = depends("middle", &[pinned("leaf", &leaf)]);
        let top = depends("top", &[pinned("middle", &middle)]);
        let two = depends("two", &[format!("one#sha256={}", sha(b"x"))]);
        let one = depends("one", &[pinned("two", &two)]);
        let open = depends("open", &["leaf".to_owned()]);
        let files: Vec<TestFile> = [
            ("leaf", &leaf),
            ("middle", &middle),
            ("top", &top),
            ("one", &one),
            ("two", &two),
            ("open", &open),
        ]
        .iter()
        .map(|(name, text)| TestFile::new(&format!("skills/{name}/SKILL.md"), text.as_str()))
        .collect();
        let commit = remote.at.repository("graph", &files);
        let named =
            |reference: String| format!("https://github.com/org/graph/tree/{commit}/skills/{reference}");
        remote.names(&named(pinned("top", &top)));
        says(
            &remote.at.place,
            &json!([{"calls": [bash("cd /sandbox/replay-config/skills && cat */SKILL.md | grep Text")]}, {"say": "done"}]),
        );
        let told = remote.run(&[]);
        assert_eq!(told.end(), (Some(0), "success"), "{}", told.ran.stderr);
        assert_eq!(told.stdout(), "Text of leaf.\nText of middle.\nText of top.\n");
        assert_eq!(told.report()["dependencies"].as_array().unwrap().len(), 3);
        remote.refused(&["--max-depth", "1"], "at most 1 are followed");
        remote.refused(&["--max-resources", "2"], "more than 2 remote resources");
        remote.names(&named(pinned("one", &one)));
        remote.refused(&[], "skills/one → ");
        remote.names(&named(pinned("open", &open)));
        remote.refused(&[], "leaf");
    });
}

#[test]
fn a_fetched_skill_that_gives_orders_does_not_enter() {
    in_namespace(test_name!(), &hosts(), || {
        let Some(remote) = Remote::new(test_name!()) else { return };
        let commit = remote.at.repository(
            "evil",
            &[
                TestFile::new("skills/style/SKILL.md", SKILL),
                TestFile::new("skills/style/references/x.md", ATTACK),
            ],
        );
        let pin = tree(&[("SKILL.md", SKILL), ("references/x.md", ATTACK)]);
        remote.names(&format!("https://github.com/org/evil/tree/{commit}/skills/style#sha256={pin}"));
        let told = remote.run(&[]);
        assert_eq!((told.end(), told.step("upload")), ((Some(3), "blocked"), None), "{}", told.ran.stderr);
    });
}

#[test]
fn the_lock_file_is_held_to() {
    in_namespace(test_name!(), &hosts(), || {
        let Some(remote) = Remote::new(test_name!()) else { return };
        remote.usual();
        assert_eq!(remote.at.run(&["lock", "code"]).code, Some(0));
        let told = remote.run(&[]);
        assert_eq!(told.end(), (Some(0), "success"), "{}", told.ran.stderr);
        let path = remote.at.place.path().join(".fullsend/lock.yaml");
        let lock = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, lock.replace(&Remote::pin(), &sha(b"evil"))).unwrap();
        remote.refused(&[], "fullsend lock code");
        std::fs::write(&path, &lock).unwrap();
        // Another commit with the same content is not what was locked either.
        let commit = remote.at.repository("more", &[TestFile::new("skills/style/SKILL.md", SKILL)]);
        let other = tree(&[("SKILL.md", SKILL)]);
        remote.names(&format!("https://github.com/org/more/tree/{commit}/skills/style#sha256={other}"));
        remote.refused(&[], "fullsend lock code");
    });
}
