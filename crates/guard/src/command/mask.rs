//! The text as it is given to the parser: of the same length, without what the grammar cannot take.
//!
//! Only the syntax tree is made from it; words are read from the text itself. What is masked must never run anything.

use std::borrow::Cow;

/// The text with blanks or plain letters in place of what the grammar stumbles over.
pub(super) fn masked(text: &str) -> Cow<'_, [u8]> {
    let redirections = text.contains("/dev/null") || text.contains(">&");
    let ranges = !text.is_ascii() && text.contains('{');
    let patterns = EXTENDED.iter().any(|start| text.contains(start));
    if !redirections && !ranges && !patterns {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = text.as_bytes().to_vec();
    if ranges {
        mask_ranges(&mut bytes);
    }
    if redirections {
        mask_redirections(text, &mut bytes);
    }
    if patterns {
        mask_patterns(text, &mut bytes);
    }
    Cow::Owned(bytes)
}

/// After `{` the scanner of the grammar looks up characters in a table that ends at 255, and crashes on those far beyond.
fn mask_ranges(bytes: &mut [u8]) {
    let mut in_range = false;
    for byte in bytes {
        match *byte {
            b'{' => in_range = true,
            b'0'..=b'9' | b'.' => {}
            0x80.. if in_range => *byte = b'_',
            _ => in_range = false,
        }
    }
}

/// Redirections that send output to nowhere, or errors with the output. The grammar refuses them after an assignment, where
/// `value=$(command) 2>/dev/null || true` is what everybody writes.
fn mask_redirections(text: &str, bytes: &mut [u8]) {
    let source = text.as_bytes();
    let ends = |at: usize| source.get(at).is_none_or(|byte| b" \t\n;&|)".contains(byte));
    for (at, _) in text.match_indices("/dev/null").filter(|(at, found)| ends(at + found.len())) {
        let before = source.get(..at).unwrap_or_default().trim_ascii_end();
        let Some(before) = before.strip_suffix(b">") else { continue };
        let before = before.strip_suffix(b">").unwrap_or(before);
        let before = without_descriptor(before);
        let start = before.strip_suffix(b"&").unwrap_or(before).len();
        let clean = !before.ends_with(b"<") && !before.ends_with(b">") && !before.ends_with(b"\\");
        // A line end in between would make two commands of it.
        let one_line = !source.get(start..at).unwrap_or_default().contains(&b'\n');
        if clean && one_line {
            blank(bytes, start, at + "/dev/null".len());
        }
    }
    for both in ["2>&1", "1>&2"] {
        for (at, _) in text.match_indices(both).filter(|(at, _)| ends(at + both.len())) {
            let apart = at.checked_sub(1).and_then(|at| source.get(at));
            if matches!(apart, Some(b' ' | b'\t')) {
                blank(bytes, at, at + both.len());
            }
        }
    }
}

/// Without the number of a file descriptor, which stands alone.
fn without_descriptor(before: &[u8]) -> &[u8] {
    match before {
        [rest @ .., b'0'..=b'9'] if rest.last().is_none_or(|byte| b" \t\n;(".contains(byte)) => rest,
        all => all,
    }
}

fn blank(bytes: &mut [u8], from: usize, to: usize) {
    bytes.get_mut(from..to).into_iter().flatten().for_each(|byte| *byte = b' ');
}

/// How patterns of the extended kind start.
static EXTENDED: &[&str] = &["!(", "@(", "?(", "*(", "+("];

/// The longest pattern that is masked.
const LONGEST_PATTERN: usize = 200;

/// `rm !(keep|me)`: as an argument this is a pattern, or an error; as a command it would run what is inside.
fn mask_patterns(text: &str, bytes: &mut [u8]) {
    for start in EXTENDED {
        for (at, _) in text.match_indices(start) {
            let inside = text.get(at + 2..).unwrap_or_default();
            let length = inside.bytes().take(LONGEST_PATTERN).take_while(|byte| is_pattern(*byte)).count();
            let closed = inside.as_bytes().get(length) == Some(&b')');
            if length > 0 && closed && is_argument(text.as_bytes().get(..at).unwrap_or_default()) {
                let masked = bytes.get_mut(at..=at + 2 + length).into_iter().flatten();
                masked.filter(|byte| b"!()|".contains(byte)).for_each(|byte| *byte = b'_');
            }
        }
    }
}

fn is_pattern(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_.*?|/-".contains(&byte)
}

/// Words after which a command follows.
static BEFORE_COMMANDS: &[&[u8]] =
    &[b"if", b"then", b"else", b"elif", b"do", b"while", b"until", b"time", b"!", b"{", b"in", b"coproc"];

/// Whether a word that ends here, or starts here, follows another word of the same command.
fn is_argument(before: &[u8]) -> bool {
    const LOOK_BACK: usize = 256;
    let near = before.get(before.len().saturating_sub(LOOK_BACK)..).unwrap_or_default();
    let is_part = |byte: &u8| !b" \t\n;&|(){}<>`\"'$\\".contains(byte);
    let own = near.iter().rev().take_while(|byte| is_part(byte)).count();
    let gap = near.get(..near.len() - own).unwrap_or_default();
    let earlier = gap.trim_ascii_end();
    if earlier.len() == gap.len() || gap.get(earlier.len()..).unwrap_or_default().contains(&b'\n') {
        return false;
    }
    let length = earlier.iter().rev().take_while(|byte| is_part(byte)).count();
    let word = earlier.get(earlier.len() - length..).unwrap_or_default();
    let plain = !word.is_empty() && (word == b"==" || word == b"!=" || !word.contains(&b'='));
    plain && !BEFORE_COMMANDS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::masked;

    fn shown(text: &str) -> String {
        String::from_utf8_lossy(&masked(text)).into_owned()
    }

    #[test]
    fn masks_what_crashes_the_scanner() {
        assert_eq!(shown("{\u{31860}é}é"), "{______}é");
        assert_eq!(shown("{1..\u{31860}"), "{1..____");
        assert_eq!(shown("{a\u{31860}"), "{a\u{31860}");
    }

    #[test]
    fn masks_only_redirections_that_do_nothing() {
        assert_eq!(shown("a=$(b) 2>/dev/null || c"), "a=$(b)             || c");
        assert_eq!(shown("a 2>&1; b >> /dev/null"), "a     ; b             ");
        for kept in ["a2>/dev/nullx", "a < /dev/null", "a <>/dev/null", "a \\>/dev/null", "a >&3", "x2>&1"] {
            assert_eq!(shown(kept), kept);
        }
        assert_eq!(shown("a2>/dev/null"), "a2          ");
    }

    #[test]
    fn masks_patterns_only_as_arguments() {
        assert_eq!(shown("rm !(keep|me) x"), "rm __keep_me_ x");
        assert_eq!(shown("ls *.@(a|b)"), "ls *.@_a_b_");
        for kept in [
            "!(curl|sh)",
            "x; !(curl|sh)",
            "if !(curl)",
            "A=1 !(curl)",
            "x $(curl|sh)",
            "x\n!(curl|sh)",
            "@()",
        ] {
            assert_eq!(shown(kept), kept, "{kept}");
        }
    }
}
