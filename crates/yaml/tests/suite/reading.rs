//! Nodes to values: coercion, strictness, and every problem in one pass.

use fullsend_yaml::{
    FromNode, Limits, LineColumn, Located, Reader, SourceMap, TextProblem, Visitor, Walk, nearest, parse,
    record,
};
use indexmap::IndexMap;

record! {
    /// A record with a key of every type.
    struct Sample {
        /// Text.
        text: Located<String>,
        /// A whole number.
        number: Located<i64>,
        /// A fraction.
        fraction: Located<f64>,
        /// A boolean.
        flag: Located<bool>,
        /// A list of text.
        list: Vec<Located<String>>,
        /// A map of text.
        map: IndexMap<String, Located<String>>,
        /// A map that keeps nulls.
        nullable: IndexMap<String, Option<Located<String>>>,
        /// A record in a record.
        inner as "inner-record": Inner,
    }
}

record! {
    /// A nested record.
    struct Inner {
        /// A colour.
        colour: Located<Colour> = required,
    }
}

#[derive(Debug, Clone, PartialEq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Colour {
    Red,
    Green,
}

impl fullsend_yaml::FromText for Colour {
    fn from_text(text: &str) -> Result<Self, TextProblem> {
        match text {
            "red" => Ok(Colour::Red),
            "green" => Ok(Colour::Green),
            _ => Err(TextProblem::not_one_of(text, &["red", "green"])),
        }
    }
}

/// The record as JSON, and `code line:column message | help` of every problem.
fn read(text: &str) -> (serde_json::Value, Vec<String>) {
    let mut sources = SourceMap::new();
    let file = sources.add("a.yaml", text);
    let mut problems = Vec::new();
    let parsed = parse(&sources, file, Limits::default());
    problems.extend(parsed.problems);
    let root = parsed.root.unwrap();
    let sample = Sample::from_node(&root, &mut Reader::new(&mut problems));
    let described = problems.iter().map(|problem| {
        let (_, LineColumn { line, column }) = sources.resolve(problem.at).unwrap();
        format!("{} {line}:{column} {} | {}", problem.rule.code, problem.message, problem.help())
    });
    (serde_json::to_value(sample).unwrap(), described.collect())
}

fn value_of(text: &str) -> serde_json::Value {
    let (value, problems) = read(text);
    assert_eq!(problems, Vec::<String>::new(), "{text}");
    value
}

#[test]
fn scalars_become_text_by_their_source_spelling() {
    for (written, expected) in [
        ("5", "5"),
        ("true", "true"),
        ("1.50", "1.50"),
        ("2026-01-02", "2026-01-02"),
        ("0x10", "0x10"),
        ("'quoted'", "quoted"),
        ("\"tab\\t\"", "tab\t"),
    ] {
        assert_eq!(value_of(&format!("text: {written}"))["text"], expected);
        assert_eq!(value_of(&format!("map: {{k: {written}}}"))["map"]["k"], expected);
    }
}

#[test]
fn whole_numbers_take_the_spellings_in_use() {
    for (written, expected) in [
        ("5", 5),
        ("5.0", 5),
        ("1e1", 10),
        ("0x10", 16),
        ("010", 8),
        ("0o10", 8),
        ("0b11", 3),
        ("0", 0),
        ("-3", -3),
        ("+3", 3),
        ("1_000", 1000),
        ("-0x10", -16),
    ] {
        assert_eq!(value_of(&format!("number: {written}"))["number"], expected, "{written}");
    }
    for refused in
        ["'5'", "five", "5.5", "0x", "08", "--5", "9223372036854775808", "1e300", ".inf", "_5", "+-5", "0x-5"]
    {
        let (_, problems) = read(&format!("number: {refused}"));
        assert_eq!(problems.len(), 1, "{refused}: {problems:?}");
    }
}

