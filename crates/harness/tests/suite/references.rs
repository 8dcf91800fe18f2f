//! Generated reference material: JSON Schema and Markdown, held against what the reader does.

use fullsend_harness::reference::{DocumentKind, json_schema, markdown, rules_markdown};
use fullsend_harness::rules;
use fullsend_harness::schema::{AgentDefinition, HarnessFile, OrgConfig, ProviderDefinition, RepoConfig};
use serde_json::{Value, json};

use super::support::{CLEAN, Folder, PIN};

const KINDS: [DocumentKind; 4] =
    [DocumentKind::Harness, DocumentKind::Config, DocumentKind::Agent, DocumentKind::Provider];

/// A harness with every key that is documented, without problems given [`full_folder`].
fn full_harness() -> Value {
    let skill = format!("https://github.com/o/r/tree/v1/remote{PIN}");
    let overlay = json!({
        "pre_script": "run.sh", "post_script": "run.sh", "policy": "policy.yaml",
        "skills": ["skills/b"], "providers": ["vertex"], "openshell": {"profiles": ["profiles/p.yaml"]},
        "host_files": [{"src": "file.txt", "dest": "/other", "expand": false, "optional": true}],
        "validation_loop": {"script": "run.sh", "schema": "schema.json", "max_iterations": 0, "feedback_mode": "none", "preflight_check": "true"},
        "runner_env": {"A": "1"}, "env": {"runner": {"B": "2"}, "sandbox": {"C": "3"}},
    });
    json!({
        "agent": "agents/code.md", "doc": "docs/code.md", "description": "Writes code.", "role": "coder", "slug": "my-coder",
        "base": "../bases/base.yaml", "image": "ghcr.io/o/i:1", "policy": "policy.yaml",
        "skills": ["skills/a", skill, {"skills/b": {"x.md": "file.txt", "y.md": null}}],
        "plugins": ["plugins/p"], "providers": ["vertex", "providers/v.yaml"], "openshell": {"profiles": ["profiles/p.yaml"]},
        "host_files": [{"src": "${DIR}/file.txt", "dest": "/x", "expand": true, "optional": false}],
        "api_servers": [{"name": "api", "script": "run.sh", "port": 8080, "env": {"K": "${V}"}}],
        "model": "claude-opus-4@1", "effort": "xhigh", "pre_script": "run.sh", "post_script": "run.sh", "agent_input": "input",
        "validation_loop": {"script": "run.sh", "schema": "${DIR}/s.json", "max_iterations": 3, "feedback_mode": "output", "preflight_check": "test -n \"${T:-}\""},
        "runner_env": {"OLD": "x"}, "env": {"runner": {"A": "${A}"}, "sandbox": {"B": "b"}},
        "timeout_minutes": 45, "readonly_repo": true, "sandbox_timeout_seconds": 300,
        "security": {
            "enabled": true, "fail_mode": "closed",
            "host_scanners": {"unicode_normalizer": true, "context_injection": true, "ssrf_validator": true, "secret_redactor": true,
                "llm_guard": {"enabled": true, "threshold": 0.5, "match_type": "full"}},
            "sandbox_hooks": {"command_pretool": {"enabled": true, "fail_on": "critical"},
                "tirith": {"enabled": true, "fail_on": "medium", "required": false}, "ssrf_pretool": true, "secret_redact_posttool": true,
                "unicode_posttool": true, "context_suppress_posttool": true, "canary_pretool": true, "canary_posttool": true,
                "tool_allowlist_pretool": {"enabled": true}},
            "canary": {"enabled": true, "env": "BACKUP_TOKEN", "files": ["/sandbox/.aws/credentials"]},
            "escalation": {"on_critical": "review", "review_label": "look"}, "trace": {"enabled": true},
        },
        "flow": full_flow(),
        "allowed_remote_resources": ["https://github.com/o/r/"], "allow_runtime_fetch": true, "max_runtime_fetches": 3,
        "forge": {"github": overlay, "gitlab": {}, "jira": null},
        "trigger": "event.action == 'opened'",
    })
}

