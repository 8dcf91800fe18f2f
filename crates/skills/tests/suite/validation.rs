//! Strict reading: the words of the reference validator, and where ours says more.

use std::path::Path;

use fullsend_skills::validate;

use crate::suite::place::Place;

/// The messages about a skill with this text in a directory of this name.
fn messages(directory: &str, text: impl AsRef<[u8]>) -> Vec<String> {
    let place = Place::new();
    place.write(&format!("{directory}/SKILL.md"), text);
    validate(&place.path(directory)).problems.into_iter().map(|problem| problem.message).collect()
}

fn with(name: &str, rest: &str) -> String {
    format!("---\nname: {name}\n{rest}---\n# Body\n")
}

/// The messages about a skill with this name.
fn named(directory: &str, name: &str) -> Vec<String> {
    messages(directory, with(name, "description: A test skill\n"))
}

fn fields(rest: &str) -> Vec<String> {
    messages("s", with("s", rest))
}

/// Whether there is exactly one message for each of `parts`, and it contains it.
fn assert_parts(case: &str, found: &[String], parts: &[&str]) {
    let matches =
        found.len() == parts.len() && found.iter().zip(parts).all(|(message, part)| message.contains(part));
    assert!(matches, "{case}: {found:#?} should be {parts:?}");
}

#[test]
fn names_follow_the_format() {
    let lowercase = "must be lowercase";
    let hyphen = "cannot start or end with a hyphen";
    let double = "cannot contain consecutive hyphens";
    let invalid = "contains invalid characters. Only letters, digits, and hyphens are allowed.";
    let mismatch = "must match skill name";
    let long = "a".repeat(70);
    let cases: &[(&str, &str, &[&str])] = &[
        ("my-skill", "my-skill", &[]),
        ("MySkill", "MySkill", &[lowercase]),
        (&long, &long, &["exceeds 64 character limit (70 chars)"]),
        (&long[..64], &long[..64], &[]),
        (&long[..65], &long[..65], &["exceeds 64 character limit (65 chars)"]),
        ("-my-skill", "-my-skill", &[hyphen]),
        ("my-", "my-", &[hyphen]),
        ("-", "\"-\"", &[hyphen]),
        ("my--skill", "my--skill", &[double]),
        ("my_skill", "my_skill", &[invalid]),
        ("wrong-name", "correct-name", &["Directory name 'wrong-name' must match skill name 'correct-name'"]),
        ("技能", "技能", &[]),
        ("мой-навык", "мой-навык", &[]),
        ("навык", "навык", &[]),
        ("НАВЫК", "НАВЫК", &[lowercase]),
        ("caf\u{e9}", "cafe\u{301}", &[]),
        ("a", "a", &[]),
        ("123", "123", &[]),
        ("true", "true", &[]),
        ("my-skill", "\"  my-skill  \"", &[]),
        ("abc", "ａｂｃ", &[]),
        ("iv", "ⅳ", &[]),
        ("a2", "a²", &[]),
        ("straße", "straße", &[]),
        ("٣", "٣", &[]),
        ("ʰa", "ʰa", &[]),
        ("a.b", "a.b", &[invalid]),
        ("a–b", "a–b", &[invalid]),
        ("a😀", "a😀", &[invalid]),
        ("हिन्दी", "हिन्दी", &[invalid]),
        ("ทักษะ", "ทักษะ", &[invalid]),
        ("a", "a/b", &[invalid, mismatch]),
        ("s", "\"\"", &["Field 'name' must be a non-empty string"]),
        ("s", "", &["Field 'name' must be a non-empty string"]),
        ("null", "null", &[]),
        ("s", "~", &[invalid, mismatch]),
        ("s", "\"  \"", &["Field 'name' must be a non-empty string"]),
        ("s", "\n  - a", &["Field 'name' must be a non-empty string"]),
    ];
    for (directory, name, parts) in cases {
        assert_parts(name, &named(directory, name), parts);
    }
    for name in ["İx", "ǅ"] {
        assert!(named(name, name)[0].contains(lowercase), "{name}");
    }
}

