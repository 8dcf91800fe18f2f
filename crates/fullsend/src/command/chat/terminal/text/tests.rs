use super::{Breaks, Line, Row, Span, Style, clean, width};

fn shown(rows: &[Row]) -> Vec<String> {
    rows.iter().map(|row| row.spans().iter().map(Span::text).collect()).collect()
}

#[test]
fn nothing_that_a_terminal_acts_on_is_left() {
    for (text, expected) in [
        ("plain", "plain"),
        ("\u{1b}[2J\u{1b}]0;title\u{7}", "\\u{1b}[2J\\u{1b}]0;title\\u{7}"),
        ("\u{9b}31m", "\\u{9b}31m"),
        ("a\rb\u{8}c\u{7f}", "a\\rb\\u{8}c\\u{7f}"),
        ("safe\u{202e}txt.exe", "safe\\u{202e}txt.exe"),
        ("pay\u{200b}pal \u{e0041}", "pay\\u{200b}pal \\u{e0041}"),
        ("a\tb\nc", "a    b c"),
        ("use std::fs; naïve 漢字", "use std::fs; naïve 漢字"),
        ("✔\u{fe0f} 👩\u{200d}💻 x\u{200d}y", "✔ 👩💻 x\\u{200d}y"),
    ] {
        assert_eq!(clean(text), expected, "{text:?}");
    }
    let stacked = format!("a{}b", "\u{301}".repeat(40));
    assert_eq!(clean(&stacked), format!("a{}b", "\u{301}".repeat(4)));
}

#[test]
fn a_command_in_pieces_stays_text() {
    let line = Line::new("\u{1b}", Style::PLAIN).with("[31m", Style::BOLD);
    assert_eq!(shown(&line.rows(40)), ["\\u{1b}[31m"]);
}

#[test]
fn lines_are_broken_between_words_and_hang() {
    let line = Line::new("one two three four", Style::PLAIN).hanging(2);
    assert_eq!(shown(&line.rows(9)), ["one two ", "  three ", "  four"]);
    let line = Line::new("a verylongwordindeed z", Style::PLAIN);
    assert_eq!(shown(&line.rows(6)), ["a very", "longwo", "rdinde", "ed z"]);
    let code = Line::new("    if x {  }", Style::PLAIN).breaking(Breaks::Anywhere);
    assert_eq!(shown(&code.rows(8)), ["    if x", " {  }"]);
    let one = Line::new("one two three", Style::PLAIN).breaking(Breaks::Nowhere);
    assert_eq!(shown(&one.rows(8)), ["one two…"]);
    assert_eq!(shown(&one.rows(13)), ["one two three"]);
}

#[test]
fn no_row_is_wider_than_the_terminal() {
    let texts = ["漢字漢字漢字", "a漢b 字c", "", "   ", "x\u{301}\u{301}yz", "🎉🎉 🎉", "word\u{202e}word"];
    for text in texts {
        for breaks in [Breaks::Words, Breaks::Anywhere, Breaks::Nowhere] {
            for columns in 0..9 {
                let line = Line::new(text, Style::PLAIN).hanging(3).breaking(breaks);
                for row in line.rows(columns) {
                    assert!(row.width() <= columns.max(2), "{text:?} {breaks:?} {columns}: {row:?}");
                }
            }
        }
    }
    assert_eq!(width("a漢"), 3);
}
