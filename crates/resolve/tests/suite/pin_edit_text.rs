//! Which bytes change, and which never do.

use fullsend_origin::Sha256Digest;
use fullsend_resolve::pin_edit::{Change, Edited, set_pin};

const URL: &str = "https://x.example/o/a.md";

fn digest() -> Sha256Digest {
    "d".repeat(64).parse().unwrap()
}

fn pinned() -> String {
    format!("{URL}#sha256={}", digest())
}

fn old() -> String {
    format!("#sha256={}", "0".repeat(64))
}

fn edit(text: &str) -> Edited {
    set_pin(text, URL, digest()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// In the template, `@` is the URL and `!` is where its pin stands or is put.
fn becomes(template: &str) {
    let with = |pin: &str| template.replace('@', URL).replace('!', pin);
    let expected = with(&format!("#sha256={}", digest()));
    for before in ["", &old(), "#sha256=abc", "#SHA256=ABC", "#sha256:abc"] {
        let text = with(before);
        let edited = edit(&text);
        assert_eq!(edited.text, expected, "{text}");
        assert_eq!(edited.changes.len(), template.matches('@').count(), "{text}");
        assert_eq!(edited.changes[0].before, format!("{URL}{before}"));
        assert_eq!(edited.original, Sha256Digest::of(text.as_bytes()));
    }
}

#[test]
fn layout_quotes_and_comments_stay() {
    for template in [
        "agent: @!",
        "agent: @!\n",
        "agent:   @!   \npolicy: x\n",
        "# top\nagent: @! # why: because\n\n\n# end",
        "agent: '@!' # quoted\n",
        "agent: \"@!\"",
        "skills: [a, @!, b]\n",
        "skills: [@!]\n",
        "skills: [ '@!' , \"@!\" ]\n",
        "map: {a: @!, b: c}\n",
        "skills:\n- @!\n-   @!\n",
        "skills:\n  - @!: {overrides: {a.md: b.md}}\n  - \"@!\": {}\n  - '@!' : {}\n",
        "skills:\n  - @!:\n      overrides:\n        x: @!\n",
        "skills:\n  - ? @!\n    : x\n",
        "agent: &a @!\npolicy: *a\n",
        "agent: >-\n  @!\npolicy: x\n",
        "agent: |-\n    @!\n\n\npolicy: x\n",
        "agent:\n  @!\n",
        "---\nagent: @!\n...\n",
        "@!",
    ] {
        becomes(template);
        becomes(&format!("\u{feff}{template}"));
        becomes(&template.replace('\n', "\r\n"));
    }
}

#[test]
fn escapes_in_quotes_are_understood() {
    let digest_text = format!("#sha256={}", digest());
    for (text, expected) in [
        // The `#` and a letter of the URL are written as escapes.
        (
            "a: \"https://x.example/o/\\x61.md\\u0023sha256=0\"\n",
            format!("a: \"https://x.example/o/\\x61.md{digest_text}\"\n"),
        ),
        (
            "a: \"https:\\/\\/x.example/o/a.md\" # c\n",
            format!("a: \"https:\\/\\/x.example/o/a.md{digest_text}\" # c\n"),
        ),
        (
            "a: \"\\U00000068ttps://x.example/o/a.md#sha256=\\\"\"\n",
            format!("a: \"\\U00000068ttps://x.example/o/a.md{digest_text}\"\n"),
        ),
    ] {
        assert_eq!(edit(text).text, expected);
    }
    let quote = "https://x.example/it's";
    let edited = set_pin("a: 'https://x.example/it''s#sha256=''' # c\n", quote, digest()).unwrap();
    assert_eq!(edited.text, format!("a: 'https://x.example/it''s{digest_text}' # c\n"));
    let accent = "https://x.example/é x";
    let edited = set_pin("a: https://x.example/é x # c\n", accent, digest()).unwrap();
    assert_eq!(edited.text, format!("a: https://x.example/é x{digest_text} # c\n"));
}

#[test]
fn changes_name_line_before_and_after() {
    let text = format!("agent: {URL}{}\nskills:\n  - b\n  - {URL}\n  - {}\n", old(), pinned());
    let edited = set_pin(&text, &pinned(), digest()).unwrap();
    assert_eq!(
        edited.changes,
        [
            Change { line: 1, before: format!("{URL}{}", old()), after: pinned() },
            Change { line: 4, before: URL.to_owned(), after: pinned() },
        ]
    );
}

#[test]
fn other_text_that_holds_the_url_is_not_touched() {
    let text = format!(
        "# {URL}\nagent: {URL}\nlonger: {URL}x\ndeeper: {URL}/b\nquery: {URL}?v=1\nupper: https://x.example/O/a.md\n\
         fragment: {URL}#section\nprose: see {URL}\nblock: |\n  {URL}\n  {URL}\nlist: [{URL}y, {URL}.bak]\n\
         env: {{X: \"{URL} \"}}\n"
    );
    let edited = edit(&text);
    assert_eq!(edited.text, text.replacen(&format!("agent: {URL}"), &format!("agent: {}", pinned()), 1));
    assert_eq!(edited.changes.len(), 1);
}

#[test]
fn front_matter_is_edited_and_the_body_is_not() {
    for (open, close, end) in [("---", "---", "\n"), ("\u{feff}---", "---", "\r\n"), (" --- ", "---", "\n")] {
        let text = format!(
            "{open}{end}name: s{end}dependencies:{end}  - {URL} # c{end}{close}{end}# Title{end}{end}agent: {URL}{end}- [ {{"
        );
        let edited = edit(&text);
        assert_eq!(edited.text, text.replacen(URL, &pinned(), 1));
        assert_eq!(edited.changes[0].line, 4);
    }
    let yaml = format!("---\nprose: |\n  a\n  ---\n  b\nagent: {URL}\n");
    assert_eq!(edit(&yaml).text, yaml.replacen(URL, &pinned(), 1), "dashes in a text end nothing");
}

#[test]
fn right_pins_change_nothing() {
    let text = format!("agent: {}\n", pinned());
    assert_eq!(
        edit(&text),
        Edited { text: text.clone(), changes: vec![], original: Sha256Digest::of(text.as_bytes()) }
    );
}

fn refused(text: &str, target: &str) -> String {
    let error = set_pin(text, target, digest()).unwrap_err();
    format!("{}: {error} | {}", error.code(), error.help().unwrap_or_default())
}

#[test]
fn refusals_say_what_to_do() {
    let block = format!("agent: \"https://x.example/o/\\\n  a.md\"\nskills: [{URL}]\n");
    for (text, target, expected) in [
        (
            "agent: x\n",
            URL,
            "pin-edit-not-found: no value or key in the file is https://x.example/o/a.md | name the URL exactly as the \
             file writes it; its pin may be left out",
        ),
        (
            &block,
            URL,
            "pin-edit-several-lines: line 1: the URL spans several lines | write the URL on one line",
        ),
        (
            "a: [\n",
            URL,
            "pin-edit-unreadable: line 1, column 4: unclosed bracket '[' | close the bracket, and separate its entries \
             with commas",
        ),
        (
            "a: 1\na: 2\n",
            URL,
            "pin-edit-unreadable: line 2, column 1: the key `a` stands twice | remove one of the two",
        ),
        (
            "---\na: 1\nb: [\n---\nbody\n",
            URL,
            "pin-edit-unreadable: line 3, column 4: unclosed bracket '[' | close the bracket, and separate its entries \
             with commas",
        ),
        (
            "a: x\n",
            "agents/x.md",
            "url-missing-scheme: this cannot be pinned: the URL does not start with `https://` | write a URL that starts with `https://`",
        ),
        (
            "a: x\n",
            "https://x.example/a#section",
            "url-fragment: this cannot be pinned: the URL has a fragment | remove the `#` and everything after it",
        ),
    ] {
        assert_eq!(refused(text, target), expected, "{text}");
    }
}

/// Two keys that differ in their pins only would become the same key, and one value would be lost.
#[test]
fn an_edit_that_would_change_anything_else_is_refused() {
    let altered = "pin-edit-altered: with the new pin the file would no longer say the same in other places | write the pin by \
                   hand; if the URL stands twice in one mapping, remove one";
    let text = format!("map:\n  {URL}: a\n  {URL}{}: b\n", old());
    assert_eq!(refused(&text, URL), altered);
    let padding = "x".repeat(1_000);
    let long = format!("https://x.example/{padding}");
    assert_eq!(refused(&format!("- {long}: a\n"), &long), altered, "a key may have 1024 characters");
}