fn full_flow() -> Value {
    json!({
        "sources": [{"paths": ["vendor/**"], "trust": "none"}, {"web": ["docs.example.com"], "readers": ["team"]},
            {"skills": ["*"], "trust": "workspace"}, {"tools": ["search"], "trust": "none"}],
        "clearance": {"readers": ["team"], "trust": "none"},
        "sinks": [{"paths": ["out"], "trust": "none"}, {"web": ["api.example.com"], "trust": "workspace", "readers": ["team"]},
            {"tools": ["bash"], "trust": "commanded"}],
        "grants": [{"id": "tests", "tool": "bash", "argument": "command", "value": "cargo test*", "trust": "commanded",
            "declassify": ["team"], "from": "none", "uses": 3, "expires": "2099-01-31T00:00:00Z"}],
        "inspect": {"readers": ["team"], "trust": "none", "max_bytes": 1000}, "child_bits": 64,
    })
}

fn full_folder() -> Folder {
    let folder = Folder::with(&[
        ("config.yaml", "allowed_remote_resources: [https://github.com/o/]\n"),
        ("bases/base.yaml", "role: base\n"),
        ("skills/a/SKILL.md", ""),
        ("skills/b/SKILL.md", ""),
        ("plugins/p/plugin.json", "{}"),
        ("providers/v.yaml", "name: vertex\ntype: prof\n"),
        ("profiles/p.yaml", "id: prof\n"),
        ("input/", ""),
    ]);
    for file in ["policy.yaml", "file.txt", "run.sh", "schema.json"] {
        folder.write(file, "");
    }
    folder.write("harness/code.yaml", &serde_json::to_string_pretty(&full_harness()).unwrap());
    folder
}

#[test]
fn a_harness_with_every_key_is_accepted_by_reader_and_schema() {
    let harness = full_harness();
    let keys: Vec<&str> = harness.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, HarnessFile::KEYS, "the full harness has every key");
    let folder = full_folder();
    let found: Vec<String> =
        folder.lint_briefly().into_iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(
        found,
        ["no-effect", "deprecated-key", "deprecated-key"],
        "only the notices of old keys: {:#?}",
        folder.lint()
    );
    let schema = json_schema(DocumentKind::Harness);
    let mut used = std::collections::BTreeSet::new();
    assert_eq!(validate(&schema, &schema, &harness, &mut used), Ok(()));
    let unused: Vec<String> =
        all_properties(&schema).into_iter().filter(|name| !used.contains(name)).collect();
    assert_eq!(unused, CLEAN, "documented keys that the full harness does not use");
}

#[test]
fn what_is_shown_can_be_written_back() {
    let folder = full_folder();
    let shown = folder.show("code", Default::default()).unwrap().harness;
    assert_eq!(shown, full_harness(), "a harness in canonical spelling is shown as it is");
    folder.write("harness/again.yaml", &serde_json::to_string(&shown).unwrap());
    assert_eq!(folder.show("again", Default::default()).unwrap().harness, shown);
}

#[test]
fn the_schema_refuses_what_the_reader_refuses() {
    let schema = json_schema(DocumentKind::Harness);
    for bad in [
        json!({"skils": []}),
        json!({"effort": "HIGH"}),
        json!({"role": "a--b"}),
        json!({"timeout_minutes": -1}),
        json!({"sandbox_timeout_seconds": 29}),
        json!({"max_runtime_fetches": 0}),
        json!({"pre_script": "https://x.test/a"}),
        json!({"policy": "https://x.test/a"}),
        json!({"policy": "http://x.test/a"}),
        json!({"skills": [["a"]]}),
        json!({"skills": [{"a": {}, "b": {}}]}),
        json!({"skills": [{"a": "text"}]}),
        json!({"allowed_remote_resources": ["https://x.test"]}),
        json!({"forge": {"bitbucket": {}}}),
        json!({"forge": {"github": {"model": "x"}}}),
        json!({"security": {"canary": {"env": "1A"}}}),
        json!({"security": {"canary": {"files": ["/sandbox/../x"]}}}),
        json!({"security": {"canary": {"files": ["secrets"]}}}),
        json!({"security": {"host_scanners": {"llm_guard": {"threshold": 2}}}}),
        json!([]),
    ] {
        assert!(validate(&schema, &schema, &bad, &mut Default::default()).is_err(), "{bad}");
        let folder = Folder::empty();
        folder.write("harness/code.yaml", &bad.to_string());
        assert!(folder.show("code", Default::default()).is_err(), "{bad}");
    }
}