#[test]
fn other_fields_follow_the_format() {
    let description = |text: &str| fields(&format!("description: {text}\n"));
    let x = |count: usize| "x".repeat(count);
    let too_long = "Description exceeds 1024 character limit";
    assert_parts("1024", &description(&x(1024)), &[]);
    assert_parts("1025", &description(&x(1025)), &[&format!("{too_long} (1025 chars)")]);
    assert_parts("1100", &description(&x(1100)), &[too_long]);
    assert_parts("emoji", &description(&"😀".repeat(1024)), &[]);
    assert_parts("spaces", &description(&format!("\"{}x\"", " ".repeat(1024))), &[too_long]);
    assert_parts("list", &description("\n  - a"), &["Field 'description' must be a non-empty string"]);
    assert_parts("blank", &description("\"  \""), &["Field 'description' must be a non-empty string"]);
    assert_parts("42", &description("42"), &[]);
    assert_parts("folded", &description(">\n  line one\n  line two"), &[]);
    assert_parts("literal", &description("|\n  line one\n  line two"), &[]);
    let cases: &[(&str, &[&str])] = &[
        ("compatibility: Requires Python 3.11+", &[]),
        (&format!("compatibility: {}", x(500)), &[]),
        (&format!("compatibility: {}", x(501)), &["Compatibility exceeds 500 character limit (501 chars)"]),
        (&format!("compatibility: {}", x(550)), &["exceeds 500"]),
        ("compatibility: \"\"", &["must not be empty when it is present"]),
        ("compatibility:\n  a: b", &["Field 'compatibility' must be a string"]),
        ("license: MIT\nmetadata:\n  author: Test\n  version: 1.0", &[]),
        ("license:\n  a: b", &["Field 'license' must be a string"]),
        ("metadata:\n  - a", &["Field 'metadata' must be a mapping"]),
        ("metadata:\n  a:\n    b: c\n  d: e", &["Field 'metadata.a' must be a string"]),
        ("allowed-tools: Bash(jq:*) Bash(git:*)", &[]),
        ("allowed-tools:\n  - Read", &["Field 'allowed-tools' must be a string"]),
        ("allowed-tools: Bash(git", &["parentheses that do not match"]),
        (
            "unknown_field: x\nauthor: y",
            &[
                "Unexpected fields in frontmatter: author, unknown_field. Only ['allowed-tools', 'compatibility', \
             'description', 'license', 'metadata', 'name'] are allowed.",
            ],
        ),
        ("disable-model-invocation: true", &["Unexpected fields"]),
    ];
    for (field, parts) in cases {
        assert_parts(field, &fields(&format!("description: d\n{field}\n")), parts);
    }
    assert_parts(
        "no name",
        &messages("s", "---\ndescription: d\n---\n"),
        &["Missing required field in frontmatter: name"],
    );
    assert_parts("no description", &fields(""), &["Missing required field in frontmatter: description"]);
}

#[test]
fn files_and_fences_follow_the_format() {
    let start = "SKILL.md must start with YAML frontmatter (---)";
    let unclosed = "SKILL.md frontmatter not properly closed with ---";
    let mapping = "SKILL.md frontmatter must be a YAML mapping";
    let yaml = "Invalid YAML in frontmatter: ";
    let good = with("s", "description: d\n");
    let cases: &[(&str, &[&str])] = &[
        ("# No frontmatter here", &[start]),
        ("", &[start]),
        (&format!("\n{good}"), &[start]),
        (&format!(" {good}"), &[start]),
        (&good.replacen("---", "---yaml", 1), &[start]),
        (&good.replacen("---", "----", 1), &[start]),
        ("---\nname: s\n", &[unclosed]),
        ("---", &[unclosed]),
        ("---\nname: s\ndescription: d\n...\n", &[unclosed]),
        ("---\n---\n", &[mapping]),
        ("---\n- a\n- b\n---\n", &[mapping]),
        ("---\nname: [invalid\n---\n", &[yaml]),
        (&good.replace("description: d", "description: Use when: x"), &[yaml]),
        (&good.replace("description: d", "description: d\nallowed-tools: [Read, Write]"), &[yaml]),
        (&good.replace("description: d", "description: d\nname: s"), &[yaml]),
        (&good.replace("name: s", "name: &n s").replace(": d", ": *n"), &[yaml]),
        (&good.replace("name: s", "name: !!str s"), &[yaml]),
        ("---\n{name: s, description: d}\n---\n", &[yaml]),
        (&good.replace("description: d", "metadata:\n\ta: b"), &[yaml]),
        (&good.replace(": d", ": d # a comment"), &[]),
        (&good.replace(": d", ": a --- b"), &[]),
        (&good.replace('\n', "\r\n"), &[]),
        ("---\nname: s\ndescription: d\n---", &[]),
        (&format!("\u{feff}{good}"), &["SKILL.md starts with a byte order mark"]),
        (&good.replace("Body", "Bo\0dy"), &["SKILL.md contains a NUL byte"]),
    ];
    for (text, parts) in cases {
        assert_parts(text, &messages("s", text), parts);
    }
    assert_parts("utf-8", &messages("s", b"---\nname: \xff\n---\n"), &["bytes that are not UTF-8"]);
    assert_parts("size", &messages("s", format!("{good}{}", "x".repeat(300_000))), &["has more than"]);
}