#[test]
fn booleans_take_yaml_1_1_spellings_but_not_numbers_or_quotes() {
    for (written, expected) in
        [("true", true), ("Yes", true), ("on", true), ("FALSE", false), ("no", false), ("Off", false)]
    {
        assert_eq!(value_of(&format!("flag: {written}"))["flag"], expected);
    }
    for refused in ["1", "0", "'true'", "\"yes\"", "maybe", "tRUE"] {
        assert_eq!(read(&format!("flag: {refused}")).1.len(), 1, "{refused}");
    }
}

#[test]
fn fractions_are_finite_numbers() {
    assert_eq!(value_of("fraction: 0.92")["fraction"], 0.92);
    assert_eq!(value_of("fraction: 1")["fraction"], 1.0);
    for refused in [".nan", ".inf", "inf", "NaN", "'0.5'", "x"] {
        assert_eq!(read(&format!("fraction: {refused}")).1.len(), 1, "{refused}");
    }
}

#[test]
fn null_is_absent_except_where_a_map_keeps_it() {
    assert_eq!(value_of("text: ~\nnumber: null\nlist:\nmap: ~"), serde_json::json!({}));
    assert_eq!(value_of("list: [a, null, b, ~]")["list"], serde_json::json!(["a", "b"]));
    assert_eq!(value_of("map: {a: ~}")["map"], serde_json::json!({"a": ""}));
    assert_eq!(value_of("nullable: {a: ~, b: x}")["nullable"], serde_json::json!({"a": null, "b": "x"}));
    assert_eq!(value_of(""), serde_json::json!({}));
}

#[test]
fn all_problems_are_reported_in_one_pass() {
    let (value, problems) = read(
        "txet: a\nnumber: '5'\nflag: 1\nlist: x\nmap: [a]\ninner-record:\n  colour: gren\n  shade: dark\nfraction: 0.5\n",
    );
    assert_eq!(
        problems,
        [
            "unknown-key 1:1 unknown key `txet` | did you mean `text`?",
            "wrong-type 2:9 `number` must be a whole number, not the text `5` | remove the quotes: `5`",
            "wrong-type 3:7 `flag` must be `true` or `false`, not `1` | write `true` or `false`",
            "wrong-type 4:7 `list` must be a list, not text | write `[x]`, or `- x` on a line of its own",
            "wrong-type 5:6 `map` must be a mapping (`key: value` lines), not a list | write a mapping (`key: value` lines)",
            "invalid-value 7:11 `inner-record.colour` must be one of `red`, `green`, not `gren` | did you mean `green`?",
            "unknown-key 8:3 unknown key `shade` in `inner-record` | remove it; known keys are colour",
        ]
    );
    assert_eq!(value, serde_json::json!({"fraction": 0.5, "inner-record": {}}), "the rest is still read");
}

#[test]
fn a_required_key_is_missed_once_and_only_when_it_is_absent() {
    let missing = |text: &str| read(text).1;
    assert_eq!(
        missing("inner-record: {}"),
        ["missing-key 1:15 `inner-record` has no `colour` | add `colour: …`"]
    );
    assert_eq!(missing("inner-record: {colour: ~}").len(), 1);
    let unreadable = missing("inner-record: {colour: 5}");
    assert_eq!(unreadable.len(), 1, "{unreadable:?}");
    assert!(unreadable[0].starts_with("invalid-value"), "{unreadable:?}");
    let schema = serde_json::to_value(schemars::schema_for!(Inner)).unwrap();
    assert_eq!(schema["required"], serde_json::json!(["colour"]));
}

#[test]
fn a_document_that_is_no_mapping_is_one_problem() {
    for text in ["- a\n", "just text\n", "5"] {
        let mut sources = SourceMap::new();
        let file = sources.add("a.yaml", text);
        let root = parse(&sources, file, Limits::default()).root.unwrap();
        let mut problems = Vec::new();
        assert_eq!(Sample::from_node(&root, &mut Reader::new(&mut problems)), None);
        assert_eq!(problems.len(), 1);
        assert!(problems[0].message.starts_with("the document must be a mapping"), "{}", problems[0].message);
    }
}