#[test]
fn every_key_of_every_record_is_described() {
    for kind in KINDS {
        let schema = json_schema(kind);
        let records = std::iter::once(("root", &schema)).chain(definitions(&schema));
        let mut silent = Vec::new();
        for (name, record) in records {
            for (key, property) in record["properties"].as_object().into_iter().flatten() {
                if property["description"].as_str().is_none_or(|text| text.trim().is_empty()) {
                    silent.push(format!("{name}.{key}"));
                }
            }
        }
        assert_eq!(silent, CLEAN, "{kind:?}");
        assert!(!schema["title"].as_str().unwrap().is_empty());
    }
}

#[test]
fn the_pages_mention_every_key_and_rule() {
    for kind in KINDS {
        let (schema, page) = (json_schema(kind), markdown(kind));
        for key in all_properties(&schema) {
            let key = key.rsplit('.').next().unwrap();
            assert!(page.contains(&format!("| `{key}` |")), "{kind:?} {key}");
        }
        for (name, definition) in
            definitions(&schema).filter(|(_, definition)| definition.get("properties").is_some())
        {
            assert!(page.contains(&format!("## {name}\n")), "{kind:?} {name} {definition}");
        }
        assert!(
            !page.contains("anything |") || kind == DocumentKind::Config,
            "{kind:?} has a key of unknown type"
        );
    }
    let rules_page = rules_markdown();
    for rule in rules::all() {
        assert!(
            rules_page.contains(&format!("| `{}` | {} |", rule.code, rule.severity.as_str())),
            "{}",
            rule.code
        );
    }
}

#[test]
fn the_schemas_have_the_keys_that_the_reader_has() {
    let keys = |schema: &Value| -> Vec<String> {
        schema["properties"].as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(keys(&json_schema(DocumentKind::Harness)), HarnessFile::KEYS);
    assert_eq!(keys(&json_schema(DocumentKind::Agent)), AgentDefinition::KEYS);
    assert_eq!(keys(&json_schema(DocumentKind::Provider)), ProviderDefinition::KEYS);
    let config = json_schema(DocumentKind::Config);
    assert_eq!(keys(&config["definitions"]["OrgConfig"]), OrgConfig::KEYS);
    assert_eq!(keys(&config["definitions"]["RepoConfig"]), RepoConfig::KEYS);
}

fn definitions(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    schema["definitions"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, definition)| (name.as_str(), definition))
}

/// `Record.key` of every record; the root is called `root`.
fn all_properties(schema: &Value) -> Vec<String> {
    let records = std::iter::once(("root", schema)).chain(definitions(schema));
    records
        .flat_map(|(name, record)| {
            record["properties"]
                .as_object()
                .into_iter()
                .flatten()
                .map(move |(key, _)| format!("{name}.{key}"))
        })
        .collect()
}

type Used = std::collections::BTreeSet<String>;

