//! Laws of the scanner for characters, on texts dense in those it knows.

use fullsend_guard::{Scanner, UnicodeScanner};
use proptest::prelude::*;
use proptest::sample::select;

/// Pieces that act on each other: bases, what clings to them, what opens and closes, what is removed and what folds.
const PIECES: &[&str] = &[
    "a",
    "1",
    "#",
    " ",
    "\n",
    "[",
    "]",
    "\\",
    "m",
    "7",
    "(",
    "é",
    "漢",
    "か",
    "한",
    "क",
    "\u{94d}",
    "ش",
    "ه",
    "\u{64e}",
    "ש",
    "ᠠ",
    "က",
    "ខ",
    "👩",
    "❤",
    "©",
    "🏴",
    "🏽",
    "🅰",
    "Ⓜ",
    "ℎ",
    "ℝ",
    "∩",
    "⠓",
    "\u{2800}",
    "\0",
    "\x07",
    "\x0c",
    "\x1b",
    "\u{9b}",
    "\u{9d}",
    "\u{9c}",
    "\u{90}",
    "\x1b[",
    "\x1b]0;",
    "\u{ad}",
    "\u{34f}",
    "\u{200b}",
    "\u{200c}",
    "\u{200d}",
    "\u{200e}",
    "\u{200f}",
    "\u{61c}",
    "\u{202a}",
    "\u{202b}",
    "\u{202c}",
    "\u{202d}",
    "\u{202e}",
    "\u{2066}",
    "\u{2067}",
    "\u{2068}",
    "\u{2069}",
    "\u{2060}",
    "\u{feff}",
    "\u{180b}",
    "\u{180e}",
    "\u{fe00}",
    "\u{fe0e}",
    "\u{fe0f}",
    "\u{e0100}",
    "\u{e0158}",
    "\u{e0001}",
    "\u{e0041}",
    "\u{e0067}",
    "\u{e0062}\u{e0073}",
    "\u{e007f}",
    "\u{115f}",
    "\u{3164}",
    "\u{ffa0}",
    "\u{fff9}",
    "\u{301}",
    "\u{301}\u{302}\u{303}\u{304}\u{305}",
    "\u{20e3}",
    "\u{3099}",
    "\u{3000}",
    "Ａ",
    "１",
    "［",
    "，",
    "𝐦",
    "𝐀",
    "ⓑ",
    "ﬁ",
    "\u{1d173}",
    "\u{2029}",
    "\r",
];

fn dense() -> impl Strategy<Value = String> {
    prop::collection::vec(select(PIECES), 0..24).prop_map(|pieces| pieces.concat())
}

/// Checks that cleaning settles at once, and that what is reported lies in the text.
fn check(scanner: UnicodeScanner, text: &str) -> Result<(), TestCaseError> {
    let scan = scanner.scan(text);
    prop_assert_eq!(
        scan.edits.is_empty(),
        scan.findings.is_empty(),
        "what is found is taken out, and nothing else"
    );
    for finding in &scan.findings {
        let span = finding.span.unwrap();
        prop_assert!(!span.is_empty() && span.of(text).is_some(), "{:?} of {:?}", span, text);
    }
    let cleaned = scan.edits.apply(text);
    let again = scanner.scan(&cleaned);
    prop_assert!(
        again.edits.is_empty(),
        "{:?} became {:?}, and then {:?}",
        text,
        cleaned,
        again.edits.apply(&cleaned)
    );
    prop_assert_eq!(again.findings, []);
    let control = |character: char| character.is_control() && !"\t\n\r".contains(character);
    prop_assert!(!cleaned.contains(control), "{:?}", cleaned);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn cleaning_what_was_cleaned_finds_nothing(text in dense()) {
        check(UnicodeScanner::new(), &text)?;
        check(UnicodeScanner::for_files(), &text)?;
    }

    #[test]
    fn any_text_settles(text in any::<String>()) {
        check(UnicodeScanner::new(), &text)?;
    }

    #[test]
    fn plain_text_around_what_is_removed_stays(before in "[a-z ]{0,200}", hidden in "[\u{200b}\u{2060}\u{e0020}-\u{e007e}\u{202e}]{1,5}", behind in "[a-z ]{0,200}") {
        let text = format!("{before}{hidden}{behind}");
        prop_assert_eq!(UnicodeScanner::new().scan(&text).edits.apply(&text), format!("{before}{behind}"));
    }
}
