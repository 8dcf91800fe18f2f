//! Lenient reading: what is used, what is warned about, what is refused.

use fullsend_skills::{Loaded, ModelInvocation, ToolRequest, load, tool_requests};
use serde_json::json;

use crate::suite::place::Place;

fn read(text: impl AsRef<[u8]>) -> Result<Loaded, (String, &'static str)> {
    let place = Place::new();
    place.write("s/SKILL.md", text);
    load(&place.path("s")).map_err(|error| (error.to_string(), error.rule().code))
}

fn loaded(text: &str) -> Loaded {
    read(text).unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

fn warnings(loaded: &Loaded) -> Vec<&'static str> {
    loaded.warnings.iter().map(|warning| warning.rule.code).collect()
}

#[test]
fn a_skill_is_read_as_written() {
    let found = loaded(
        "---\nname: s\ndescription: A test skill\nlicense: MIT\nmetadata:\n  author: Test Author\n  version: 1.0\n\
         allowed-tools: Bash(jq:*) Bash(git:*)\n---\n# My Skill\n\nText.\n",
    );
    let skill = &found.skill;
    assert_eq!(warnings(&found), [""; 0]);
    assert_eq!((skill.name.as_str(), skill.description.as_str()), ("s", "A test skill"));
    assert_eq!(skill.license.as_deref(), Some("MIT"));
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(skill.metadata, [pair("author", "Test Author"), pair("version", "1.0")]);
    assert_eq!(skill.front_matter["allowed-tools"], "Bash(jq:*) Bash(git:*)");
    assert_eq!(skill.allowed_tools.len(), 2);
    assert_eq!(skill.body, "# My Skill\n\nText.");
    assert_eq!(skill.model_invocation, ModelInvocation::Allowed);
}

#[test]
fn front_matter_keeps_booleans_lists_and_continued_lines() {
    let found = loaded(
        "---\nname: s\ndescription: First part\n  second part\nuser-invocable: false\ntags: [pattern, \"cli\"]\n---\nB\n",
    );
    assert_eq!(found.skill.description, "First part second part");
    assert_eq!(found.skill.front_matter["user-invocable"], json!(false));
    assert_eq!(found.skill.front_matter["tags"], json!(["pattern", "cli"]));
    assert_eq!(
        loaded("---\nname: s\ndescription: >\n  folded\n  text\n---\n").skill.description,
        "folded text"
    );
    assert_eq!(loaded("---\nname: s\ndescription: |\n  one\n  two\n---\n").skill.description, "one\ntwo");
    assert_eq!(loaded("---\r\nname: s\r\ndescription: d\r\n---\r\nB\r\n").skill.body, "B");
    assert_eq!(loaded("---\nname: s\ndescription: a --- b\n---\n").skill.description, "a --- b");
}

#[test]
fn values_with_colons_are_repaired() {
    let cases = [
        ("description: Use when: it's time", "Use when: it's time"),
        ("description: Use this skill:", "Use this skill:"),
        ("description: Use when: x # not this", "Use when: x"),
        ("description: Use it\n  for: this\n  and: that", "Use it for: this and: that"),
        ("description: @mention it", "@mention it"),
        ("description: \"quoted: fine\"\nlicense: a: b", "quoted: fine"),
    ];
    for (field, expected) in cases {
        let found = loaded(&format!("---\nname: s\n{field}\nmetadata:\n  x: y\n---\nB\n"));
        assert_eq!(found.skill.description, expected);
        assert_eq!(warnings(&found), ["repaired-front-matter"], "{field}");
        assert_eq!(found.skill.metadata, [("x".to_owned(), "y".to_owned())]);
    }
}

