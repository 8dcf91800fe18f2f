//! How a child combines with its base, for every key there is.

use std::collections::BTreeSet;

use fullsend_harness::compose::{MERGE_RULES, MergeRule, merge};
use fullsend_harness::schema::HarnessFile;
use serde_json::{Value, json};

use super::support::Folder;

/// A value for the base, another for the child, and what both together must give.
struct Row {
    key: &'static str,
    base: Value,
    child: Value,
    both: Value,
}

/// One row per key of a harness. A key without a row fails [`every_key_has_one_rule_and_one_row`].
fn rows() -> Vec<Row> {
    let replaced = |key, base: Value, child: Value| Row { key, base, both: child.clone(), child };
    let mut rows = vec![
        replaced("agent", json!("agents/base.md"), json!("agents/child.md")),
        replaced("doc", json!("docs/base.md"), json!("docs/child.md")),
        replaced("description", json!("From the base."), json!("From the child.")),
        replaced("role", json!("triage"), json!("coder")),
        replaced("slug", json!("base-app"), json!("child-app")),
        replaced("image", json!("ghcr.io/base:1"), json!("ghcr.io/child:2")),
        replaced("policy", json!("policies/base.yaml"), json!("policies/child.yaml")),
        replaced("model", json!("opus"), json!("sonnet")),
        replaced("effort", json!("low"), json!("max")),
        replaced("pre_script", json!("scripts/base.sh"), json!("scripts/child.sh")),
        replaced("post_script", json!("scripts/base.sh"), json!("scripts/child.sh")),
        replaced("agent_input", json!("input/base"), json!("input/child")),
        replaced("timeout_minutes", json!(10), json!(20)),
        replaced("readonly_repo", json!(true), json!(false)),
        replaced("sandbox_timeout_seconds", json!(60), json!(120)),
        replaced("trigger", json!("event.base == true"), json!("event.child == true")),
        replaced(
            "security",
            json!({"fail_mode": "open", "trace": {"enabled": false}}),
            json!({"escalation": {"on_critical": "review"}}),
        ),
        replaced(
            "validation_loop",
            json!({"script": "base.sh", "schema": "base.json", "max_iterations": 3, "feedback_mode": "none"}),
            json!({"script": "child.sh"}),
        ),
        replaced("flow", json!({"child_bits": 1}), json!({"clearance": {"trust": "workspace"}})),
        replaced("allowed_remote_resources", json!(["https://a.test/"]), json!(["https://b.test/"])),
        replaced("allow_runtime_fetch", json!(true), json!(false)),
        replaced("max_runtime_fetches", json!(5), json!(6)),
    ];
    rows.extend(combined_rows());
    rows
}

/// The rows of keys whose two values are combined.
fn combined_rows() -> Vec<Row> {
    vec![
        // The chain is followed and used up; the base's own key is `null` here, which means absent.
        Row { key: "base", base: json!(null), child: json!("parent.yaml"), both: json!(null) },
        Row {
            key: "skills",
            base: json!(["skills/a", "skills/b"]),
            child: json!(["mine/b", "skills/c"]),
            both: json!(["skills/a", "mine/b", "skills/c"]),
        },
        Row {
            key: "plugins",
            base: json!(["plugins/a"]),
            child: json!(["plugins/b"]),
            both: json!(["plugins/a", "plugins/b"]),
        },
        Row { key: "providers", base: json!(["a"]), child: json!(["b"]), both: json!(["a", "b"]) },
        Row {
            key: "openshell",
            base: json!({"profiles": ["a.yaml"]}),
            child: json!({"profiles": ["b.yaml"]}),
            both: json!({"profiles": ["a.yaml", "b.yaml"]}),
        },
        Row {
            key: "host_files",
            base: json!([{"src": "a", "dest": "/x", "optional": true}, {"src": "b", "dest": "/y"}]),
            child: json!([{"src": "c", "dest": "/x"}, {"src": "d", "dest": "/z"}]),
            both: json!([
                {"src": "c", "dest": "/x"},
                {"src": "b", "dest": "/y"},
                {"src": "d", "dest": "/z"},
            ]),
        },
        Row {
            key: "api_servers",
            base: json!([{"name": "a", "script": "a.sh"}]),
            child: json!([{"name": "b", "script": "b.sh", "port": 80, "env": {"K": "v"}}]),
            both: json!([
                {"name": "a", "script": "a.sh"},
                {"name": "b", "script": "b.sh", "port": 80, "env": {"K": "v"}},
            ]),
        },
        Row {
            key: "runner_env",
            base: json!({"A": "1", "B": "2"}),
            child: json!({"B": "3", "C": "4"}),
            both: json!({"A": "1", "B": "3", "C": "4"}),
        },
        Row {
            key: "env",
            base: json!({"runner": {"A": "1"}, "sandbox": {"S": "1", "T": "2"}}),
            child: json!({"runner": {"B": "2"}, "sandbox": {"T": "3"}}),
            both: json!({"runner": {"A": "1", "B": "2"}, "sandbox": {"S": "1", "T": "3"}}),
        },
        Row {
            key: "forge",
            base: json!({"github": {"pre_script": "a.sh", "policy": "a.yaml"}, "gitlab": {}}),
            child: json!({"github": {"pre_script": "b.sh"}, "jira": {}}),
            both: json!({"github": {"pre_script": "b.sh", "policy": "a.yaml"}, "gitlab": {}, "jira": {}}),
        },
    ]
}

