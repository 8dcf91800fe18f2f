//! JSON, read so that no two readers can disagree about it.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;
use serde_json::{Map, Number, Value};

/// Why a text is not accepted as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotStrict {
    /// It is not UTF-8.
    Encoding,
    /// It is not JSON.
    Syntax,
    /// An object has the same key twice: one reader takes the first value, another the last.
    DuplicateKey,
    /// It is nested more than 128 levels deep.
    Depth,
    /// It has more values than any tool call: each takes many times the memory of the two bytes it can be written in.
    Values,
}

impl NotStrict {
    /// What is wrong, to follow "the hook input" or "the file".
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Encoding => "is not UTF-8",
            Self::Syntax => "is not valid JSON",
            Self::DuplicateKey => "has an object with the same key twice",
            Self::Depth => "is nested too deeply",
            Self::Values => "has too many values",
        }
    }
}

/// The most values that are read, those in lists and objects counted.
const MOST_VALUES: usize = 2_000_000;

/// Reads one JSON value, and refuses what another reader could read as something else.
pub fn parse(bytes: &[u8]) -> Result<Value, NotStrict> {
    let repaired = replace_lone_surrogates(bytes);
    let text = std::str::from_utf8(&repaired).map_err(|_| NotStrict::Encoding)?;
    let left = Cell::new(MOST_VALUES);
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Unique { left: &left }.deserialize(&mut reader);
    match value.and_then(|value| reader.end().map(|()| value)) {
        Ok(value) => Ok(value),
        Err(error) => Err(match error.classify() {
            Category::Data if left.get() == 0 => NotStrict::Values,
            Category::Data => NotStrict::DuplicateKey,
            Category::Syntax if error.to_string().starts_with("recursion limit") => NotStrict::Depth,
            Category::Syntax | Category::Eof | Category::Io => NotStrict::Syntax,
        }),
    }
}

/// A value in which no object has a key twice. Depth is limited by the reader of `serde_json`.
#[derive(Clone, Copy)]
struct Unique<'a> {
    /// How many values there may still be.
    left: &'a Cell<usize>,
}

impl<'de> DeserializeSeed<'de> for Unique<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.left.set(self.left.get().saturating_sub(1));
        if self.left.get() == 0 {
            return Err(D::Error::custom("too many values"));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unique<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            let value = members.next_value_seed(self)?;
            if object.insert(key, value).is_some() {
                return Err(A::Error::custom("duplicate key"));
            }
        }
        Ok(Value::Object(object))
    }
}

/// JavaScript cuts strings in the middle of a character and then writes half of one as an escape, which is no text
/// elsewhere. Such a half becomes the replacement character, as it does when JavaScript itself writes the text out.
fn replace_lone_surrogates(bytes: &[u8]) -> Cow<'_, [u8]> {
    let suspicious = |pair: &[u8]| matches!(pair, [b'u', b'd' | b'D']);
    if !bytes.windows(2).any(suspicious) {
        return Cow::Borrowed(bytes);
    }
    let mut repaired = Cow::Borrowed(bytes);
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if *byte != b'\\' {
            at += 1;
            continue;
        }
        at += match (escaped_unit(bytes, at), escaped_unit(bytes, at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                if let Some(digits) = repaired.to_mut().get_mut(at + 2..at + 6) {
                    digits.copy_from_slice(b"fffd");
                }
                6
            }
            // An escape of one character: `\\`, `\"`, `\n`, or the `\u` of a plain unit.
            (Some(_) | None, _) => 2,
        };
    }
    repaired
}

/// The code unit that an escape `\uXXXX` at `at` stands for.
fn escaped_unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    let digits = digits.iter().all(u8::is_ascii_hexdigit).then_some(digits)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{NotStrict, parse};

    #[test]
    fn reads_what_every_reader_reads_the_same_way() {
        let plain = br#" {"b": [1, -2, 1.5, true, null], "a": "x\u00e9\ud83d\ude00\\ud800"} "#;
        assert_eq!(parse(plain), Ok(json!({"b": [1, -2, 1.5, true, null], "a": "xé😀\\ud800"})));
        assert_eq!(parse(br#""cut \ud83d""#), Ok(json!("cut \u{fffd}")));
        assert_eq!(parse(br#""\ude00\ud83d\ud83d\ude00""#), Ok(json!("\u{fffd}\u{fffd}😀")));
    }

    #[test]
    fn refuses_what_readers_disagree_about() {
        let nested = |depth: usize| [vec![b'['; depth], vec![b']'; depth]].concat();
        let cases: &[(&[u8], NotStrict)] = &[
            (br#"{"a": 1, "a": 2}"#, NotStrict::DuplicateKey),
            (br#"[{"x": {"a": 1, "\u0061": 2}}]"#, NotStrict::DuplicateKey),
            (br#"{"\ud800": 1, "\ufffd": 2}"#, NotStrict::DuplicateKey),
            (b"\"\xff\"", NotStrict::Encoding),
            (b"{} {}", NotStrict::Syntax),
            (b"{\"a\": 1", NotStrict::Syntax),
            (b"{a: 1}", NotStrict::Syntax),
            (b"[1,]", NotStrict::Syntax),
            (b"NaN", NotStrict::Syntax),
            (b"1e999", NotStrict::Syntax),
            ("\u{feff}{}".as_bytes(), NotStrict::Syntax),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text), Err(*expected), "{}", String::from_utf8_lossy(text));
        }
        let many = |count: usize| [b"[".as_slice(), &b"1,".repeat(count), b"1]"].concat();
        assert!(parse(&many(1_000_000)).is_ok());
        assert_eq!(parse(&many(2_000_000)), Err(NotStrict::Values));
        assert!(parse(&nested(127)).is_ok());
        assert_eq!(parse(&nested(129)), Err(NotStrict::Depth));
        assert_eq!(parse(&nested(1_000_000)), Err(NotStrict::Depth));
    }
}
