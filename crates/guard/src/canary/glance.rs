//! A quick look that says of almost every text that no token is in it.
//!
//! Every form of a token ends in eight letters and digits that are rare in other texts. They are looked for without regard
//! to case, to where they are written and to what stands between them, so one pass does for all forms. What a glance
//! misses is not searched, so it may say yes too often, but never no too often.

use super::forms::Forms;
use super::stream::escape;

/// How many letters and digits are one number.
const WIDTH: usize = 8;

/// The ends of what is looked for.
pub(super) struct Glance {
    /// Each end as a number, in order.
    ends: Vec<u64>,
    /// One bit for each end, folded to sixteen bits.
    bits: Vec<u64>,
    /// Whether a form has too few letters and digits to be looked for this way.
    blind: bool,
}

/// Letters in lower case and digits; zero for what does not count.
static COUNTS: [u8; 256] = {
    let mut counts = [0; 256];
    let mut alphabet: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    while let [byte, rest @ ..] = alphabet {
        let (_, from) = counts.split_at_mut(*byte as usize);
        if let [slot, ..] = from {
            *slot = byte.to_ascii_lowercase();
        }
        alphabet = rest;
    }
    counts
};

const BIT_WORDS: usize = 1024;

fn counts(byte: u8) -> u8 {
    COUNTS.get(usize::from(byte)).copied().unwrap_or_default()
}

/// Which bit stands for eight characters.
const fn place(last: u64) -> (usize, u32) {
    let folded = last.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
    ((folded >> 6) as usize, (folded & 63) as u32)
}

/// The last eight characters that count; none when there are fewer.
fn end(form: &[u8]) -> Option<u64> {
    let mut last = form.iter().rev().map(|byte| counts(*byte)).filter(|byte| *byte != 0);
    (0..WIDTH).try_fold(0, |number, at| Some(number | u64::from(last.next()?) << (8 * at)))
}

impl Glance {
    /// For these forms.
    pub(super) fn new(forms: &Forms) -> Self {
        let mut glance = Self { ends: Vec::new(), bits: vec![0; BIT_WORDS], blind: false };
        for (form, _) in forms.folded.iter().chain(&forms.exact) {
            match end(form) {
                Some(end) => glance.ends.push(end),
                None => glance.blind = true,
            }
        }
        glance.ends.sort_unstable();
        glance.ends.dedup();
        for end in &glance.ends {
            let (word, bit) = place(*end);
            if let Some(word) = glance.bits.get_mut(word) {
                *word |= 1 << bit;
            }
        }
        glance
    }

    /// Whether a form may be in `text`.
    pub(super) fn sees(&self, text: &str) -> bool {
        self.blind || self.passes(text.as_bytes(), &mut 0) || self.sees_escaped(text.as_bytes())
    }

    /// Whether an end passes by as `bytes` are read. `last` are the last eight characters.
    fn passes(&self, bytes: &[u8], last: &mut u64) -> bool {
        let Some(bits) = self.bits.first_chunk::<BIT_WORDS>() else { return true };
        let mut recent = *last;
        for byte in bytes {
            let character = counts(*byte);
            let longer = recent << 8 | u64::from(character);
            recent = if character == 0 { recent } else { longer };
            let (word, bit) = place(recent);
            if bits.get(word).is_none_or(|word| word >> bit & 1 != 0)
                && self.ends.binary_search(&recent).is_ok()
            {
                return true;
            }
        }
        *last = recent;
        false
    }

    /// Whether an end passes by that has an escape in it. Those without were seen already.
    fn sees_escaped(&self, bytes: &[u8]) -> bool {
        let (mut done, mut last, mut any) = (0, 0, false);
        for at in memchr::memchr3_iter(b'%', b'\\', b'&', bytes) {
            if at < done {
                continue;
            }
            let Some((byte, length)) = escape(bytes.get(at..).unwrap_or_default()) else { continue };
            let between = bytes.get(done..at).unwrap_or_default();
            if self.edges_pass(between, &mut last) || self.passes(&[byte], &mut last) {
                return true;
            }
            (done, any) = (at + length, true);
        }
        any && self.edges_pass(bytes.get(done..).unwrap_or_default(), &mut last)
    }

    /// Whether an end passes by as the start and the end of a stretch between two escapes are read.
    fn edges_pass(&self, stretch: &[u8], last: &mut u64) -> bool {
        let (start, rest) = stretch.split_at_checked(reach(stretch.iter())).unwrap_or((stretch, &[]));
        if self.passes(start, last) {
            return true;
        }
        let skipped = rest.len() - reach(rest.iter().rev());
        if skipped > 0 {
            *last = 0;
        }
        self.passes(rest.get(skipped..).unwrap_or_default(), last)
    }
}

/// How many bytes it takes to see as many characters as an end has beside an escape.
fn reach<'b>(bytes: impl ExactSizeIterator<Item = &'b u8>) -> usize {
    let length = bytes.len();
    bytes.enumerate().filter(|(_, byte)| counts(**byte) != 0).nth(WIDTH - 2).map_or(length, |(at, _)| at + 1)
}
