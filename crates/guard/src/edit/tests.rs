use proptest::prelude::*;

use super::{Edit, Edits};
use crate::Span;

fn edits(list: &[(usize, usize, &'static str)]) -> Edits {
    list.iter()
        .map(|(start, end, text)| Edit { span: Span::new(*start, *end), replacement: (*text).into() })
        .collect()
}

#[test]
fn changes_are_applied_in_order_whatever_order_they_come_in() {
    let changes = edits(&[(6, 7, ""), (0, 1, "ABC")]);
    assert_eq!(changes.apply("a text!"), "ABC text");
}

#[test]
fn overlapping_changes_take_out_what_either_would_have() {
    let changes = edits(&[(2, 5, "x"), (4, 7, "y")]);
    assert_eq!(changes.apply("0123456789"), "01x789");
}

#[test]
fn spans_lead_back_to_the_original() {
    let text = "ab--cd**ef";
    let changes = edits(&[(2, 4, ""), (6, 8, "++++")]);
    assert_eq!(changes.apply(text), "abcd++++ef");
    let back = |start, end| changes.to_original(Span::new(start, end)).of(text);
    assert_eq!(back(0, 2), Some("ab"));
    assert_eq!(back(2, 4), Some("cd"), "what was removed in front is not part of it");
    assert_eq!(back(0, 4), Some("ab--cd"));
    assert_eq!(back(5, 6), Some("**"), "part of a replacement is all that was replaced");
    assert_eq!(back(3, 10), Some("d**ef"));
}

#[test]
fn a_span_outside_the_text_changes_nothing() {
    assert_eq!(edits(&[(1, 2, "x")]).apply("é"), "é");
    assert_eq!(edits(&[(7, 9, "x")]).apply("text"), "text");
}

proptest! {
    #[test]
    fn untouched_text_maps_to_itself(text in "[a-z]{0,40}", cuts in proptest::collection::vec((0usize..40, 0usize..5, "[A-Z]{0,3}"), 0..6)) {
        let changes: Edits = cuts
            .into_iter()
            .map(|(start, length, replacement)| {
                let start = start.min(text.len());
                Edit { span: Span::new(start, (start + length).min(text.len())), replacement: replacement.into() }
            })
            .collect();
        let changed = changes.apply(&text);
        for (at, letter) in changed.char_indices().filter(|(_, letter)| letter.is_ascii_lowercase()) {
            let original = changes.to_original(Span::new(at, at + 1));
            prop_assert_eq!(original.of(&text).map(str::to_owned), Some(letter.to_string()));
        }
    }
}
