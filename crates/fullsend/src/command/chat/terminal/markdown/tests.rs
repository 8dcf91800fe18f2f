use super::super::text::{Line, Span};
use super::lines;

fn shown(text: &str) -> Vec<String> {
    lines(text).iter().map(|line| line.plain().trim_end().to_owned()).collect()
}

#[test]
fn blocks_become_lines() {
    let text = "# Title\n\nSome *soft* and **hard** text,\nin `code`.\n\n- one\n  - nested\n- two\n\n3. three\n4. four\n\n> quoted\n> more\n\n---\n\n```rust\nfn a() {\n    b();\n}\n```\n";
    let expected = [
        "Title",
        "",
        "Some soft and hard text, in `code`.",
        "",
        "• one",
        "  • nested",
        "• two",
        "",
        "3. three",
        "4. four",
        "",
        "│ quoted more",
        "",
        "────────",
        "",
        "rust",
        "│ fn a() {",
        "│     b();",
        "│ }",
    ];
    assert_eq!(shown(text), expected);
}

#[test]
fn links_say_where_they_lead() {
    let address = "https://evil.example/x";
    assert_eq!(
        shown(&format!("[https://good.example]({address})")),
        [format!("https://good.example ({address})")]
    );
    assert_eq!(shown(&format!("<{address}>")), [address]);
    assert_eq!(shown(&format!("![a picture]({address})")), [format!("[image: a picture] ({address})")]);
}

#[test]
fn tables_are_laid_out() {
    let text = "| a | wide |\n|---|---|\n| longer | b |\n";
    assert_eq!(shown(text), ["a      │ wide", "───────┼─────", "longer │ b"]);
}

#[test]
fn looks_are_those_of_the_text() {
    let all = lines("a **b *c*** `d`");
    let [line] = all.as_slice() else { panic!("{all:?}") };
    let rows = line.rows(80);
    let spans = rows.iter().flat_map(|row| row.spans());
    let looks: Vec<(String, bool, bool, bool)> = spans
        .map(|span: &Span| {
            let style = span.style();
            (span.text().to_owned(), style.bold, style.italic, style.colour.is_some())
        })
        .collect();
    let look = |text: &str, bold, italic, coloured| (text.to_owned(), bold, italic, coloured);
    assert_eq!(
        looks,
        [
            look("a ", false, false, false),
            look("b ", true, false, false),
            look("c", true, true, false),
            look(" ", false, false, false),
            look("`d`", false, false, true)
        ]
    );
}

#[test]
fn what_is_not_complete_yet_is_shown_too() {
    for (text, expected) in [
        ("", &[][..]),
        ("**bo", &["**bo"]),
        ("```sh\nls", &["sh", "│ ls"]),
        ("- one\n- ", &["• one"]),
        ("| a |\n|-", &["a", "─"]),
    ] {
        let shown = shown(text);
        assert_eq!(shown, expected, "{text:?}");
    }
}

#[test]
fn text_that_means_harm_stays_text() {
    let lines = shown("<script>x</script>\n\n`\u{1b}[2J` [a\u{202e}b](http://x/\u{1b}]8;;)");
    assert!(lines.iter().any(|line| line.contains("<script>")), "{lines:?}");
    assert!(!lines.concat().chars().any(|letter| letter.is_control() || letter == '\u{202e}'), "{lines:?}");
}

#[test]
fn deep_nesting_leaves_room_for_text() {
    let quoted = format!("{}deep", "> ".repeat(2000));
    let all = lines(&quoted);
    assert!(all.iter().all(|line: &Line| line.hang <= 26), "{:?}", all.first().map(|line| line.hang));
    assert!(all.iter().any(|line| line.plain().ends_with("deep")));
}