fn compose(key: &str, base: Option<&Value>, child: Option<&Value>) -> Value {
    let document = |value: Option<&Value>, base: &str| {
        let key = value.map_or(String::new(), |value| format!("{key}: {value}\n"));
        format!("{base}{key}")
    };
    let folder = Folder::empty();
    folder.write("harness/parent.yaml", &document(base, ""));
    let base_line = if key == "base" { "" } else { "base: parent.yaml\n" };
    folder.write("harness/code.yaml", &document(child, base_line));
    let mut harness = folder.resolved();
    harness.as_object_mut().unwrap().remove(key).unwrap_or(Value::Null)
}

#[test]
fn every_key_has_one_rule_and_one_row() {
    let keys: BTreeSet<&str> = HarnessFile::KEYS.iter().copied().collect();
    let mut ruled: Vec<&str> = MERGE_RULES.iter().map(|(key, _)| *key).collect();
    ruled.sort_unstable();
    assert_eq!(
        ruled,
        Vec::from_iter(keys.iter().copied()),
        "each key of a harness has exactly one merge rule"
    );
    let mut rowed: Vec<&str> = rows().iter().map(|row| row.key).collect();
    rowed.sort_unstable();
    assert_eq!(rowed, Vec::from_iter(keys), "each key of a harness has exactly one row in this file");
}

#[test]
fn every_key_obeys_its_rule() {
    for Row { key, base, child, both } in rows() {
        let (_, rule) = MERGE_RULES.iter().find(|(ruled, _)| *ruled == key).unwrap();
        assert_ne!(base, child, "{key}: the two sides must differ to tell them apart");
        let inherited = match rule {
            MergeRule::NotInherited | MergeRule::Consumed => Value::Null,
            MergeRule::Replace
            | MergeRule::Append
            | MergeRule::ByName
            | MergeRule::PerKey
            | MergeRule::WholeBlock => base.clone(),
        };
        let own = if *rule == MergeRule::Consumed { Value::Null } else { child.clone() };
        assert_eq!(compose(key, Some(&base), None), inherited, "{key}: base only");
        assert_eq!(compose(key, None, Some(&child)), own, "{key}: child only");
        assert_eq!(compose(key, Some(&base), Some(&child)), both, "{key}: both");
        assert!(row_fits_rule(*rule, &base, &child, &both), "{key}: the row contradicts {rule:?}");
    }
}

/// The expected value of a row against the rule in words, so that neither can drift alone.
fn row_fits_rule(rule: MergeRule, base: &Value, child: &Value, both: &Value) -> bool {
    match rule {
        MergeRule::Replace | MergeRule::WholeBlock | MergeRule::NotInherited => both == child,
        MergeRule::Consumed => both.is_null(),
        MergeRule::Append => elements(both) == [elements(base), elements(child)].concat(),
        MergeRule::ByName => {
            let (both, base, child) = (elements(both), elements(base), elements(child));
            child.iter().all(|element| both.contains(element)) && both.len() < base.len() + child.len()
        }
        MergeRule::PerKey => {
            let keys =
                |value: &Value| -> BTreeSet<String> { value.as_object().unwrap().keys().cloned().collect() };
            keys(both) == &keys(base) | &keys(child)
        }
    }
}

fn elements(value: &Value) -> Vec<Value> {
    value.get("profiles").unwrap_or(value).as_array().unwrap().clone()
}

#[test]
fn what_limits_an_agent_is_inherited_and_what_empowers_it_is_not() {
    let folder = Folder::empty();
    folder.write(
        "harness/parent.yaml",
        "readonly_repo: true\ntrigger: event.ok\nallowed_remote_resources: [https://a.test/]\n\
         allow_runtime_fetch: true\nmax_runtime_fetches: 7\n",
    );
    folder.write("harness/code.yaml", "base: parent.yaml\n");
    assert_eq!(folder.resolved(), json!({"readonly_repo": true, "trigger": "event.ok"}));
}

#[test]
fn zero_and_empty_text_count_as_absent() {
    let folder = Folder::empty();
    folder.write(
        "harness/parent.yaml",
        "agent: agents/a.md\ndoc: d\ndescription: e\nrole: r\nslug: s\nimage: i\npolicy: p\nmodel: m\neffort: low\n\
         pre_script: a.sh\npost_script: b.sh\nagent_input: in\ntimeout_minutes: 10\nsandbox_timeout_seconds: 60\n\
         trigger: event.ok\nvalidation_loop: {script: v.sh, preflight_check: 'true'}\n",
    );
    let inherited = {
        folder.write("harness/code.yaml", "base: parent.yaml\n");
        folder.resolved()
    };
    folder.write(
        "harness/code.yaml",
        "base: parent.yaml\nagent: ''\ndoc: ''\ndescription: ''\nrole: ''\nslug: ''\nimage: ''\npolicy: ''\nmodel: ''\n\
         effort: ''\npre_script: ''\npost_script: ''\nagent_input: ''\ntimeout_minutes: 0\nsandbox_timeout_seconds: 0\n\
         trigger: ''\nvalidation_loop: {script: v.sh, preflight_check: ''}\n",
    );
    assert_eq!(folder.resolved(), inherited);
}

