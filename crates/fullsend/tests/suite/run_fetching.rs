//! Skills that an agent asks for while `fullsend run` is under way: by the tool `fetch_skill`, and by `fullsend fetch-skill` in a shell.

use fullsend_testkit::{TestFile, in_namespace, test_name};
use serde_json::{Value, json};

use crate::suite::forge_place::{ForgePlace, hosts, sha, tree};
use crate::suite::run_place::{ATTACK, Told, bash, run, says};

const SCRIPT: &str = "#!/bin/sh\necho checked\n";
/// Asks for every line of a file, and says what came of each.
const EACH: &str = "while read -r url; do fullsend fetch-skill \"$url\" > path 2> error && echo ok || cat error; done < urls";
/// Asks without the client, and prints the first line of the answer.
const STATUS: &str = r#"bash -c 'while read -r url; do port=${FULLSEND_FETCH_URL%/*}; port=${port##*:}; body="{\"url\": \"$url\"}"
exec 3<>/dev/tcp/127.0.0.1/$port
printf "POST /${FULLSEND_FETCH_URL##*/} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer $FULLSEND_FETCH_TOKEN\r\nContent-Type: application/json\r\nContent-Length: ${#body}\r\nConnection: close\r\n\r\n%s" "$body" >&3
head -n 1 <&3 | tr -d "\r"; done < urls'"#;

fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Skill {name}.\n---\nText of {name}.\n")
}

/// A forge with skills `s1` to `s12`, and an agent that may ask for them.
struct Fetching {
    at: ForgePlace,
    commit: String,
}

impl Fetching {
    fn new(test: &str) -> Option<Self> {
        let at = ForgePlace::with_sandboxes(test)?;
        at.place.write("repo/urls", "");
        let names: Vec<String> = (1..=12).map(|number| format!("s{number}")).collect();
        let files: Vec<TestFile> = names
            .iter()
            .flat_map(|name| {
                [
                    TestFile::new(&format!("skills/{name}/SKILL.md"), skill(name)),
                    TestFile::executable(&format!("skills/{name}/scripts/check.sh"), SCRIPT),
                ]
            })
            .chain([
                TestFile::new("skills/evil/SKILL.md", skill("evil")),
                TestFile::new("skills/evil/deep/x.md", ATTACK),
            ])
            .collect();
        let commit = at.repository("skills", &files);
        let fetching = Self { at, commit };
        fetching.harness("");
        Some(fetching)
    }

    /// The agent may fetch, with these lines besides.
    fn harness(&self, lines: &str) {
        self.at.harness(&format!("agent: agents/a.md\nallow_runtime_fetch: true\n{lines}"));
    }

    fn bare(&self, name: &str) -> String {
        format!("https://github.com/org/skills/tree/{}/skills/{name}", self.commit)
    }

    fn url(&self, name: &str) -> String {
        let pin = tree(&[("SKILL.md", &skill(name)), ("scripts/check.sh", SCRIPT)]);
        format!("{}#sha256={pin}", self.bare(name))
    }

    fn does(&self, calls: &[Value]) {
        let mut turns: Vec<Value> = calls.iter().map(|call| json!({"calls": [call]})).collect();
        turns.push(json!({"say": "done"}));
        says(&self.at.place, &turns.into());
    }

    fn run(&self, options: &[&str]) -> Told {
        let told = run(&self.at.place, options, &[]);
        assert_eq!(told.end(), (Some(0), "success"), "{}", told.ran.stderr);
        told
    }

    /// What came of asking for each of these in a shell.
    fn ask(&self, command: &str, urls: &[String], options: &[&str]) -> Vec<String> {
        self.at.place.write("repo/urls", format!("{}\n", urls.join("\n")));
        self.does(&[bash(command)]);
        let stdout = self.run(options).stdout();
        stdout.lines().map(str::to_owned).collect()
    }

    /// The audit log's lines about what agents asked for.
    fn audit(&self) -> Vec<Value> {
        self.at.audit().into_iter().filter(|line| line["fetch_type"] == "runtime").collect()
    }
}

