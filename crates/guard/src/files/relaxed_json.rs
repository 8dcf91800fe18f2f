//! JSON as settings files have it: with comments and commas before closing brackets.

/// `text` with comments, and commas that nothing follows, as spaces: what is left stands where it stood.
pub(crate) fn to_strict(text: &str) -> String {
    let mut strict = text.trim_start_matches('\u{feff}').as_bytes().to_vec();
    let bytes = strict.clone();
    let mut comma: Option<usize> = None;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let end = match (byte, bytes.get(at + 1)) {
            (b'"', _) => string_end(&bytes, at),
            (b'/', Some(b'/')) => line_end(&bytes, at),
            (b'/', Some(b'*')) => block_end(&bytes, at),
            _ => at + 1,
        };
        match byte {
            b'/' if end > at + 1 => blank(&mut strict, at, end),
            b',' => comma = Some(at),
            b'}' | b']' => {
                if let Some(comma) = comma.take() {
                    blank(&mut strict, comma, comma + 1);
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => comma = None,
        }
        at = end;
    }
    String::from_utf8(strict).unwrap_or_default()
}

fn blank(bytes: &mut [u8], start: usize, end: usize) {
    for byte in bytes.get_mut(start..end).into_iter().flatten() {
        *byte = b' ';
    }
}

fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn line_end(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    rest.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |length| start + length)
}

fn block_end(bytes: &[u8], start: usize) -> usize {
    let inside = bytes.get(start + 2..).unwrap_or_default();
    inside.windows(2).position(|pair| pair == b"*/").map_or(bytes.len(), |length| start + length + 4)
}

#[cfg(test)]
mod tests {
    use super::to_strict;

    #[test]
    fn comments_and_last_commas_become_spaces() {
        for (relaxed, strict) in [
            (r#"{"a": "//b", /* c */ "d": 1, // e"#, r#"{"a": "//b",         "d": 1,     "#),
            (r#"{"a": [1, 2,], }"#, r#"{"a": [1, 2 ]  }"#),
            (r#"["\"//", 1, /* x */ ]"#, r#"["\"//", 1          ]"#),
            (r#"{"a": 1}"#, r#"{"a": 1}"#),
            ("/* never closed \"", "                 "),
            ("[/1]", "[/1]"),
        ] {
            assert_eq!(to_strict(relaxed), strict, "{relaxed}");
        }
    }
}