#[test]
fn a_preflight_check_survives_a_new_loop_but_an_own_one_wins() {
    let folder = Folder::empty();
    folder.write(
        "harness/parent.yaml",
        "validation_loop: {script: a.sh, schema: a.json, preflight_check: test -f x}\n",
    );
    folder.write("harness/code.yaml", "base: parent.yaml\nvalidation_loop: {script: b.sh}\n");
    assert_eq!(
        folder.resolved(),
        json!({"validation_loop": {"script": "b.sh", "preflight_check": "test -f x"}})
    );
    folder.write(
        "harness/code.yaml",
        "base: parent.yaml\nvalidation_loop: {script: b.sh, preflight_check: test -f y}\n",
    );
    assert_eq!(
        folder.resolved(),
        json!({"validation_loop": {"script": "b.sh", "preflight_check": "test -f y"}})
    );
}

#[test]
fn skills_are_the_same_by_their_last_path_element_whatever_their_pin() {
    let url = |owner: &str, digit: &str| {
        format!("https://github.com/{owner}/r/tree/v1/skills/review#sha256={}", digit.repeat(64))
    };
    let folder = Folder::empty();
    let skills = |list: Value| format!("skills: {list}\n");
    let cases = [
        ("re-pinned", json!([url("o", "a")]), json!([url("o", "b")]), json!([url("o", "b")])),
        ("moved", json!([url("o", "a")]), json!([url("p", "a")]), json!([url("p", "a")])),
        ("URL to path", json!([url("o", "a"), "x"]), json!(["my/review"]), json!(["my/review", "x"])),
        ("path to URL", json!(["review/"]), json!([url("o", "a")]), json!([url("o", "a")])),
        ("another case", json!(["review"]), json!(["Review"]), json!(["review", "Review"])),
        ("dots", json!(["./review"]), json!(["mine/./review/"]), json!(["mine/./review/"])),
    ];
    for (case, base, child, both) in cases {
        folder.write("harness/parent.yaml", &skills(base));
        folder.write("harness/code.yaml", &format!("base: parent.yaml\n{}", skills(child)));
        assert_eq!(folder.resolved()["skills"], both, "{case}");
    }
}

#[test]
fn overrides_merge_by_file_and_null_removes() {
    let folder = Folder::empty();
    folder.write(
        "harness/parent.yaml",
        "skills:\n- skills/a: {x.md: base/x.md, y.md: base/y.md, z.md: ~}\n- skills/b: {p.md: base/p.md}\n- skills/c\n",
    );
    folder.write(
        "harness/code.yaml",
        "base: parent.yaml\nskills:\n- mine/a: {y.md: ~, z.md: mine/z.md, w.md: mine/w.md}\n- skills/b\n- skills/c: {q.md: ~}\n",
    );
    assert_eq!(
        folder.resolved()["skills"],
        json!([
            {"mine/a": {"x.md": "base/x.md", "y.md": null, "z.md": "mine/z.md", "w.md": "mine/w.md"}},
            {"skills/b": {"p.md": "base/p.md"}},
            {"skills/c": {"q.md": null}},
        ])
    );
}

#[test]
fn host_files_are_replaced_by_dest_as_written() {
    let folder = Folder::empty();
    folder.write(
        "harness/parent.yaml",
        "host_files:\n- {src: a, dest: /x}\n- {src: b, dest: /y, expand: true}\n",
    );
    folder.write(
        "harness/code.yaml",
        "base: parent.yaml\nhost_files:\n- {src: c, dest: /y}\n- {src: d, dest: /x/}\n",
    );
    assert_eq!(
        folder.resolved()["host_files"],
        json!([{"src": "a", "dest": "/x"}, {"src": "c", "dest": "/y"}, {"src": "d", "dest": "/x/"}])
    );
}

#[test]
fn a_platform_can_be_disabled_and_enabled_again_down_the_chain() {
    let folder = Folder::empty();
    folder.write("harness/a.yaml", "forge: {github: {pre_script: a.sh}, gitlab: {pre_script: a.sh}}\n");
    folder.write("harness/b.yaml", "base: a.yaml\nforge: {github: ~}\n");
    folder.write("harness/code.yaml", "base: b.yaml\n");
    let disabled = json!({"forge": {"github": null, "gitlab": {"pre_script": "a.sh"}}});
    assert_eq!(folder.resolved(), disabled);
    folder.write("harness/code.yaml", "base: b.yaml\nforge: {github: {policy: p.yaml}}\n");
    assert_eq!(folder.resolved()["forge"]["github"], json!({"policy": "p.yaml"}), "nothing comes back");
}

#[test]
fn merging_empty_harnesses_gives_an_empty_harness() {
    assert_eq!(merge(HarnessFile::default(), HarnessFile::default()), HarnessFile::default());
}
