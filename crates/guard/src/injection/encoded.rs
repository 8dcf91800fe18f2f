//! Text in base64 or hexadecimal.

use std::borrow::Cow;

use super::payload::Payload;
use super::starts::{CHUNK, packed};
use crate::finding::Span;

/// The shortest run that is decoded; "ignore prior rules" has 24 characters in base64.
const SHORTEST: usize = 24;
/// From this length on a line may be one of several that belong together.
const WRAPPED: usize = 16;
/// How many digits in a row that make readable text are no accident: nine bytes.
const TELLING: usize = 12;

/// Calls `each` with what long runs of base64 or hexadecimal characters stand for, as far as it is text.
pub(super) fn decode_runs(bytes: &[u8], mut each: impl FnMut(Payload)) {
    let (mut before, mut done) = (0, 0);
    for at in (0..bytes.len()).step_by(CHUNK) {
        let digits = digits(bytes, at);
        let mut runs = long_runs(before, digits);
        before = digits;
        while runs != 0 {
            let start = (at + runs.trailing_zeros() as usize).saturating_sub(CHUNK);
            runs &= runs - 1;
            if start >= done {
                done = visit_run(bytes, start, &mut each);
            }
        }
    }
}

/// Looks at the run that starts at `start`; where it ends.
fn visit_run(bytes: &[u8], start: usize, each: &mut impl FnMut(Payload)) -> usize {
    let end = run_end(bytes, start);
    let whole = starts_line(bytes, start);
    let end = if whole || end - start >= SHORTEST { wrapped_end(bytes, start, end) } else { end };
    if end - start >= SHORTEST {
        decode_run(bytes.get(start..end).unwrap_or_default(), Span::new(start, end), each);
    }
    end
}

/// One bit for each of the bytes from `at` on: whether it is a digit. In prose nobody can foretell where a word ends, so
/// that there must be no branch per byte.
fn digits(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    let mut padded = [0; CHUNK];
    let chunk = rest.first_chunk::<CHUNK>().unwrap_or_else(|| {
        padded.iter_mut().zip(rest).for_each(|(slot, byte)| *slot = *byte);
        &padded
    });
    let mut flags = [0_u8; CHUNK];
    for (flag, byte) in flags.iter_mut().zip(chunk) {
        *flag = u8::from(is_digit(*byte));
    }
    packed(&flags)
}

/// One bit for each byte of two chunks with which [`WRAPPED`] digits in a row start, of which the last is in the second.
fn long_runs(before: u64, digits: u64) -> u128 {
    const ENDS_BEFORE: u128 = (1 << (CHUNK + 1 - WRAPPED)) - 1;
    const _: () = assert!(WRAPPED == 16, "four steps, each of which doubles the length");
    let two = u128::from(digits) << CHUNK | u128::from(before);
    let four = two & two >> 1;
    let four = four & four >> 2;
    let eight = four & four >> 4;
    eight & eight >> 8 & !ENDS_BEFORE
}

/// The digits of base64 in both alphabets; hexadecimal is among them.
fn is_digit(byte: u8) -> bool {
    let within = |byte: u8, low: u8, high: u8| byte.wrapping_sub(low) <= high - low;
    within(byte | 0x20, b'a', b'z')
        | within(byte, b'/', b'9')
        | (byte == b'+')
        | (byte == b'-')
        | (byte == b'_')
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

fn decode_run(run: &[u8], span: Span, each: &mut impl FnMut(Payload)) {
    let kinds = Digits::of(run);
    if kinds.is_hex() {
        let digits: Vec<u8> = run.iter().copied().filter(u8::is_ascii_hexdigit).collect();
        let decoded: Vec<u8> = digits.chunks_exact(2).filter_map(hex_byte).collect();
        if let Some(text) = readable(&decoded) {
            each(Payload { span, via: "hex", text });
        }
    }
    // Nearly all runs are paths and names, and done with here.
    if !kinds.is_base64() && !kinds.may_tell {
        return;
    }
    let digits: Cow<'_, [u8]> = match kinds.count == run.len() {
        true => Cow::Borrowed(run),
        false => run.iter().copied().filter(|byte| is_digit(*byte)).collect(),
    };
    if !kinds.is_base64() && !(0..4).any(|shift| is_telling(&digits, shift)) {
        return;
    }
    // What stands directly before the run, as in a path or on the line above, shifts it.
    let shifts = if kinds.has(SIGN) || digits.len() < run.len() || !kinds.is_base64() { 4 } else { 1 };
    for shift in 0..shifts {
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

/// What kinds of digits a run has.
#[derive(Default)]
struct Digits {
    /// All kinds there are.
    kinds: u32,
    count: usize,
    upper: usize,
    /// Whether [`is_telling`] is worth asking.
    may_tell: bool,
}

/// Kinds of digits, in the upper half of [`KINDS`].
const UPPER: u32 = 1 << 16;
const LOWER: u32 = 1 << 17;
const DECIMAL: u32 = 1 << 18;
const SIGN: u32 = 1 << 19;
const BEYOND_HEX: u32 = 1 << 20;

/// For each byte what kind of digit it is, and in the lower bits at which of [`TELLING`] places in a row it may stand when
/// they make words; zero for what is no digit.
static KINDS: [u32; 256] = {
    let mut kinds = [0; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        let (_, from) = kinds.split_at_mut(byte as usize);
        if let [slot, ..] = from {
            *slot = kind(byte);
        }
        byte += 1;
    }
    kinds
};

const fn kind(byte: u8) -> u32 {
    let class = match byte {
        b'A'..=b'Z' => UPPER,
        b'a'..=b'z' => LOWER,
        b'0'..=b'9' => DECIMAL,
        b'+' | b'/' | b'-' | b'_' => SIGN,
        _ => return 0,
    };
    let sextet = sextet(byte);
    // Three bytes of four digits: what the upper bits of printable ASCII, of tabs and of line breaks may be.
    let first = matches!(sextet, 2 | 8..=31);
    let second = matches!(sextet & 15, 0 | 2..=7);
    let third = sextet & 3 < 2;
    let places = first as u32 | (second as u32) << 1 | (third as u32) << 2 | 1 << 3;
    let beyond = if byte.is_ascii_hexdigit() { 0 } else { BEYOND_HEX };
    class | beyond | places | places << 4 | places << 8
}

impl Digits {
    fn of(run: &[u8]) -> Self {
        let (mut digits, mut row, mut told) = (Self::default(), 0, 0);
        for byte in run {
            let kind = KINDS.get(usize::from(*byte)).copied().unwrap_or_default();
            if kind == 0 {
                continue;
            }
            digits.kinds |= kind;
            digits.count += 1;
            digits.upper += usize::from(kind & UPPER != 0);
            row = (row << 1 | 1) & kind;
            told |= row;
        }
        digits.may_tell = told >> (TELLING - 1) & 1 != 0;
        digits
    }

    fn has(&self, kind: u32) -> bool {
        self.kinds & kind != 0
    }

    fn is_hex(&self) -> bool {
        !self.has(BEYOND_HEX) && self.count.is_multiple_of(2)
    }

    /// Text in base64 mostly has digits of all kinds. Paths and names, which are far more common, mostly have not.
    fn is_base64(&self) -> bool {
        self.upper > 2 && self.has(LOWER) && self.has(DECIMAL)
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

const fn sextet(digit: u8) -> u32 {
    (match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' | b'-' => 62,
        _ => 63,
    }) as u32
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

#[cfg(test)]
mod tests;
