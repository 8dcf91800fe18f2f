//! Where a listing of GitLab goes on.

use fullsend_fetch::get::ResponseHeaders;

/// The parameter of the next request, as a name and a value.
pub(super) type Page = (&'static str, String);

/// The next page, if there is one: by token where the forge has tokens, by number otherwise.
///
/// Only the token is taken out of a link. Following the link itself would let the forge choose what is asked next.
pub(super) fn next(headers: &ResponseHeaders) -> Option<Page> {
    let token = headers.get("link").and_then(token_in);
    let number =
        || headers.get("x-next-page").map(str::trim).filter(|text| is_number(text)).map(str::to_owned);
    token.map(|token| ("page_token", token)).or_else(|| Some(("page", number()?)))
}

/// The token in the link to the next page.
fn token_in(links: &str) -> Option<String> {
    let next = links.split(',').find(|link| link.contains("rel=\"next\""))?;
    let (_, rest) = next.split_once('<')?;
    let (target, _) = rest.split_once('>')?;
    let (_, query) = target.split_once('?')?;
    let value = query.split('&').find_map(|pair| pair.strip_prefix("page_token="))?;
    decode(value).filter(|token| !token.is_empty())
}

/// Whether a text is a page number.
fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Decodes the escapes of a query.
fn decode(text: &str) -> Option<String> {
    let mut pieces = text.split('%');
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        let (digits, rest) = piece.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::{decode, token_in};

    #[test]
    fn the_token_comes_out_of_the_right_link() {
        let links = "<https://x/y?page_token=first>; rel=\"first\", <https://x/y?a=b&page_token=a%2Fb%3D&c=d>; rel=\"next\"";
        assert_eq!(token_in(links).as_deref(), Some("a/b="));
        for links in [
            "",
            "<https://x/?page_token=a>; rel=\"prev\"",
            "rel=\"next\"",
            "<https://x/?page_token=>; rel=\"next\"",
        ] {
            assert_eq!(token_in(links), None, "{links}");
        }
    }

    #[test]
    fn broken_escapes_are_no_token() {
        for text in ["%", "%2", "%zz", "a%e", "%ff", "%ä"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
