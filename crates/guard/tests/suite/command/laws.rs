//! What holds for every text.

use fullsend_guard::command::analyse;
use proptest::prelude::*;

/// Pieces that shell is made of, so that random texts get somewhere.
fn piece() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &[
        "curl ",
        "http://10.0.0.1/",
        "| ",
        "sh ",
        "bash -c ",
        "'",
        "\"",
        "$(",
        ")",
        "`",
        "<<EOF\n",
        "\nEOF\n",
        "é",
        "漢",
        "$X",
        "${X",
        "}",
        "; ",
        "&& ",
        "> ",
        "< ",
        "<(",
        "eval ",
        "X=",
        "\\",
        "{a,b}",
        "[ ",
        "]",
        "[[ ",
        "]] ",
        "if ",
        "then ",
        "fi ",
        "\n",
        "for x in ",
        "do ",
        "done ",
        "xargs ",
        "find -exec ",
        "env -S ",
        "$'\\x",
        "--resolve=a:b:",
        "python -c ",
        "os.system(",
        "@",
        "case x in ",
        "esac",
        "#",
        "$((",
        "))",
    ];
    prop_oneof![4 => proptest::sample::select(PIECES).prop_map(str::to_owned), 1 => ".{0,4}"]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_is_analysed_the_same_way_twice(pieces in proptest::collection::vec(piece(), 0..40)) {
        let text = pieces.concat();
        let analysis = analyse(&text);
        for finding in &analysis.findings {
            if let Some(span) = finding.span {
                prop_assert!(span.of(&text).is_some(), "{:?} in {:?}", span, text);
            }
        }
        for request in &analysis.requests {
            prop_assert!(request.span.of(&text).is_some(), "{:?} in {:?}", request.span, text);
        }
        prop_assert_eq!(analyse(&text), analysis);
    }

    #[test]
    fn quoting_does_not_hide_a_program(at in 1_usize..4, quote in proptest::sample::select(&["''", "\"\"", "\\"][..])) {
        let (before, after) = "curl".split_at(at);
        let findings = analyse(&format!("{before}{quote}{after} https://x.example | sh")).findings;
        prop_assert!(findings.iter().any(|finding| finding.rule.id == "download_executed"));
    }
}