#[test]
fn every_leaf_knows_its_place() {
    let mut sources = SourceMap::new();
    let file =
        sources.add("a.yaml", "text: x\nlist:\n- a\n- b\nmap:\n  a/b: 1\ninner-record: {colour: red}\n");
    let root = parse(&sources, file, Limits::default()).root.unwrap();
    let sample = Sample::from_node(&root, &mut Reader::new(&mut Vec::new())).unwrap();
    let mut places = Vec::new();
    sample.walk(&mut Visitor::new(&mut |path, at| {
        places.push(format!("{path} {}", sources.resolve(at).unwrap().1.line));
    }));
    assert_eq!(places, ["/text 1", "/list/0 3", "/list/1 4", "/map/a~1b 6", "/inner-record/colour 7"]);
}

#[test]
fn schema_descriptions_are_the_doc_comments() {
    let schema = serde_json::to_value(schemars::schema_for!(Sample)).unwrap();
    assert_eq!(schema["properties"]["number"]["description"], "A whole number.");
    assert_eq!(schema["additionalProperties"], false);
    let keys: Vec<_> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, Sample::KEYS);
}

#[test]
fn the_nearest_word_forgives_slips_case_and_separators() {
    let known = ["pre_script", "post_script", "skills", "role"];
    for (written, expected) in [
        ("skils", Some("skills")),
        ("preScript", Some("pre_script")),
        ("Pre-Script", Some("pre_script")),
        ("roel", Some("role")),
        ("rol", Some("role")),
        ("banana", None),
        ("x", None),
        ("", None),
    ] {
        assert_eq!(nearest(written, known), expected, "{written}");
    }
}

#[test]
fn messages_quote_no_character_that_steers_a_terminal() {
    let (_, problems) = read("\"\\e[2J\\u202Ekey\\n\": x\ninner-record: {colour: \"re\\ad\"}\n");
    assert_eq!(
        problems,
        [
            "unknown-key 1:1 unknown key `\\u{1b}[2J\\u{202e}key\\n` | remove it; known keys are text, number, fraction, flag, list, map, nullable, inner-record",
            "invalid-value 2:24 `inner-record.colour` must be one of `red`, `green`, not `re\\u{7}d` | did you mean `red`?",
        ]
    );
}

record! {
    /// A record that must have keys.
    struct Strict {
        /// Its name.
        name: Located<String> = required,
        /// Its kind.
        kind: Located<String> = required,
        /// Anything.
        note: Located<String>,
    }
}

#[test]
fn required_keys_are_missed_unless_they_are_there_or_misspelt() {
    let strict = |text: &str| {
        let mut sources = SourceMap::new();
        let file = sources.add("a.yaml", text);
        let root = parse(&sources, file, Limits::default()).root.unwrap();
        let mut problems = Vec::new();
        Strict::from_node(&root, &mut Reader::new(&mut problems));
        problems.into_iter().map(|problem| problem.message).collect::<Vec<_>>()
    };
    assert_eq!(strict("name: a\nkind: b\n"), [""; 0]);
    for text in ["name: a\n", "name: a\nkind: ~\n", "name: a\nkind: ''\n", "name: a\nnote: kind\n"] {
        assert_eq!(strict(text), ["the document has no `kind`"], "{text}");
    }
    assert_eq!(strict(""), ["the document has no `name`", "the document has no `kind`"]);
    assert_eq!(strict("name: a\nkinds: b\n"), ["unknown key `kinds`"], "misspelt is not missing as well");
    assert_eq!(strict("name: a\nkind: [b]\n"), ["`kind` must be text, not a list"], "nor is unreadable");
    assert_eq!(strict("- a\n").len(), 1);
}

#[test]
fn the_start_of_a_word_stands_for_the_only_one_that_begins_with_it() {
    let known = ["timeout_minutes", "host_scanners", "host_files", "env"];
    for (written, expected) in [
        ("timeout", Some("timeout_minutes")),
        ("host_", None),
        ("host_sca", Some("host_scanners")),
        ("time", None),
    ] {
        assert_eq!(nearest(written, known), expected, "{written}");
    }
}