#[test]
fn flaws_are_warnings() {
    let cases: &[(&str, &[&str])] = &[
        ("\u{feff}---\nname: s\ndescription: d\n---\n", &["skill-byte-order-mark"]),
        ("# Title\n\nWhat it does\n", &["missing-front-matter", "missing-name", "description-from-body"]),
        ("---\ndescription: d\n---\n", &["missing-name"]),
        ("---\nname:\ndescription: d\n---\n", &["missing-name"]),
        ("---\nname: s\ndescription:\n---\nSays it\n", &["description-from-body"]),
        ("---\nname: other\ndescription: d\n---\n", &["name-directory-mismatch"]),
        ("---\nname: S\ndescription: d\n---\n", &["invalid-name", "name-directory-mismatch"]),
        ("---\nname: s\n---\n# T\nSays it\n", &["description-from-body"]),
        ("---\nname: s\nname: t\ndescription: d\n---\n", &["lenient-front-matter"]),
        (
            "---\nname: s\ndescription: d\nlicense: [a]\nmetadata: [b]\n---\n",
            &["ignored-skill-field", "ignored-skill-field"],
        ),
        ("---\nname: s\ndescription: d\nmetadata:\n  a: {b: c}\n---\n", &["ignored-skill-field"]),
        ("---\nname: s\ndescription: d\nallowed-tools: [Read, Write]\n---\n", &["ignored-skill-field"]),
        ("---\nname: s\ndescription: d\ncompatibility: \"\"\n---\n", &["ignored-skill-field"]),
        ("---\nname: s\ndescription: d\nversion: 1\nargument-hint: x\n---\n", &[]),
    ];
    for (text, expected) in cases {
        assert_eq!(warnings(&loaded(text)), *expected, "{text}");
    }
    let long = loaded(&format!("---\nname: s\ndescription: {}\n---\n", "x".repeat(1100)));
    assert_eq!(
        (warnings(&long).as_slice(), long.skill.description.len()),
        (&["ignored-skill-field"][..], 1100)
    );
}

#[test]
fn what_cannot_be_used_is_refused() {
    let cases: &[(&[u8], &str)] = &[
        (b"", "missing-description"),
        (b"---\nname: s\n---\n# Only titles\n", "missing-description"),
        (b"---\nname: s\ndescription: d\n", "front-matter-unclosed"),
        (b"---\nname: [invalid\n---\n", "front-matter-yaml"),
        (b"---\n- a\n---\nText\n", "front-matter-mapping"),
        (b"---\nname: \"a\\u0007\"\ndescription: d\n---\n", "unusable-name"),
        (b"---\nname: s\xff\n---\n", "skill-encoding"),
        (b"---\nname: s\0\n---\n", "skill-nul-byte"),
    ];
    for (text, code) in cases {
        let error = read(text).map(|found| found.skill).unwrap_err();
        assert_eq!(error.1, *code, "{error:?}");
    }
    let place = Place::new();
    assert_eq!(load(&place.path("none")).unwrap_err().rule().code, "skill-path-missing");
    let missing = load(&place.path("skills")).unwrap_err();
    assert!(missing.to_string().contains("SKILL.md not found"), "{missing}");
}

#[test]
fn models_are_kept_from_skills_that_ask_for_it() {
    let with = |value: &str| {
        loaded(&format!("---\nname: s\ndescription: d\ndisable-model-invocation: {value}\n---\n"))
            .skill
            .model_invocation
    };
    for hidden in ["true", "True", "yes", "\"true\"", "1", "[a]"] {
        assert_eq!(with(hidden), ModelInvocation::Disabled, "{hidden}");
    }
    for shown in ["false", "no", "\"false\"", ""] {
        assert_eq!(with(shown), ModelInvocation::Allowed, "{shown}");
    }
}

#[test]
fn tools_are_split_outside_parentheses() {
    let request = |tool: &str, pattern: Option<&str>| ToolRequest {
        tool: tool.to_owned(),
        pattern: pattern.map(str::to_owned),
    };
    assert_eq!(
        tool_requests(" Bash(git commit:*)  Read Bash(a (b)) "),
        Some(vec![
            request("Bash", Some("git commit:*")),
            request("Read", None),
            request("Bash", Some("a (b)"))
        ])
    );
    assert_eq!(tool_requests(""), Some(Vec::new()));
    for broken in ["Bash(", "Bash)", "(x)", "Bash(a)b", "a(b)c)"] {
        assert_eq!(tool_requests(broken), None, "{broken}");
    }
}
