//! Which encoding a body is in, and its text.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8};

/// How much of a page is searched for a declaration.
const PREFIX: usize = 1024;

/// The text of a body: in the encoding of its byte order mark, of its header or of its page, else UTF-8.
pub(super) fn decode<'a>(body: &'a [u8], content_type: &str, is_html: bool) -> Cow<'a, str> {
    let stated = of_header(content_type).or_else(|| is_html.then(|| of_page(body)).flatten());
    let (text, _, _) = stated.unwrap_or(UTF_8).decode(body);
    text
}

/// `text/html; charset=x`.
fn of_header(content_type: &str) -> Option<&'static Encoding> {
    let parameters = content_type.split(';').skip(1);
    let charset = parameters.filter_map(|parameter| parameter.split_once('='));
    let (_, label) = charset.into_iter().find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
    Encoding::for_label(label.trim().trim_matches('"').as_bytes())
}

/// `<meta charset=x>` or `<meta http-equiv=… content="…charset=x">`, in the first bytes.
fn of_page(body: &[u8]) -> Option<&'static Encoding> {
    let prefix = body.get(..PREFIX.min(body.len())).unwrap_or_default().to_ascii_lowercase();
    let prefix = String::from_utf8_lossy(&prefix);
    prefix.split("<meta").skip(1).find_map(|rest| {
        let tag = rest.split('>').next().unwrap_or_default();
        let (_, value) = tag.split_once("charset")?;
        let value = value.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
        let label = value.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '/')).next()?;
        // A page that could be read so far is not in two-byte units, whatever it says.
        Encoding::for_label(label.as_bytes()).map(Encoding::output_encoding)
    })
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn the_encoding_is_found_where_it_is_stated() {
        let latin = b"caf\xe9";
        for (body, content_type, is_html, expected) in [
            (&latin[..], "text/plain; charset=ISO-8859-1", false, "caf\u{e9}"),
            (latin, "text/plain; Charset=\"windows-1252\"", false, "caf\u{e9}"),
            (latin, "text/plain", false, "caf\u{fffd}"),
            (latin, "text/plain; charset=nonsense", false, "caf\u{fffd}"),
            (b"\xef\xbb\xbfx", "text/plain; charset=latin1", false, "x"),
            (b"\xff\xfex\0", "text/plain", false, "x"),
            (b"<meta charset=latin1>\xe9", "text/html", true, "<meta charset=latin1>\u{e9}"),
            (
                b"<META http-equiv=x content='text/html; CHARSET=koi8-r'>\xc1",
                "text/html",
                true,
                "<META http-equiv=x content='text/html; CHARSET=koi8-r'>\u{430}",
            ),
            (b"<meta charset=latin1>\xe9", "text/plain", false, "<meta charset=latin1>\u{fffd}"),
            (b"<meta charset=utf-16>x", "text/html", true, "<meta charset=utf-16>x"),
        ] {
            assert_eq!(decode(body, content_type, is_html), expected, "{content_type}");
        }
    }
}
