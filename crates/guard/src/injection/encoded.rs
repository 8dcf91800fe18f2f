//! Text in base64 or hexadecimal.

use std::borrow::Cow;

use super::payload::Payload;
use crate::finding::Span;

/// The shortest run that is decoded; "ignore prior rules" has 24 characters in base64.
const SHORTEST: usize = 24;
/// From this length on a line may be one of several that belong together.
const WRAPPED: usize = 16;
/// How many digits in a row that make readable text are no accident: nine bytes.
const TELLING: usize = 12;

/// How many bytes are looked at in one go, and how far apart. A line of [`WRAPPED`] covers one such group completely.
const GROUP: usize = 8;
const STRIDE: usize = 8;
const _: () = assert!(GROUP + STRIDE - 1 <= WRAPPED, "a line could hide between two groups");

/// Calls `each` with what long runs of base64 or hexadecimal characters stand for, as far as it is text.
pub(super) fn decode_runs(text: &str, mut each: impl FnMut(Payload)) {
    let bytes = text.as_bytes();
    let (mut at, mut done) = (0, 0);
    while let Some(group) = bytes.get(at..).and_then(|rest| rest.first_chunk::<GROUP>()) {
        // Without a branch per byte: in prose nobody can foretell where a word ends.
        if has_other(*group) || !group.iter().fold(true, |all, byte| all & is_digit(*byte)) {
            at += STRIDE;
            continue;
        }
        let before = bytes.get(done..at).unwrap_or_default();
        let start = at - before.iter().rev().take_while(|byte| is_digit(**byte)).count();
        let end = run_end(bytes, at + GROUP);
        let start = wrapped_start(bytes, done, start);
        let whole = starts_line(bytes, start);
        done = if whole || end - start >= SHORTEST { wrapped_end(bytes, start, end) } else { end };
        if done - start >= SHORTEST {
            decode_run(bytes.get(start..done).unwrap_or_default(), Span::new(start, done), &mut each);
        }
        at = done;
    }
}

/// The digits of base64 in both alphabets; hexadecimal is among them. A table, as most bytes of a text are asked.
static DIGITS: [bool; 256] = {
    let mut digits = [false; 256];
    let mut alphabet: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_";
    while let [digit, rest @ ..] = alphabet {
        let (_, from) = digits.split_at_mut(*digit as usize);
        if let [slot, ..] = from {
            *slot = true;
        }
        alphabet = rest;
    }
    digits
};

/// Whether a byte below the least digit, such as a space, or beyond ASCII is among them: most groups of most texts have
/// one, and all eight bytes are asked at once.
fn has_other(group: [u8; GROUP]) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * ONES;
    let bytes = u64::from_le_bytes(group);
    (bytes.wrapping_sub(ONES * b'+' as u64) & !bytes | bytes) & HIGH != 0
}

fn is_digit(byte: u8) -> bool {
    DIGITS.get(usize::from(byte)).is_some_and(|digit| *digit)
}

fn run_end(bytes: &[u8], at: usize) -> usize {
    at + bytes.get(at..).unwrap_or_default().iter().take_while(|byte| is_digit(**byte)).count()
}

/// Where a run ends that goes on over the following lines, as mail and keys are wrapped.
fn wrapped_end(bytes: &[u8], start: usize, mut end: usize) -> usize {
    let mut line = end - start;
    while line >= WRAPPED {
        let rest = bytes.get(end..).unwrap_or_default();
        let space = rest.iter().take(10).take_while(|byte| byte.is_ascii_whitespace()).count();
        let breaks = rest.iter().take(space).filter(|byte| **byte == b'\n').count();
        let next = run_end(bytes, end + space);
        let length = next - (end + space);
        let whole = bytes.get(next).is_none_or(|byte| matches!(byte, b'\r' | b'\n' | b'=' | b'"' | b'\''));
        if breaks != 1 || length < 4 || !whole {
            break;
        }
        (end, line) = (next, length);
    }
    end
}

fn starts_line(bytes: &[u8], at: usize) -> bool {
    at.checked_sub(1).and_then(|before| bytes.get(before)).is_none_or(|byte| *byte == b'\n')
}

/// Where a run starts that began on a line above, not before `from`.
fn wrapped_start(bytes: &[u8], from: usize, mut start: usize) -> usize {
    while starts_line(bytes, start) {
        let above = bytes.get(from..start).unwrap_or_default();
        let above = above.strip_suffix(b"\n").map_or(above, |line| line.strip_suffix(b"\r").unwrap_or(line));
        let length = above.iter().rev().take_while(|byte| is_digit(**byte)).count();
        let first = from + above.len() - length;
        if length < WRAPPED || !starts_line(bytes, first) {
            break;
        }
        start = first;
    }
    start
}

