//! What requests and replies say.

use serde_json::Value;

/// The largest request, in bytes.
pub(super) const LARGEST_REQUEST: usize = 1 << 20;

/// The URL in a request; empty when there is none. What follows the first JSON value is ignored, as are other keys, and
/// the key may be written in any case.
///
/// None when the text is not a JSON object or `null`.
pub(super) fn requested_url(body: &[u8]) -> Option<String> {
    let first = serde_json::Deserializer::from_slice(body).into_iter::<Value>().next()?.ok()?;
    let entries = match first {
        Value::Null => return Some(String::new()),
        Value::Object(entries) => entries,
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => return None,
    };
    let mut url = String::new();
    for (key, value) in entries {
        if !key.eq_ignore_ascii_case("url") {
            continue;
        }
        match value {
            Value::String(text) => url = text,
            Value::Null => {}
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => return None,
        }
    }
    Some(url)
}

/// One line of JSON in which `&`, `<` and `>` are escaped: messages repeat what was asked for, and may end up in a page.
pub(super) fn line(value: &Value) -> String {
    let mut text = String::new();
    for letter in value.to_string().chars() {
        match letter {
            '&' => text.push_str("\\u0026"),
            '<' => text.push_str("\\u003c"),
            '>' => text.push_str("\\u003e"),
            other => text.push(other),
        }
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{line, requested_url};

    #[test]
    fn requests_are_read_leniently_where_nothing_depends_on_it() {
        for (body, expected) in [
            (r#"{"url":"a"}"#, Some("a")),
            (r#"{"URL":"a"}"#, Some("a")),
            (r#"{"url":"a","Url":"b"}"#, Some("b")),
            (r#"{"url":"a","more":[1]} and more"#, Some("a")),
            (r#"{"url":"a"}{"url":"b"}"#, Some("a")),
            (" \n{\"url\":\"a\"}", Some("a")),
            (r#"{}"#, Some("")),
            (r#"null"#, Some("")),
            (r#"{"url":null}"#, Some("")),
            ("", None),
            ("nonsense", None),
            ("[]", None),
            (r#"["url"]"#, None),
            (r#""url""#, None),
            ("1", None),
            (r#"{"url":1}"#, None),
            (r#"{"url":["a"]}"#, None),
            (r#"{"url":"a""#, None),
        ] {
            assert_eq!(requested_url(body.as_bytes()).as_deref(), expected, "{body}");
        }
        assert_eq!(requested_url(b"{\"url\":\"\xff\"}"), None);
        assert_eq!(requested_url("[".repeat(100_000).as_bytes()), None);
    }

    #[test]
    fn replies_are_harmless_in_a_page() {
        assert_eq!(line(&json!({"error": "a&<b>"})), "{\"error\":\"a\\u0026\\u003cb\\u003e\"}\n");
    }
}
