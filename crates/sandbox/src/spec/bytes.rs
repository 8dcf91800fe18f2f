//! Bytes that are usually text.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Any bytes. In JSON a string where they are UTF-8, else `{"base64": "…"}`; nothing is ever replaced.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct ByteString(pub Vec<u8>);

impl ByteString {
    /// The text, with invalid sequences replaced: for display only.
    pub fn display(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }
}

impl fmt::Debug for ByteString {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", self.display())
    }
}

impl From<&str> for ByteString {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<Vec<u8>> for ByteString {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl Serialize for ByteString {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => Form::Encoded { base64: STANDARD.encode(&self.0) }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ByteString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Form::deserialize(deserializer)? {
            Form::Text(text) => Ok(Self(text.into_bytes())),
            Form::Encoded { base64 } => STANDARD.decode(base64).map(Self).map_err(serde::de::Error::custom),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Form {
    Text(String),
    Encoded { base64: String },
}

#[cfg(test)]
mod tests {
    use super::ByteString;

    #[test]
    fn any_bytes_survive_json() {
        for bytes in [&b"plain"[..], b"", b"\xff\x00\xfe", "ü\n".as_bytes()] {
            let value = ByteString(bytes.to_vec());
            let json = serde_json::to_string(&value).unwrap();
            assert_eq!(serde_json::from_str::<ByteString>(&json).unwrap(), value, "{json}");
        }
        assert_eq!(serde_json::to_string(&ByteString::from("a")).unwrap(), r#""a""#);
    }
}
