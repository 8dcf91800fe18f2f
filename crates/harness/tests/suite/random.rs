//! Random documents: linting ends with an answer, and every problem has a place and a remedy.

use fullsend_harness::schema::{ForgeOverlay, HarnessFile, HostFile, Security, ValidationLoop};
use fullsend_yaml::Severity;
use proptest::prelude::*;
use serde_json::json;

use super::support::Folder;

/// Scalars that matter to some key, and some that matter to none.
fn scalar() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "",
        "~",
        "null",
        "true",
        "off",
        "0",
        "-1",
        "010",
        "1e400",
        "''",
        "\"\\0\"",
        "a",
        "agents/code.md",
        "../x",
        "/",
        ".",
        "..",
        "code.yaml",
        "parent.yaml",
        "https://github.com/o/r/tree/v1/s",
        "http://x",
        "file:///x",
        "'${A}'",
        "'${'",
        "'${ACTIONS_ID_TOKEN_REQUEST_URL}'",
        "event.a",
        "event ==",
        "low",
        "github",
        "é",
        "'#sha256='",
        "*a",
        "&a b",
        "!!int 5",
        "{",
        "[a",
        "- b",
        "https://x.test/#sha256=AA",
        "'https://x.test/a#sha256=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'",
    ]);
    prop_oneof![4 => words.prop_map(str::to_owned), 1 => "[ -~\\t]{0,12}", 1 => "\\PC{0,6}"]
}

fn key() -> impl Strategy<Value = &'static str> {
    let keys = [
        HarnessFile::KEYS,
        ForgeOverlay::KEYS,
        HostFile::KEYS,
        Security::KEYS,
        ValidationLoop::KEYS,
        &["github", "gitlab", "<<", "A", "sandbox"],
    ];
    prop::sample::select(keys.concat())
}

/// A value written in flow style, so that any nesting stays on one line.
fn value() -> impl Strategy<Value = String> {
    scalar().prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
            prop::collection::vec((key(), inner), 0..4).prop_map(|entries| {
                let entries: Vec<String> =
                    entries.iter().map(|(key, value)| format!("{key}: {value}")).collect();
                format!("{{{}}}", entries.join(", "))
            }),
        ]
    })
}

fn document() -> impl Strategy<Value = String> {
    prop::collection::vec((key(), value()), 0..8)
        .prop_map(|entries| entries.iter().map(|(key, value)| format!("{key}: {value}\n")).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn linting_never_panics_and_every_problem_can_be_acted_on(harness in document(), parent in document(), config in document()) {
        let folder = Folder::with(&[("harness/code.yaml", &harness), ("harness/parent.yaml", &parent), ("config.yaml", &config)]);
        for environment in [None, Some(&(|_: &str| Some("x".to_owned())) as &dyn Fn(&str) -> Option<String>)] {
            let report = folder.report(environment);
            for problem in &report.problems {
                let (_, place) = report.sources.resolve(problem.at).unwrap();
                let text = report.sources.file(problem.at.file).unwrap().text();
                prop_assert!(problem.at.start <= problem.at.end && problem.at.end as usize <= text.len(), "{problem:?}");
                prop_assert!(place.line >= 1 && place.column >= 1);
                prop_assert!(!problem.message.trim().is_empty() && !problem.help().trim().is_empty(), "{problem:?}");
                prop_assert!(problem.related.iter().all(|related| report.sources.resolve(related.at).is_some()));
            }
            let ordered = report.problems.windows(2).all(|pair| pair[0].at <= pair[1].at);
            prop_assert!(ordered, "problems are in the order of their places");
            prop_assert_eq!(report.count(Severity::Error) + report.count(Severity::Warning), report.problems.len());
        }
    }

    #[test]
    fn what_is_shown_is_a_harness_that_shows_the_same(text in "\\PC{0,20}", lines in document()) {
        let folder = Folder::empty();
        folder.write("harness/code.yaml", &lines);
        let described = json!({"description": text, "env": {"sandbox": {&text: &text}}});
        folder.write("harness/other.yaml", &described.to_string());
        for name in ["code", "other"] {
            let Ok(shown) = folder.show(name, Default::default()) else { continue };
            folder.write("harness/again.yaml", &shown.harness.to_string());
            let again = folder.show("again", Default::default());
            prop_assert_eq!(&again.unwrap().harness, &shown.harness);
        }
    }
}
