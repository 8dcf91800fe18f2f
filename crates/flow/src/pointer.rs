//! JSON pointers as fragments: how schemas refer to their parts and links to positions in a value.

use serde_json::Value;

/// The part of `root` that a local reference (`#`, `#/…`) names.
pub(crate) fn local_target<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    root.pointer(&local_pointer(reference)?)
}

/// The JSON pointer in a local reference, percent-decoded; nothing for other documents and broken escapes.
fn local_pointer(reference: &str) -> Option<String> {
    percent_decoded(reference.strip_prefix('#')?)
}

/// Appends one step to a JSON pointer.
pub(crate) fn push_step(pointer: &mut String, step: &str) {
    pointer.push('/');
    for character in step.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        decoded.push(if byte == b'%' { hex(bytes.next()?)? << 4 | hex(bytes.next()?)? } else { byte });
    }
    String::from_utf8(decoded).ok()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}