#[test]
fn a_byte_order_mark_is_no_error() {
    let place = Place::new();
    place.write("s/SKILL.md", format!("\u{feff}{}", with("s", "description: d\n")));
    let checked = validate(&place.path("s"));
    assert!(checked.is_valid() && checked.problems.len() == 1);
}

#[test]
fn every_message_stands_in_order() {
    let text =
        with("-Bad__Name--", &format!("foo: 1\ndescription: \"\"\ncompatibility: {}\n", "x".repeat(501)));
    assert_parts(
        "all",
        &messages("Wrong_Dir", text),
        &[
            "Unexpected fields in frontmatter: foo.",
            "Skill name '-Bad__Name--' must be lowercase",
            "Skill name cannot start or end with a hyphen",
            "Skill name cannot contain consecutive hyphens",
            "Skill name '-Bad__Name--' contains invalid characters.",
            "Directory name 'Wrong_Dir' must match skill name '-Bad__Name--'",
            "Field 'description' must be a non-empty string",
            "Compatibility exceeds 500 character limit (501 chars)",
        ],
    );
}

#[test]
fn paths_are_told_apart() {
    let place = Place::new();
    let file = place.write("file", "x");
    place.write("odd/Skill.md", with("odd", "description: d\n"));
    place.write("small/skill.md", with("small", "description: d\n"));
    place.write("both/skill.md", "broken");
    place.write("both/SKILL.md", with("both", "description: d\n"));
    std::fs::create_dir(place.path("empty")).unwrap();
    let found = |path: &Path| -> Vec<String> {
        validate(path).problems.into_iter().map(|problem| problem.message).collect()
    };
    let missing = place.path("none");
    assert_eq!(found(&missing), [format!("Path does not exist: {}", missing.display())]);
    assert_eq!(found(&file), [format!("Not a directory: {}", file.display())]);
    assert_eq!(found(&place.path("empty")), ["Missing required file: SKILL.md"]);
    assert_eq!(found(&place.path("odd")), ["Missing required file: SKILL.md"]);
    for fine in ["small", "small/skill.md", "both", "both/SKILL.md"] {
        assert_eq!(found(&place.path(fine)), [""; 0], "{fine}");
    }
}

#[test]
fn problems_have_a_place_and_a_remedy() {
    let place = Place::new();
    place.write("s/SKILL.md", "---\nname: s\ndescription: d\nlicense:\n  - MIT\nversion: 1\n---\n");
    let checked = validate(&place.path("s"));
    let places: Vec<_> = checked
        .problems
        .iter()
        .map(|problem| {
            let (path, position) = checked.sources.resolve(problem.at).unwrap();
            assert!(path.ends_with("s/SKILL.md") && !problem.help().is_empty());
            (problem.rule.code, position.line, position.column)
        })
        .collect();
    assert_eq!(places, [("skill-unknown-fields", 6, 1), ("skill-field-type", 5, 3)]);
}

#[test]
fn links_that_lead_out_are_errors() {
    let place = Place::new();
    place.write("secret", "---\nname: s\ndescription: d\n---\n");
    place.link("s/SKILL.md", "../secret");
    let found = validate(&place.path("s"));
    assert_eq!(found.problems[0].rule.code, "skill-file-outside");
    place.write("t/SKILL.md", with("t", "description: d\n"));
    place.link("t/references/key", "../../secret");
    let found = validate(&place.path("t"));
    let codes: Vec<_> = found.problems.iter().map(|problem| problem.rule.code).collect();
    assert_eq!((codes.as_slice(), found.is_valid()), (&["skill-link-outside"][..], false));
    place.write("u/files/real.md", with("u", "description: d\n"));
    place.link("u/SKILL.md", place.path("u/files/real.md"));
    assert!(validate(&place.path("u")).is_valid(), "a link that stays inside is fine");
}

#[test]
fn thousands_of_flaws_are_a_short_report() {
    let nested: String = (0..3_000).map(|number| format!("  k{number}:\n    - x\n")).collect();
    assert_eq!(fields(&format!("description: d\nmetadata:\n{nested}")).len(), 20);
    let found = fields(&format!("description: d\n{}", "license: MIT\n".repeat(3_000)));
    assert_eq!(found.len(), 21);
    assert!(found[20].ends_with("2979 more problems like these"), "{}", found[20]);
}