fn decode_run(run: &[u8], span: Span, each: &mut impl FnMut(Payload)) {
    let kinds = Digits::of(run);
    if kinds.is_hex() {
        let digits: Vec<u8> = run.iter().copied().filter(u8::is_ascii_hexdigit).collect();
        let decoded: Vec<u8> = digits.chunks_exact(2).filter_map(hex_byte).collect();
        if let Some(text) = readable(&decoded) {
            each(Payload { span, via: "hex", text });
        }
    }
    let digits: Cow<'_, [u8]> = match run.iter().all(|byte| is_digit(*byte)) {
        true => Cow::Borrowed(run),
        false => run.iter().copied().filter(|byte| is_digit(*byte)).collect(),
    };
    // What stands directly before the run, as in a path or on the line above, shifts it.
    let shifts = if kinds.signs > 0 || digits.len() < run.len() { 4 } else { 1 };
    if !kinds.is_base64() && !(0..4).any(|shift| is_telling(&digits, shift)) {
        return;
    }
    for shift in 0..if kinds.is_base64() { shifts } else { 4 } {
        let decoded = base64(digits.get(shift..).unwrap_or_default());
        if let Some(text) = readable(&decoded) {
            each(Payload { span, via: "base64", text });
            return;
        }
    }
}

/// Whether some digits in a row, of those that start groups at `shift`, make words: what paths and names never do.
fn is_telling(digits: &[u8], shift: usize) -> bool {
    let mut row = 0;
    digits.get(shift..).unwrap_or_default().chunks_exact(4).any(|group| {
        let bits = group.iter().fold(0_u32, |bits, digit| bits << 6 | sextet(*digit));
        let [_, text @ ..] = bits.to_be_bytes();
        row = if text.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) { row + 4 } else { 0 };
        row >= TELLING
    })
}

/// How many digits of each kind a run has.
#[derive(Default)]
struct Digits {
    upper: usize,
    lower: usize,
    decimal: usize,
    signs: usize,
    beyond_hex: usize,
}

impl Digits {
    fn of(run: &[u8]) -> Self {
        let mut digits = Self::default();
        for byte in run {
            match byte {
                b'A'..=b'Z' => digits.upper += 1,
                b'a'..=b'z' => digits.lower += 1,
                b'0'..=b'9' => digits.decimal += 1,
                b'+' | b'/' | b'-' | b'_' => digits.signs += 1,
                _ => {}
            }
            digits.beyond_hex += usize::from(is_digit(*byte) && !byte.is_ascii_hexdigit());
        }
        digits
    }

    fn is_hex(&self) -> bool {
        self.beyond_hex == 0 && (self.upper + self.lower + self.decimal).is_multiple_of(2)
    }

    /// Text in base64 mostly has digits of all kinds. Paths and names, which are far more common, mostly have not.
    fn is_base64(&self) -> bool {
        self.upper > 2 && self.lower > 0 && self.decimal > 0
    }
}

/// The byte of two hexadecimal digits.
pub(super) fn hex_byte(pair: &[u8]) -> Option<u8> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let [high, low] = pair else { return None };
    Some(digit(high)? << 4 | digit(low)?)
}

fn base64(digits: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for group in digits.chunks(4) {
        let bits =
            group.iter().fold(0_u32, |bits, digit| bits << 6 | sextet(*digit)) << (6 * (4 - group.len()));
        let [_, first, second, third] = bits.to_be_bytes();
        decoded.extend([first, second, third].into_iter().take(group.len() - 1));
    }
    decoded
}

fn sextet(digit: u8) -> u32 {
    u32::from(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' | b'-' => 62,
        _ => 63,
    })
}

/// The bytes as text, if they are some: valid UTF-8, UTF-16 as some shells want it, or with a stretch of ASCII in it.
fn readable(bytes: &[u8]) -> Option<String> {
    let zeros = bytes.iter().filter(|byte| **byte == 0).count();
    if zeros * 5 > bytes.len() * 2 {
        let narrow: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != 0).collect();
        return std::str::from_utf8(&narrow).ok().map(str::to_owned);
    }
    let valid = std::str::from_utf8(bytes).is_ok();
    let printable = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    let stretch = || bytes.split(|byte| !printable(byte)).any(|part| part.len() >= 16);
    (valid || stretch()).then(|| String::from_utf8_lossy(bytes).into_owned())
}
