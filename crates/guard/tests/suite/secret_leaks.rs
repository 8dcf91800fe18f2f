//! Leaks as they happen, in the forms that tools print, and what only looks like one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fullsend_guard::{Checks, Pipeline, Scanner as _, SecretScanner, UnicodeScanner};

const NOISE: &str = "k7Qz2mX9vB4tR8wY1pL6sD3fG5hJ0aCeUiOxNbVqWzEr";
const HEX: &str = "3f9a1c07be52d8463f0e9b7a6c5d41280fa3c7e9b1d2468a9c0e7f5b3d1a2684";
const UPPER: &str = "Q3EGV7JZX2LWN5TB8MC4RKD6PYS9";

/// A line of the tables with everything in braces written out.
fn expand(line: &str) -> String {
    let mut text = line.replace('⏎', "\n").replace('→', "\t");
    for (letter, body) in [('N', NOISE), ('H', HEX), ('U', UPPER)] {
        for length in (1..=body.len()).rev() {
            text = text.replace(&format!("{{{letter}{length}}}"), &body[..length]);
        }
    }
    while let Some(start) = text.find("{B:") {
        // A blob may hold braces; it ends before the next mark or blank after its last brace.
        let end = blob_end(&text, start);
        let encoded = STANDARD.encode(&text[start + 3..end]);
        text.replace_range(start..=end, &encoded);
    }
    text
}

/// Where the brace is that closes the one at `start`.
fn blob_end(text: &str, start: usize) -> usize {
    let mut depth = 0;
    for (at, character) in text[start..].char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return start + at;
        }
    }
    panic!("no brace closes: {text}")
}

fn lines(table: &'static str) -> impl Iterator<Item = &'static str> {
    table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn cleaned(text: &str) -> String {
    Checks::default().output().run(text).sanitized.map_or_else(|| text.to_owned(), Into::into)
}

/// The parts between the marks, and the text without marks.
fn marked(line: &str) -> (Vec<String>, String) {
    let text = expand(line);
    let secrets =
        text.split('«').skip(1).map(|part| part.split('»').next().unwrap_or_default().to_owned()).collect();
    (secrets, text.replace(['«', '»'], ""))
}

#[test]
fn masks_leaks_in_the_forms_that_tools_print() {
    let table = include_str!("secret_leaks/leaks.txt");
    let mut leaked = Vec::new();
    for line in lines(table) {
        let (secrets, text) = marked(line);
        assert!(!secrets.is_empty(), "nothing is marked: {line}");
        let clean = cleaned(&text);
        for secret in &secrets {
            // A mask may keep the prefix of the provider and the last four characters.
            let body = &secret[secret.len() / 3..secret.len() - 4.min(secret.len() / 3)];
            let shows = body.as_bytes().windows(5).any(|part| {
                let part = std::str::from_utf8(part).expect("secrets are ASCII");
                clean.contains(part)
            });
            if shows {
                leaked.push(format!("{text}\n  => {clean}"));
            }
        }
    }
    assert!(leaked.is_empty(), "{} leaks:\n{}", leaked.len(), leaked.join("\n"));
    assert!(lines(table).count() >= 150);
}

#[test]
fn leaves_alone_what_only_looks_like_a_leak() {
    let table = include_str!("secret_leaks/clean.txt");
    let mut changed = Vec::new();
    for line in lines(table) {
        let text = expand(line);
        let clean = cleaned(&text);
        if clean != text {
            changed.push(format!("{text}\n  => {clean}"));
        }
    }
    assert!(changed.is_empty(), "{} changed:\n{}", changed.len(), changed.join("\n"));
    assert!(lines(table).count() >= 150);
}

/// A token with something in it or around it that a reader does not see, or takes for what it replaces.
const DISGUISED: [&str; 10] = [
    "glpat-k7Qz2mX9\u{200b}vB4tR8wY1pL6",
    "gl\u{200d}pat-k7Qz2mX9vB4tR8wY1pL6",
    "\u{feff}glpat-k7Qz2mX9vB4tR8wY1pL6",
    "glpat-\u{2060}k7Qz2mX9vB4tR8wY1pL6",
    "glpat\u{ad}-k7Qz2mX9vB4tR8wY1pL6",
    "ｇｌｐａｔ－k7Qz2mX9vB4tR8wY1pL6",
    "ｇlpat-ｋ７Ｑz2mX9vB4tR8wY1pL6",
    "glpat-k7Qz2mX9\u{e0041}\u{e0042}vB4tR8wY1pL6",
    "glpat-k7Qz2mX9\u{202e}vB4tR8wY1pL6",
    "glpat-\u{1b}[31mk7Qz2mX9vB4tR8wY1pL6\u{1b}[0m",
];

#[test]
fn what_hides_a_token_is_gone_before_tokens_are_looked_for() {
    for text in DISGUISED {
        let json = serde_json::json!({ "said": text }).to_string();
        for text in [text.to_owned(), format!("the value {text} was used"), json] {
            let clean = cleaned(&text);
            assert!(!clean.contains("B4tR8"), "{text:?} became {clean:?}");
        }
    }
}

/// Why the order of the checks is what it is: in the other one every disguise leaks.
#[test]
fn in_the_other_order_a_disguised_token_leaks() {
    for text in DISGUISED.iter().filter(|text| !text.starts_with('\u{feff}')) {
        let wrong = Pipeline::new(vec![Box::new(SecretScanner::new()), Box::new(UnicodeScanner::new())]);
        let clean = wrong.run(text).sanitized.map_or_else(|| (*text).to_owned(), Into::into);
        assert!(clean.contains("B4tR8"), "{text:?} became {clean:?}");
    }
}

/// Two hundred kilobytes each of what costs a naive scanner most: one that reads on from every such place reads many
/// gigabytes.
#[test]
fn large_texts_are_read_in_one_go() {
    let texts = [
        "!function(e,t){e.key=t.token||\"a\";return e.auth(t)}(this,x);",
        "%2D",
        "mysql -p -u -a -p ",
        "cookie: a=b; ",
        "cookie:cookie:",
        "password ",
        "\"password\" { default ",
        "password,value:",
        "eyJhbGciOiJIUzI1NiJ9.\n",
        "-----BEGIN PRIVATE KEY-----\n",
        "|KEY|",
        "  key: |\n",
        "<password>",
        "Private-Lines:\n",
        "postgres://u:x/",
        "Authorization: A ",
    ];
    for part in texts {
        let scan = SecretScanner::new().scan(&part.repeat(200_000 / part.len()));
        assert!(scan.edits.is_empty(), "{part}: {:?}", scan.findings.first());
    }
    let leaves = format!("[{}1]", "{\"key\":\"a1\"},".repeat(40_000));
    for text in
        [leaves, STANDARD.encode(NOISE.repeat(9000)), STANDARD.encode("a harmless text ".repeat(25_000))]
    {
        assert!(SecretScanner::new().scan(&text).edits.is_empty());
    }
}
