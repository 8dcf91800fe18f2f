//! Reads the ASCII form of international names (RFC 3492), to see which name a program would show.

/// First code point that is encoded.
const FIRST: u32 = 128;
const BASE: u32 = 36;
const T_MIN: u32 = 1;
const T_MAX: u32 = 26;
const SKEW: u32 = 38;
const DAMP: u32 = 700;
const FIRST_BIAS: u32 = 72;

/// What follows `xn--` in a label, decoded; none when it encodes nothing. The label is at most 63 bytes.
pub(super) fn decode(label: &str) -> Option<String> {
    let (plain, encoded) = label.rsplit_once('-').unwrap_or(("", label));
    let mut text: Vec<char> = plain.chars().collect();
    let (mut code, mut index, mut bias) = (FIRST, 0_u32, FIRST_BIAS);
    let mut digits = encoded.bytes().map(digit).peekable();
    while digits.peek().is_some() {
        let start = index;
        let (mut weight, mut threshold_at) = (1_u32, BASE);
        loop {
            let digit = digits.next()??;
            index = index.checked_add(digit.checked_mul(weight)?)?;
            let threshold = threshold_at.saturating_sub(bias).clamp(T_MIN, T_MAX);
            if digit < threshold {
                break;
            }
            weight = weight.checked_mul(BASE - threshold)?;
            threshold_at += BASE;
        }
        let length = u32::try_from(text.len()).ok()? + 1;
        bias = adapt(index - start, length, start == 0);
        code = code.checked_add(index / length)?;
        index %= length;
        text.insert(usize::try_from(index).ok()?, char::from_u32(code)?);
        index += 1;
    }
    (!text.is_empty()).then(|| text.into_iter().collect())
}

fn digit(byte: u8) -> Option<u32> {
    match byte {
        b'a'..=b'z' => Some(u32::from(byte - b'a')),
        b'A'..=b'Z' => Some(u32::from(byte - b'A')),
        b'0'..=b'9' => Some(u32::from(byte - b'0') + 26),
        _ => None,
    }
}

fn adapt(delta: u32, length: u32, first: bool) -> u32 {
    let mut delta = if first { delta / DAMP } else { delta / 2 };
    delta += delta / length;
    let mut rounds = 0;
    while delta > ((BASE - T_MIN) * T_MAX) / 2 {
        delta /= BASE - T_MIN;
        rounds += BASE;
    }
    rounds + (BASE - T_MIN + 1) * delta / (delta + SKEW)
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn decodes_names_and_refuses_the_rest() {
        assert_eq!(decode("bcher-kva").as_deref(), Some("bücher"));
        assert_eq!(decode("r8jz45g").as_deref(), Some("例え"));
        assert_eq!(decode("zckzah").as_deref(), Some("テスト"));
        assert_eq!(decode("localhost-").as_deref(), Some("localhost"));
        for bad in ["", "a!", "bcher-kv", "99999999"] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }
}
