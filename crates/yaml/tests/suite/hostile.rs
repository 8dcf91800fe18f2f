//! Input made to exhaust the reader: every case ends in a problem, none in a panic or a long wait.

use std::fmt::Write;

use fullsend_yaml::{Limits, SourceMap, parse};
use proptest::prelude::*;

fn only_problem(text: &str) -> &'static str {
    let mut sources = SourceMap::new();
    let file = sources.add("hostile.yaml", text);
    let parsed = parse(&sources, file, Limits::default());
    assert!(parsed.root.is_none());
    parsed.problems.last().unwrap().rule.code
}

#[test]
fn alias_bombs_break_the_node_budget() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..10 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        writeln!(bomb, "a{level}: &a{level} [{aliases}]").unwrap();
    }
    assert_eq!(only_problem(&bomb), "yaml-too-many-nodes");
}

#[test]
fn aliases_cannot_nest_past_the_depth_limit() {
    let mut text = "a0: &a0 [x]\n".to_owned();
    for level in 1..40 {
        writeln!(text, "a{level}: &a{level} [*a{}]", level - 1).unwrap();
    }
    assert_eq!(only_problem(&text), "yaml-too-deep");
}

#[test]
fn deep_nesting_is_refused_in_flow_and_block_form() {
    assert_eq!(only_problem(&"[".repeat(40_000)), "yaml-too-deep");
    assert_eq!(only_problem(&"{a: ".repeat(40_000)), "yaml-too-deep");
    assert_eq!(only_problem(&"- ".repeat(40_000)), "yaml-too-deep");
    let mut block = String::new();
    for level in 0..40 {
        writeln!(block, "{}a:", "  ".repeat(level)).unwrap();
    }
    assert_eq!(only_problem(&block), "yaml-too-deep");
}

#[test]
fn exactly_the_allowed_depth_is_accepted() {
    let mut sources = SourceMap::new();
    let limits = Limits::default();
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let accepted = sources.add("ok.yaml", nested(limits.depth));
    let refused = sources.add("deep.yaml", nested(limits.depth + 1));
    assert!(parse(&sources, accepted, limits).root.is_some());
    assert!(parse(&sources, refused, limits).root.is_none());
}

#[test]
fn size_and_number_are_limited() {
    assert_eq!(only_problem(&"#".repeat((1 << 20) + 1)), "yaml-too-large");
    assert_eq!(only_problem(&"- a\n".repeat(20_001)), "yaml-too-many-nodes");
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC{0,200}") {
        let mut sources = SourceMap::new();
        let file = sources.add("any.yaml", text);
        let parsed = parse(&sources, file, Limits::default());
        prop_assert!(parsed.root.is_some() || !parsed.problems.is_empty());
    }

    #[test]
    fn yaml_like_text_never_panics_and_positions_resolve(text in "([a-c]|[-:&*!<>|%@`'\"#?,\\[\\]{}]|[ \n\t]|null|<<){0,60}") {
        let mut sources = SourceMap::new();
        let file = sources.add("any.yaml", text);
        for problem in parse(&sources, file, Limits::default()).problems {
            prop_assert!(sources.resolve(problem.at).is_some());
            prop_assert!(problem.at.start <= problem.at.end);
        }
    }
}
