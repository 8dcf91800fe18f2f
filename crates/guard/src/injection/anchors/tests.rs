use proptest::prelude::*;

use super::{INDEX, Kind, find};
use crate::Span;
use crate::injection::words::starts_word;

/// The anchors of a text, each place asked for itself.
fn one_by_one(text: &str) -> Vec<(Kind, Span)> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < text.len() {
        let letter = text.as_bytes()[at].is_ascii_alphabetic();
        let anchor = INDEX.anchor_at(text.as_bytes(), at).filter(|_| !letter || starts_word(text, at));
        at = anchor.map_or(at + 1, |(_, span)| span.end);
        found.extend(anchor);
    }
    found
}

proptest! {
    #[test]
    fn all_anchors_are_found_and_no_others(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "ignore", "xignore", "\\nignore", "are now", "agents", "игнopиpyй", "忽略", " hidden", "<!--", "i g n o r e",
                "69 67 6e 6f 72 65", "7", "n", "\\", "word", "ein", "漢字", ".env", "/.env", "llm ", "the ai ", "http",
            ]),
            0..60,
        ),
        gap in prop::sample::select(vec!["", " ", "\n", "_", "é"]),
    ) {
        let text = words.join(gap);
        prop_assert_eq!(find(text.as_bytes()).collect::<Vec<_>>(), one_by_one(&text), "{}", text);
    }
}