fn fetch(url: &str) -> Value {
    json!({"tool": "fetch_skill", "args": {"url": url}})
}

#[test]
fn who_may_not_fetch_cannot() {
    in_namespace(test_name!(), &hosts(), || {
        let Some(fetching) = Fetching::new(test_name!()) else { return };
        fetching.at.harness("agent: agents/a.md\n");
        fetching.at.place.write("repo/urls", fetching.url("s1"));
        fetching.does(&[
            fetch(&fetching.url("s1")),
            bash("fullsend fetch-skill \"$(cat urls)\"; env | grep FETCH"),
        ]);
        let results = fetching.run(&[]).results();
        assert!(!results[0].to_string().contains("\"fetched\""), "{}", results[0]);
        assert_eq!(results[1]["stdout"], "", "{}", results[1]);
        assert!(
            results[1]["stderr"].as_str().unwrap().contains("is runtime fetch enabled"),
            "{}",
            results[1]
        );
        assert_eq!((fetching.at.forge.requests().len(), fetching.at.audit().len()), (0, 0));
    });
}

#[test]
fn a_skill_that_may_come_comes_whole_and_can_be_used() {
    in_namespace(test_name!(), &hosts(), || {
        let Some(fetching) = Fetching::new(test_name!()) else { return };
        fetching.at.place.write("repo/urls", fetching.url("s2"));
        fetching.does(&[
            fetch(&fetching.url("s1")),
            json!({"tool": "load_skill", "args": {"name": "s1"}}),
            bash("d=$(fullsend fetch-skill \"$(cat urls)\") && cd $d && find . -type f | sort && cat SKILL.md && scripts/check.sh; echo x >> SKILL.md"),
        ]);
        let told = fetching.run(&[]);
        let results = told.results();
        assert_eq!(
            (&results[0]["status"], &results[0]["skill"]),
            (&json!("fetched"), &json!("s1")),
            "{}",
            results[0]
        );
        assert!(results[1].to_string().contains("Text of s1."), "{}", results[1]);
        let expected = format!("./SKILL.md\n./scripts/check.sh\n{}checked\n", skill("s2"));
        assert_eq!(results[2]["stdout"], expected, "{}", results[2]);
        assert!(
            results[2]["stderr"].as_str().unwrap().to_lowercase().contains("read-only"),
            "{}",
            results[2]
        );
        let audit = fetching.audit();
        assert_eq!(audit.len(), 2, "{audit:?}");
        for (line, name) in audit.iter().zip(["s1", "s2"]) {
            assert_eq!(
                (&line["url"], &line["allowed_by"]),
                (&json!(fetching.bare(name)), &json!("https://github.com/org/"))
            );
            assert_eq!((&line["cache_hit"], line.get("refused")), (&json!(false), None));
        }
        // The next run may be without a network; a skill that is not there is refused then.
        let asked = fetching.at.forge.requests().len();
        let said = fetching.ask(EACH, &[fetching.url("s1"), fetching.url("s3")], &["--offline"]);
        assert_eq!(said[0], "ok");
        assert!(said[1].starts_with("Error: "), "{said:?}");
        assert_eq!(fetching.at.forge.requests().len(), asked, "offline is offline");
    });
}

