//! Which fields of a tool's input are requests.
//!
//! Tools for fetching exist under any name, so the field decides: what stands under a key such as `url` is a place to go to,
//! what stands under `content` or `command` is text. Below an object the keys of that object decide, wherever it stands.

use std::net::Ipv6Addr;

use serde_json::Value;

use super::ipv4::{self, Number};
use super::schemes::{self, SchemeKind};
use super::spelling;

/// A request target in the input of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldTarget<'a> {
    /// Where it stands, such as `items[0].url`.
    pub path: String,
    /// The target as written.
    pub target: &'a str,
}

/// What a key says about the text under it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyKind {
    /// It is a URL, perhaps without a scheme.
    Url,
    /// It is a host or a URL.
    Host,
    /// It may be many things, among them a URL or a host.
    Place,
    /// It is something else.
    Data,
}

/// Last words of keys that hold URLs.
const URL_WORDS: &[&str] = &[
    "url",
    "urls",
    "uri",
    "uris",
    "href",
    "hrefs",
    "endpoint",
    "endpoints",
    "webhook",
    "webhooks",
    "callback",
    "callbacks",
];
/// Last words of keys that hold hosts.
const HOST_WORDS: &[&str] = &[
    "address",
    "addresses",
    "host",
    "hosts",
    "hostname",
    "hostnames",
    "server",
    "servers",
    "ip",
    "ips",
    "proxy",
    "upstream",
];
/// Last words of keys that may hold URLs or hosts.
const PLACE_WORDS: &[&str] = &[
    "destination",
    "destinations",
    "domain",
    "feed",
    "feeds",
    "image",
    "images",
    "link",
    "links",
    "location",
    "origin",
    "page",
    "pages",
    "remote",
    "repo",
    "repository",
    "resource",
    "site",
    "sites",
    "source",
    "sources",
    "src",
    "target",
    "targets",
    "website",
];

/// The request targets in `input`, in the order of the input.
pub fn requests_in(input: &Value) -> Vec<FieldTarget<'_>> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), KeyKind::Data, input)];
    while let Some((path, kind, value)) = open.pop() {
        match value {
            Value::String(text) if is_request(kind, text) => found.push(FieldTarget { path, target: text }),
            Value::Array(items) => {
                let items = items.iter().enumerate().map(|(at, item)| (format!("{path}[{at}]"), kind, item));
                open.extend(items.rev());
            }
            Value::Object(fields) => {
                let dot = if path.is_empty() { "" } else { "." };
                let fields =
                    fields.iter().map(|(key, field)| (format!("{path}{dot}{key}"), key_kind(key), field));
                open.extend(fields.rev());
            }
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    found
}

/// What the last word of a key in any case style says.
fn key_kind(key: &str) -> KeyKind {
    let word = last_word(key).to_ascii_lowercase();
    let word = word.as_str();
    let joined = ["url", "uri", "urls", "uris", "href"].iter().any(|end| word.ends_with(end));
    if URL_WORDS.contains(&word) || (joined && word != "curl") {
        KeyKind::Url
    } else if HOST_WORDS.contains(&word) {
        KeyKind::Host
    } else if PLACE_WORDS.contains(&word) {
        KeyKind::Place
    } else {
        KeyKind::Data
    }
}

/// `imageURL`, `image_url` and `image-url` all end in the word "url".
fn last_word(key: &str) -> &str {
    let key = key.trim_end_matches(|end: char| !end.is_ascii_alphanumeric());
    let separated = key
        .rfind(|mark: char| !mark.is_ascii_alphanumeric())
        .map_or(0, |at| at + key.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8));
    let word = key.get(separated..).unwrap_or(key);
    let hump = word.char_indices().zip(word.chars().skip(1)).filter_map(|((at, before), here)| {
        (before.is_ascii_lowercase() && here.is_ascii_uppercase()).then_some(at + 1)
    });
    hump.last().and_then(|at| word.get(at..)).unwrap_or(word)
}

/// Whether the text under a key of this kind would be requested.
fn is_request(kind: KeyKind, text: &str) -> bool {
    let text = text.trim();
    match kind {
        KeyKind::Data => false,
        KeyKind::Url => !text.is_empty() && !is_relative(text),
        KeyKind::Host => has_place_shape(text) || is_host_field(text),
        KeyKind::Place => has_place_shape(text),
    }
}

/// A path, query or fragment of a page that is open already.
fn is_relative(text: &str) -> bool {
    let slashes = text.bytes().take_while(|byte| matches!(byte, b'/' | b'\\')).count();
    slashes == 1 || text.starts_with(['.', '?', '#'])
}

/// Whether a host field holds a host: one label or more, perhaps with a port.
fn is_host_field(text: &str) -> bool {
    let host = text.split_once(':').filter(|(_, port)| is_decimal(port)).map_or(text, |(host, _)| host);
    is_name(host)
}

fn is_decimal(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether the text is a name or a number in any spelling, once it is prepared as a host is.
fn is_name(text: &str) -> bool {
    let shape =
        |text: &str| text.chars().all(|character| character.is_alphanumeric() || "-_.".contains(character));
    !text.is_empty() && spelling::prepare(text).is_ok_and(|prepared| shape(&prepared.text))
}

/// Whether the whole text is a URL with a scheme, an address, or a dotted name with an optional port and path.
fn has_place_shape(text: &str) -> bool {
    if text.is_empty() || is_relative(text) {
        return false;
    }
    if has_scheme(text) || text.starts_with("//") || text.starts_with('[') || text.parse::<Ipv6Addr>().is_ok()
    {
        return true;
    }
    let authority = text.split(['/', '?', '#', '\\']).next().unwrap_or(text);
    match authority.rsplit_once('@') {
        // An address of a person, not of a host.
        Some((_, place)) if !place.contains(':') => false,
        Some((_, place)) => is_dotted_host(place),
        None => is_dotted_host(authority),
    }
}

/// Whether the text starts with a scheme and a host, or with a web scheme that browsers complete.
fn has_scheme(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':').filter(|(scheme, _)| schemes::is_scheme(scheme)) else {
        return false;
    };
    let behind_slashes = rest.trim_start_matches(['/', '\\']);
    let authority = behind_slashes.split(['/', '?', '#']).next().unwrap_or_default();
    let known = schemes::kind(&scheme.to_ascii_lowercase()) == SchemeKind::Web;
    (known || behind_slashes.len() < rest.len()) && !authority.contains(' ')
}

/// A name with a top-level domain, or an address in its usual form, perhaps with a port or the path of a copy command.
/// Short numbers such as `10.2` are versions, not hosts.
fn is_dotted_host(place: &str) -> bool {
    let host = place.split(':').next().unwrap_or(place);
    let Ok(prepared) = spelling::prepare(host) else { return false };
    let host = prepared.text.strip_suffix('.').unwrap_or(&prepared.text);
    match ipv4::read(host) {
        Number::Plain(_) => true,
        Number::Unusual(..) | Number::Bad => host.split('.').count() == 4,
        Number::None => host.contains('.') && is_name(host),
    }
}