/// As much of JSON Schema as the generated schemas use; an unknown keyword is an error, so that none is passed over.
fn validate(root: &Value, schema: &Value, value: &Value, used: &mut Used) -> Result<(), String> {
    let Some(schema_object) = schema.as_object() else {
        return if schema == &json!(true) { Ok(()) } else { Err(format!("{value} is not accepted")) };
    };
    if let Some(pointer) = schema["$ref"].as_str() {
        let name = pointer.rsplit('/').next().unwrap();
        return validate_as(root, &root["definitions"][name], name, value, used);
    }
    let name = if std::ptr::eq(root, schema) { "root" } else { "" };
    for keyword in schema_object.keys() {
        let known = [
            "$schema",
            "title",
            "description",
            "definitions",
            "type",
            "properties",
            "additionalProperties",
            "items",
            "anyOf",
            "allOf",
            "enum",
            "const",
            "pattern",
            "minimum",
            "maximum",
            "minProperties",
            "maxProperties",
            "default",
            "format",
        ];
        assert!(known.contains(&keyword.as_str()), "unknown keyword {keyword}");
    }
    validate_as(root, schema, name, value, used)
}

fn validate_as(
    root: &Value,
    schema: &Value,
    name: &str,
    value: &Value,
    used: &mut Used,
) -> Result<(), String> {
    let refuse = |why: &str| Err(format!("{value}: {why} {schema}"));
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => vec![],
    };
    if !types.is_empty() && !types.iter().any(|name| has_type(value, name)) {
        return refuse("type");
    }
    if value.is_null() && types.contains(&"null") {
        return Ok(());
    }
    if schema["enum"].as_array().is_some_and(|words| !words.contains(value))
        || schema.get("const").is_some_and(|only| only != value)
    {
        return refuse("enum");
    }
    if let (Some(pattern), Some(text)) = (schema["pattern"].as_str(), value.as_str())
        && !matches_pattern(pattern, text)
    {
        return refuse("pattern");
    }
    let below = |key: &str| schema[key].as_f64().zip(value.as_f64());
    if below("minimum").is_some_and(|(bound, number)| number < bound)
        || below("maximum").is_some_and(|(bound, number)| number > bound)
    {
        return refuse("range");
    }
    for all in schema["allOf"].as_array().into_iter().flatten() {
        validate(root, all, value, used)?;
    }
    if let Some(any) = schema["anyOf"].as_array()
        && !any.iter().any(|one| validate(root, one, value, used).is_ok())
    {
        return refuse("anyOf");
    }
    for item in value.as_array().into_iter().flatten().filter(|_| schema.get("items").is_some()) {
        validate(root, &schema["items"], item, used)?;
    }
    let Some(entries) = value.as_object() else { return Ok(()) };
    let count = entries.len() as u64;
    if schema["minProperties"].as_u64().is_some_and(|least| count < least)
        || schema["maxProperties"].as_u64().is_some_and(|most| count > most)
    {
        return refuse("number of properties");
    }
    for (key, entry) in entries {
        match (&schema["properties"][key], &schema["additionalProperties"]) {
            (Value::Null, Value::Bool(false)) => return refuse(key),
            (Value::Null, Value::Null) => {}
            (Value::Null, other) => validate(root, other, entry, used)?,
            (property, _) => {
                used.insert(format!("{name}.{key}"));
                validate(root, property, entry, used)?;
            }
        }
    }
    Ok(())
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        _ => panic!("unknown type {name}"),
    }
}

/// The `regex` crate has no look-ahead; the one look-ahead in use says "no scheme".
fn matches_pattern(pattern: &str, text: &str) -> bool {
    const NO_SCHEME: &str = "(?![A-Za-z][A-Za-z0-9+.-]*://)";
    let scheme = regex::Regex::new("^[A-Za-z][A-Za-z0-9+.-]*://").unwrap();
    match pattern.split_once('|').filter(|_| pattern.contains(NO_SCHEME)) {
        Some((url, path)) => {
            let url = regex::Regex::new(&format!("{url})$")).unwrap();
            assert_eq!(path, format!("{NO_SCHEME}.+)$"));
            url.is_match(text) || !text.is_empty() && !scheme.is_match(text)
        }
        None if pattern.contains(NO_SCHEME) => !text.is_empty() && !scheme.is_match(text),
        None => regex::Regex::new(pattern).unwrap().is_match(text),
    }
}