#[test]
fn what_may_not_come_does_not_and_is_on_record() {
    in_namespace(test_name!(), &hosts(), || {
        let Some(fetching) = Fetching::new(test_name!()) else { return };
        let pin = format!("#sha256={}", sha(b"x"));
        let evil = tree(&[("SKILL.md", &skill("evil")), ("deep/x.md", ATTACK)]);
        let rows = [
            (fetching.url("s1").replace("/org/", "/other/"), 403, "is not in allowed_remote_resources"),
            (fetching.bare("s1"), 400, "must include #sha256="),
            (fetching.url("s1").replace("https:", "http:"), 400, "must be a valid HTTPS URL"),
            (format!("https://raw.githubusercontent.com/org/skills/main/x{pin}"), 400, "supported forge"),
            (format!("{}{pin}", fetching.bare("s1")), 0, ""),
            (format!("{}#sha256={evil}", fetching.bare("evil")), 0, ""),
        ];
        let urls: Vec<String> = rows.iter().map(|(url, _, _)| url.clone()).collect();
        let said = fetching.ask(EACH, &urls, &[]);
        // Sockets in a shell are what the hook for commands refuses to understand.
        fetching.harness("security: {sandbox_hooks: {command_pretool: {enabled: false}}}\n");
        let statuses = fetching.ask(STATUS, &urls, &[]);
        fetching.harness("");
        assert_eq!((said.len(), statuses.len()), (rows.len(), rows.len()), "{said:?} {statuses:?}");
        for (((url, status, message), said), line) in rows.iter().zip(&said).zip(&statuses) {
            assert!(said.starts_with("Error: ") && said.contains(message), "{url}: {said}");
            let got: u16 = line.split(' ').nth(1).unwrap().parse().unwrap();
            assert!(if *status == 0 { got >= 400 } else { got == *status }, "{url}: {line}");
        }
        let audit = fetching.audit();
        assert_eq!(audit.len(), 2 * rows.len(), "{audit:?}");
        assert!(
            audit.iter().all(|line| line["refused"].is_string() && line["reason"].is_string()),
            "{audit:?}"
        );
        // The same by the tool of the built-in agent; what was found is in the findings log of the run.
        fetching.does(&urls.iter().map(|url| fetch(url)).collect::<Vec<Value>>());
        let told = fetching.run(&[]);
        assert!(told.results().iter().all(|result| result["status"] == "error"), "{:?}", told.results());
        let log = told.read("security/findings.jsonl");
        assert!(log.contains("injection") && log.contains("\"action\":\"block\""), "{log}");
        let find = std::process::Command::new("find")
            .arg(told.dir.as_ref().unwrap())
            .args(["-name", "x.md"])
            .output();
        assert!(find.unwrap().stdout.is_empty());
    });
}

#[test]
fn an_agent_gets_ten_skills_or_as_many_as_the_harness_says() {
    in_namespace(test_name!(), &hosts(), || {
        let Some(fetching) = Fetching::new(test_name!()) else { return };
        let urls: Vec<String> = (1..=11).map(|number| fetching.url(&format!("s{number}"))).collect();
        for (lines, most) in [("", 10), ("max_runtime_fetches: 2\n", 2)] {
            fetching.harness(lines);
            let said = fetching.ask(EACH, &urls, &[]);
            let fine = said.iter().take_while(|line| *line == "ok").count();
            assert_eq!((fine, said.len()), (most, 11), "{said:?}");
            assert!(said.iter().skip(most).all(|line| line.starts_with("Error: ")), "{said:?}");
        }
    });
}

#[test]
fn a_run_says_that_its_audit_log_could_not_be_written() {
    in_namespace(test_name!(), &hosts(), || {
        let Some(fetching) = Fetching::new(test_name!()) else { return };
        let log = fetching.at.place.path().join(".fullsend/.fullsend-cache/fetch-audit.jsonl");
        std::fs::create_dir_all(&log).unwrap();
        fetching.does(&[fetch(&fetching.bare("s1"))]);
        let told = fetching.run(&[]);
        assert_eq!(told.results()[0]["status"], "error", "{:?}", told.results());
        let expected = "/.fullsend-cache/fetch-audit.jsonl`";
        let warnings = told.report()["warnings"].as_array().unwrap();
        let count = warnings.iter().filter(|told| told.as_str().unwrap().contains(expected)).count();
        assert_eq!(count, 1, "{warnings:?}");
        let mut events = told.lines.iter().map(|line| &line["event"]);
        assert!(
            events.any(|event| event["type"] == "warning" && event["text"].to_string().contains(expected)),
            "{:?}",
            told.lines
        );
    });
}
