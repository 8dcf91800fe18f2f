//! `fullsend harness show`: composition, origins, round trips, failures.

use serde_json::{Value, json};

use crate::suite::running::Place;

fn team() -> Place {
    let place = Place::with_harness();
    place.write(
        ".fullsend/bases/common.yaml",
        "model: sonnet\neffort: low\nenv:\n  sandbox:\n    A: 1\nforge:\n  github:\n    policy: p.yaml\n",
    );
    place.write(
        ".fullsend/harness/code.yaml",
        "base: ../bases/common.yaml\nagent: agents/a.md\nrole: coder\neffort: high\n",
    );
    place
}

#[test]
fn every_value_names_its_file_and_line() {
    let ran = team().run(&["harness", "show", "code", "--resolved-base", "--forge", "github"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert_eq!(
        ran.stdout,
        "# .fullsend/harness/code.yaml\n\
         # .fullsend/bases/common.yaml\n\
         agent: agents/a.md                               # harness/code.yaml:2\n\
         role: coder                                      # harness/code.yaml:3\n\
         policy: p.yaml                                   # bases/common.yaml:8\n\
         model: sonnet                                    # bases/common.yaml:1\n\
         effort: high                                     # harness/code.yaml:4\n\
         env:\n  \
           sandbox:\n    \
             A: \"1\"                                       # bases/common.yaml:5\n"
    );
}

#[test]
fn without_flags_the_harness_is_shown_as_written() {
    let ran = team().run(&["harness", "show", "code", "--format", "json"]);
    let shown: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        shown["harness"],
        json!({"base": "../bases/common.yaml", "agent": "agents/a.md", "role": "coder", "effort": "high"})
    );
    assert_eq!(
        shown["origins"]["/effort"],
        json!({"file": ".fullsend/harness/code.yaml", "line": 4, "column": 9})
    );
}

#[test]
fn a_path_and_a_registered_name_work_too() {
    let place = team();
    place.write(
        ".fullsend/config.yaml",
        "agents:\n  - name: builder\n    source: harness/code.yaml\n  - name: old\n    enabled: false\n",
    );
    for name in ["builder", "code", ".fullsend/harness/code.yaml"] {
        assert_eq!(place.run(&["harness", "show", name]).code, Some(0), "{name}");
    }
    let ran = place.run(&["harness", "show", "old"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.starts_with("error: the agent `old` is disabled in `config.yaml`\n  help: "),
        "{}",
        ran.stderr
    );
    let ran = place.run(&["harness", "show", "bilder"]);
    assert_eq!(ran.stderr, "error: no harness `bilder` in `.fullsend`\n  help: did you mean `builder`?\n");
}

#[test]
fn a_platform_without_overlay_is_named() {
    let ran = team().run(&["harness", "show", "code", "--resolved-base", "--forge", "gitlab"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.starts_with("error: the harness has no `forge.gitlab`\n  help: "), "{}", ran.stderr);
    let ran = team().run(&["harness", "show", "code", "--forge", "bitbucket"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("must be one of `github`, `gitlab`, `jira`"), "{}", ran.stderr);
}

#[test]
fn a_broken_harness_is_not_shown() {
    let place = team();
    place.write(".fullsend/bases/common.yaml", "modle: sonnet\n");
    let ran = place.run(&["harness", "show", "code", "--resolved-base"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("bases/common.yaml:1:1"), "{}", ran.stderr);
}

/// Every key that is documented, in its long and short forms.
const EVERYTHING: &str = include_str!("../everything/harness/everything.yaml");

fn everything() -> Place {
    let place = Place::new();
    let pin = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    place.write(".fullsend/config.yaml", "allowed_remote_resources: [https://github.com/o/]\n");
    place.write(".fullsend/bases/base.yaml", "doc: docs/base.md\n");
    place.write(".fullsend/harness/everything.yaml", EVERYTHING.replace("PIN", pin));
    for file in ["agents/a.md", "skills/s/SKILL.md", "skills/t/SKILL.md", "policies/p.yaml", "over/x.md"] {
        place.write(&format!(".fullsend/{file}"), "---\nname: x\ndescription: x\n---\nx\n");
    }
    for file in ["plugins/fmt/plugin.json", "scripts/x.sh", "schemas/s.json", "input/i", "profiles/p.yaml"] {
        place.write(&format!(".fullsend/{file}"), "id: p\n");
    }
    place.write(".fullsend/providers/github.yaml", "name: github\ntype: p\n");
    place.write(".fullsend/providers/extra.yaml", "name: extra\ntype: p\n");
    place
}

#[test]
fn a_harness_with_every_key_lints_and_round_trips() {
    let place = everything();
    let lint = place.run(&["harness", "lint"]);
    assert_eq!(lint.code, Some(0), "{}", lint.stdout);
    let first = place.run(&["harness", "show", "everything", "--format", "json"]);
    let shown: Value = serde_json::from_str(&first.stdout).unwrap();
    for key in fullsend_harness::schema::HarnessFile::KEYS {
        assert!(shown["harness"].get(key).is_some(), "`{key}` is missing from the example with every key");
    }
    for key in fullsend_harness::schema::ForgeOverlay::KEYS {
        assert!(shown["harness"]["forge"]["github"].get(key).is_some(), "`forge.github.{key}` is missing");
    }
    place.write(".fullsend/harness/again.yaml", shown["harness"].to_string());
    let second = place.run(&["harness", "show", "again", "--format", "json"]);
    let again: Value = serde_json::from_str(&second.stdout).unwrap();
    assert_eq!(again["harness"], shown["harness"]);
    let text = place.run(&["harness", "show", "everything"]).stdout;
    place.write(".fullsend/harness/text.yaml", &text);
    let third = place.run(&["harness", "show", "text", "--format", "json"]);
    assert_eq!(serde_json::from_str::<Value>(&third.stdout).unwrap()["harness"], shown["harness"], "{text}");
}

#[test]
fn every_value_of_the_full_harness_has_an_origin() {
    let place = everything();
    let shown: Value =
        serde_json::from_str(&place.run(&["harness", "show", "everything", "--format", "json"]).stdout)
            .unwrap();
    let origins = shown["origins"].as_object().unwrap();
    let mut missing = Vec::new();
    collect_leaves(&shown["harness"], String::new(), &mut |pointer| {
        if !origins.keys().any(|known| known == pointer || pointer.starts_with(&format!("{known}/"))) {
            missing.push(pointer.to_owned());
        }
    });
    assert_eq!(missing, Vec::<String>::new());
}

fn collect_leaves(value: &Value, pointer: String, found: &mut dyn FnMut(&str)) {
    let step = |key: &str| format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
    match value {
        Value::Object(entries) => {
            entries.iter().for_each(|(key, value)| collect_leaves(value, step(key), found))
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, value)| collect_leaves(value, step(&index.to_string()), found));
        }
        Value::Null => {}
        Value::Bool(_) | Value::Number(_) | Value::String(_) => found(&pointer),
    }
}
