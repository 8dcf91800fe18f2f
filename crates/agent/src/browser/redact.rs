//! What leaves the tool: bounded, and without the address of the browser's control endpoint.

use std::net::SocketAddr;

use regex::{Regex, RegexBuilder};

use super::lease::LocalOrigin;

/// Characters of one output.
const LONGEST: usize = 20_000;
/// What stands in place of the endpoint.
const PLACEHOLDER: &str = "<lease endpoint>";

/// Takes an endpoint out of text: as an origin, percent-encoded, and as `host:port`.
#[derive(Clone, Debug)]
pub(super) struct Redactor {
    /// None only if the pattern, which is made of escaped literals, could not be compiled; then nothing is shown at all.
    spelled: Option<Regex>,
}

impl Redactor {
    pub(super) fn new(endpoint: &LocalOrigin, connected: Option<SocketAddr>) -> Self {
        let mut places = vec![format!("{}:{}", endpoint.host(), endpoint.port())];
        places.extend(connected.map(|address| address.to_string()));
        let places: Vec<String> = places.iter().map(|place| spellings(place)).collect();
        let pattern = format!("(?:(?:http|ws)(?::|%3a)(?:/|%2f){{2}})?(?:{})", places.join("|"));
        Self { spelled: RegexBuilder::new(&pattern).case_insensitive(true).build().ok() }
    }

    /// The text without the endpoint, cut after [`LONGEST`] characters.
    pub(super) fn clean(&self, text: &str) -> String {
        // Before cutting: half an address would not be recognised.
        cut(self.without_endpoint(text))
    }

    fn without_endpoint(&self, text: &str) -> String {
        let Some(spelled) = &self.spelled else { return PLACEHOLDER.to_owned() };
        let mut kept = String::with_capacity(text.len());
        let mut done = 0;
        for found in spelled.find_iter(text) {
            // `host:9222` is not in `host:92220`.
            let longer = text.as_bytes().get(found.end()).is_some_and(u8::is_ascii_digit);
            if !longer {
                kept.push_str(text.get(done..found.start()).unwrap_or_default());
                kept.push_str(PLACEHOLDER);
                done = found.end();
            }
        }
        kept.push_str(text.get(done..).unwrap_or_default());
        kept
    }
}

/// A pattern for a place as it is and percent-encoded.
fn spellings(place: &str) -> String {
    place
        .chars()
        .map(|character| match character {
            ':' => "(?::|%3a)".to_owned(),
            '[' => r"(?:\[|%5b)".to_owned(),
            ']' => r"(?:\]|%5d)".to_owned(),
            other => regex::escape(&other.to_string()),
        })
        .collect()
}

fn cut(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(LONGEST) {
        let omitted = text.get(end..).unwrap_or_default().chars().count();
        text.truncate(end);
        text.push_str(&format!("\n[fullsend truncated the output: {omitted} characters omitted]"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{LocalOrigin, Redactor};

    #[test]
    fn every_spelling_of_the_endpoint_is_taken_out_and_nothing_else() {
        let cases = [
            ("http://127.0.0.1:9222", "at http://127.0.0.1:9222/json!", "at <lease endpoint>/json!"),
            ("http://127.0.0.1:9222", "http%3A%2F%2F127.0.0.1%3A9222", "<lease endpoint>"),
            ("http://127.0.0.1:9222", "http%3a%2f%2f127.0.0.1%3a9222%2fx", "<lease endpoint>%2fx"),
            ("http://127.0.0.1:9222", "ws://127.0.0.1:9222/devtools", "<lease endpoint>/devtools"),
            ("http://127.0.0.1:9222", "127.0.0.1:9222,127.0.0.1:9222", "<lease endpoint>,<lease endpoint>"),
            ("http://127.0.0.1:9222", "http://127.0.0.1:3000/", "http://127.0.0.1:3000/"),
            ("http://127.0.0.1:9222", "http://127.0.0.1:92220/", "http://127.0.0.1:92220/"),
            ("http://127.0.0.1:9222", "http://127x0x0x1:9222/", "http://127x0x0x1:9222/"),
            (
                "http://[::1]:9222",
                "http://[::1]:9222 http%3A%2F%2F%5B%3A%3A1%5D%3A9222",
                "<lease endpoint> <lease endpoint>",
            ),
            ("http://LOCALHOST:9222", "HTTP://LocalHost:9222", "<lease endpoint>"),
        ];
        for (endpoint, text, expected) in cases {
            let redactor = Redactor::new(&LocalOrigin::parse(endpoint).unwrap(), None);
            assert_eq!(redactor.clean(text), expected, "{endpoint}: {text}");
        }
    }

    #[test]
    fn the_address_behind_a_name_is_taken_out_too() {
        let endpoint = LocalOrigin::parse("http://host.docker.internal:9222").unwrap();
        let redactor = Redactor::new(&endpoint, Some("172.17.0.1:9222".parse().unwrap()));
        assert_eq!(
            redactor.clean("http://172.17.0.1:9222 host.docker.internal:9222"),
            "<lease endpoint> <lease endpoint>"
        );
    }

    #[test]
    fn long_text_is_cut_and_says_so() {
        let redactor = Redactor::new(&LocalOrigin::parse("http://127.0.0.1:9222").unwrap(), None);
        let whole = "é".repeat(20_000);
        assert_eq!(redactor.clean(&whole), whole);
        let cut = redactor.clean(&format!("{whole}abc"));
        assert_eq!(cut, format!("{whole}\n[fullsend truncated the output: 3 characters omitted]"));
        let straddling = format!("{}http://127.0.0.1:9222", "x".repeat(19_990));
        assert!(!redactor.clean(&straddling).contains("127.0"));
    }
}
