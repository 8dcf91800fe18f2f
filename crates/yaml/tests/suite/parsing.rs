//! Text to nodes: structure, positions, aliases, merges, refusals.

use fullsend_yaml::{
    FileId, Limits, LineColumn, Node, Parsed, SourceMap, Value, front_matter, parse, parse_part,
};

fn source(text: &str) -> (SourceMap, FileId) {
    let mut sources = SourceMap::new();
    let file = sources.add("a.yaml", text);
    (sources, file)
}

/// A compact rendering of a node that shows structure and text.
fn render(node: &Node<'_>) -> String {
    match &node.value {
        Value::Scalar(scalar) => scalar.text.to_string(),
        Value::Sequence(items) => format!("[{}]", items.iter().map(render).collect::<Vec<_>>().join(",")),
        Value::Mapping(entries) => {
            let pairs = entries.iter().map(|entry| format!("{}={}", entry.key, render(&entry.value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
        }
    }
}

fn rendered(text: &str) -> String {
    let (sources, file) = source(text);
    let parsed = parse(&sources, file, Limits::default());
    assert_eq!(parsed.problems, [], "{text}");
    render(&parsed.root.unwrap())
}

/// `code line:column` of every problem.
fn problems(text: &str) -> Vec<String> {
    let (sources, file) = source(text);
    let parsed = parse(&sources, file, Limits::default());
    describe(&sources, &parsed)
}

fn describe(sources: &SourceMap, parsed: &Parsed<'_>) -> Vec<String> {
    let describe = |problem: &fullsend_yaml::Diagnostic| {
        let (_, LineColumn { line, column }) = sources.resolve(problem.at).unwrap();
        assert!(!problem.help().is_empty());
        format!("{} {line}:{column}", problem.rule.code)
    };
    parsed.problems.iter().map(describe).collect()
}

#[test]
fn structure_is_kept_in_order() {
    assert_eq!(rendered("b: 1\na: [x, 'y z', {c: d}]\n"), "{b=1,a=[x,y z,{c=d}]}");
    assert_eq!(rendered(""), "");
    assert_eq!(rendered("# only a comment\n"), "");
    assert_eq!(rendered("\u{feff}a: 1\n"), "{a=1}");
    assert_eq!(rendered("a: 1\r\nb: |\r\n  x\r\n  y\r\n"), "{a=1,b=x\ny\n}");
}

#[test]
fn aliases_and_merge_keys_unfold() {
    assert_eq!(rendered("a: &x [1, 2]\nb: *x\n"), "{a=[1,2],b=[1,2]}");
    assert_eq!(rendered("d: &d {p: 1, q: 2}\ne: {<<: *d, q: 3}\n"), "{d={p=1,q=2},e={q=3,p=1}}");
    assert_eq!(
        rendered("d: &d {p: 1}\nf: &f {p: 2, r: 3}\ne:\n  <<: [*d, *f]\n"),
        "{d={p=1},f={p=2,r=3},e={p=1,r=3}}"
    );
}

#[test]
fn a_quoted_merge_key_beside_no_plain_one_is_an_ordinary_key() {
    assert_eq!(rendered("e: {'<<': x}\n"), "{e={<<=x}}");
}

#[test]
fn positions_are_those_of_the_value() {
    let (sources, file) = source("ä: 1\nlist:\n  - one\n  - 'two'\n");
    let root = parse(&sources, file, Limits::default()).root.unwrap();
    let Value::Mapping(entries) = &root.value else { panic!("a mapping") };
    let place = |at| sources.resolve(at).map(|(_, position)| (position.line, position.column)).unwrap();
    assert_eq!(place(entries[0].value.at), (1, 4));
    assert_eq!(place(entries[1].key_at), (2, 1));
    let Value::Sequence(items) = &entries[1].value.value else { panic!("a list") };
    assert_eq!(place(items[1].at), (4, 5));
}

#[test]
fn every_duplicate_key_is_reported_and_the_first_value_stays() {
    let text = "a: 1\nb: 2\na: 3\nb: {c: 4, c: 5}\n";
    assert_eq!(problems(text), ["duplicate-key 3:1", "duplicate-key 4:1", "duplicate-key 4:11"]);
    let (sources, file) = source(text);
    assert_eq!(render(&parse(&sources, file, Limits::default()).root.unwrap()), "{a=1,b=2}");
}

#[test]
fn duplicates_are_found_in_long_mappings_too() {
    for length in [2, 15, 16, 17, 18, 40] {
        let keys: String = (0..length).map(|index| format!("k{index}: 1\n")).collect();
        for repeated in 0..length {
            let text = format!("{keys}k{repeated}: 2\n");
            assert_eq!(problems(&text), [format!("duplicate-key {}:1", length + 1)], "{length} {repeated}");
        }
    }
}

#[test]
fn what_the_reader_refuses_is_named_with_its_place() {
    for (text, expected) in [
        ("a: !!int 5\nb: !x y\n", &["yaml-tag 1:4", "yaml-tag 2:4"][..]),
        ("a: 1\n---\nb: 2\n", &["yaml-multiple-documents 2:1"]),
        ("%YAML 1.2\n---\na: 1\n", &["yaml-syntax 1:1"]),
        ("? [a, b]\n: 1\n", &["yaml-key 1:3"]),
        ("{a: 1}: 2\n", &["yaml-key 1:1"]),
        ("a: *nope\nb: *nope\n", &["yaml-unknown-anchor 1:4", "yaml-unknown-anchor 2:4"]),
        ("a: &x [*x]\n", &["yaml-recursive-alias 1:8"]),
        ("a: {<<: 5}\nb: {<<: [5]}\n", &["yaml-merge 1:9", "yaml-merge 2:10"]),
        ("a: b: c\n", &["yaml-syntax 1:5"]),
        ("a:\n\tb: 1\n", &["yaml-syntax 2:2"]),
        ("a: [1, 2\n", &["yaml-syntax 1:4"]),
        ("a: 'x\n", &["yaml-syntax 2:1"]),
    ] {
        assert_eq!(problems(text), expected, "{text:?}");
    }
}

#[test]
fn front_matter_follows_its_delimiters() {
    let found = |text: &str| {
        front_matter(text).map(|found| (text[found.yaml].to_owned(), text[found.body].to_owned()))
    };
    let some = |yaml: &str, body: &str| Some((yaml.to_owned(), body.to_owned()));
    assert_eq!(found("---\na: 1\n---\nbody\n"), some("a: 1\n", "body\n"));
    assert_eq!(found("\u{feff}---\r\na: 1\r\n---\r\nbody"), some("a: 1\r\n", "body"));
    assert_eq!(found(" --- \na: 1\n  ---\n"), some("a: 1\n", ""));
    for none in ["", "---", "---\n", "a: 1\n", "\n---\na: 1\n---\n", "---\na: 1\n", "----\na: 1\n----\n"] {
        assert_eq!(found(none), None, "{none:?}");
    }
}

#[test]
fn front_matter_errors_show_the_line_of_the_whole_file() {
    let (sources, file) = source("---\nname: x\nname: y\n---\nbody\n");
    let yaml = front_matter(sources.file(file).unwrap().text()).unwrap().yaml;
    let parsed = parse_part(&sources, file, yaml, Limits::default());
    assert_eq!(describe(&sources, &parsed), ["duplicate-key 3:1"]);
}

#[test]
fn the_first_use_of_each_notation_is_remembered() {
    let starts = |text: &str| {
        let (sources, file) = source(text);
        let notation = parse(&sources, file, Limits::default()).notation;
        (notation.flow.map(|at| at.start), notation.anchor.map(|at| at.start))
    };
    assert_eq!(starts("a:\n  - 1\nb: '[x]'\n"), (None, None));
    assert_eq!(starts("a: [1]\nb: {}\n"), (Some(3), None));
    assert_eq!(starts("a:\n  b: {}\n"), (Some(8), None));
    assert!(starts("a: &x 1\nb: *x\n").1.is_some());
    assert!(starts("b: *x\n").1.is_some());
}
