use fullsend_guard::{Edit, Span};

use super::Excerpt;

/// The excerpt, and below it carets under what is marked.
fn shown(text: &str, needle: &str, masks: &[(&str, &'static str)]) -> String {
    let find = |needle: &str| {
        let start = text.find(needle).unwrap();
        Span::new(start, start + needle.len())
    };
    let edits: Vec<Edit> = masks
        .iter()
        .map(|(secret, replacement)| Edit { span: find(secret), replacement: (*replacement).into() })
        .collect();
    let excerpt = Excerpt::new(text, find(needle), &edits.iter().collect::<Vec<_>>());
    let (start, length) = (excerpt.marked.start, excerpt.marked.len());
    format!("{}\n{}{}", excerpt.text, " ".repeat(start), "^".repeat(length))
}

#[test]
fn what_hides_is_shown_and_marked_where_it_shows() {
    assert_eq!(shown("first\na\u{200b}b c\r\nlast", "c", &[]), "a\\u{200b}b c\n           ^");
    assert_eq!(shown("a\u{200b}b", "\u{200b}", &[]), "a\\u{200b}b\n ^^^^^^^^");
    assert_eq!(shown("\tx", "x", &[]), "    x\n    ^");
    assert_eq!(shown("漢字 x", "字", &[]), "漢字 x\n  ^^");
    assert_eq!(shown("e\u{301} x", "x", &[]), "e\u{301} x\n  ^");
}

#[test]
fn secrets_are_masked_even_where_the_excerpt_is_cut_inside_them() {
    assert_eq!(shown("key=hunter2 x", "x", &[("hunter2", "***")]), "key=*** x\n        ^");
    assert_eq!(shown("key=hunter2 x", "key=hunter2", &[("hunter2", "***")]), "key=*** x\n^^^^^^^");
    assert_eq!(shown("key=hunter2 x", "unter", &[("hunter2", "***")]), "key=*** x\n    ^^^");
    let long = format!("key={} x", "s".repeat(5000));
    let secret = "s".repeat(5000);
    assert_eq!(shown(&long, "x", &[(&secret, "***")]), "…*** x\n     ^");
    let block = "BEGIN\nsecret\nEND";
    assert_eq!(shown(block, "secret", &[(block, "[KEY]")]), "[KEY]\n^^^^^");
}

#[test]
fn long_lines_are_cut_around_what_is_marked() {
    let line = format!("{}needle{}", "a".repeat(100), "b".repeat(5000));
    let shown = shown(&line, "needle", &[]);
    let expected = format!("…{}needle{}…\n{}^^^^^^", "a".repeat(32), "b".repeat(57), " ".repeat(33));
    assert_eq!(shown, expected);
    let all = "n".repeat(5000);
    let excerpt = Excerpt::new(&all, Span::new(0, 5000), &[]);
    assert_eq!((excerpt.text.chars().count(), excerpt.marked), (97, 0..96));
}

#[test]
fn the_end_of_a_line_or_text_can_be_marked() {
    let excerpt = |text: &str, start, end| {
        let excerpt = Excerpt::new(text, Span::new(start, end), &[]);
        (excerpt.text, excerpt.marked)
    };
    assert_eq!(excerpt("ab", 2, 2), ("ab".to_owned(), 2..3));
    assert_eq!(excerpt("ab\ncd", 2, 3), ("ab".to_owned(), 2..3));
    assert_eq!(excerpt("", 0, 0), (String::new(), 0..1));
    assert_eq!(excerpt("ab", 9, 12), ("ab".to_owned(), 2..3), "a place behind the end is the end");
}
