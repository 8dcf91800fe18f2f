//! URLs that this program composes itself, for the APIs of forges.
//!
//! APIs put whole names into one path segment: GitLab wants `group/repo` as `group%2Frepo`, and a file called `100%`
//! is `100%25` in any URL. [`RemoteUrl`](super::RemoteUrl) refuses both, because in a text that someone *wrote* they
//! may mean two things. Here nobody wrote a text: the parts are known before they are joined, each is escaped whole,
//! and the host that reads them is the host they were composed for.

use std::fmt;
use std::net::Ipv6Addr;

use super::remote::host_hazard;
use super::{Hazard, HttpsUrl, UrlError};
use crate::percent;

/// An `https` URL composed of a host, path segments and a query.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ApiUrl(HttpsUrl);

impl ApiUrl {
    /// The URL at `host` (an IPv6 address without brackets) with these segments and these pairs in its query.
    ///
    /// A slash inside a segment is part of it. Segments that a server could take for a step (`.`, `..`, an empty one)
    /// and control characters are refused.
    pub fn compose(
        host: &str,
        port: Option<u16>,
        segments: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Self, UrlError> {
        let mut text = String::from("https://");
        push_authority(&mut text, host, port)?;
        for segment in segments {
            check_segment(segment)?;
            text.push('/');
            percent::escape_into(&mut text, segment.as_bytes(), percent::is_plain_in_segment);
        }
        for (position, (name, value)) in query.iter().enumerate() {
            refuse_controls(value)?;
            text.push(if position == 0 { '?' } else { '&' });
            percent::escape_into(&mut text, name.as_bytes(), is_plain_in_pair);
            text.push('=');
            percent::escape_into(&mut text, value.as_bytes(), is_plain_in_pair);
        }
        let url = HttpsUrl::parse(&text)?;
        match host_hazard(&url) {
            Some(hazard) => Err(UrlError::Hazard { hazard, corrected: None }),
            None => Ok(Self(url)),
        }
    }

    /// The same URL without the promise about its parts.
    pub fn as_https(&self) -> &HttpsUrl {
        &self.0
    }
}

impl fmt::Display for ApiUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Appends host and port. The host must not bring along anything that ends a host.
fn push_authority(text: &mut String, host: &str, port: Option<u16>) -> Result<(), UrlError> {
    if host.parse::<Ipv6Addr>().is_ok() {
        text.push_str(&format!("[{host}]"));
    } else if let Some(character) = host.chars().find(|character| "/?#:@[]\\".contains(*character)) {
        return Err(UrlError::HostCharacter { character });
    } else {
        text.push_str(host);
    }
    if let Some(port) = port {
        text.push_str(&format!(":{port}"));
    }
    Ok(())
}

/// Refuses what a server could act on rather than look up.
fn check_segment(segment: &str) -> Result<(), UrlError> {
    if matches!(segment, "" | "." | "..") {
        return Err(UrlError::Hazard { hazard: Hazard::DotSegment, corrected: None });
    }
    refuse_controls(segment)
}

/// Refuses control characters, which nothing that is looked up has.
fn refuse_controls(part: &str) -> Result<(), UrlError> {
    if part.bytes().any(|byte| byte.is_ascii_control()) {
        return Err(UrlError::Hazard { hazard: Hazard::EncodedControl, corrected: None });
    }
    Ok(())
}

/// Whether a byte stands for itself in the name or value of a pair, for every reader of forms.
fn is_plain_in_pair(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::ApiUrl;

    fn text(segments: &[&str], query: &[(&str, &str)]) -> String {
        ApiUrl::compose("git.example.com", None, segments, query).unwrap().to_string()
    }

    #[test]
    fn every_part_stays_one_part() {
        assert_eq!(
            text(&["projects", "a/b", "x"], &[("path", "d/e f"), ("ref", "a&b=c+d")]),
            "https://git.example.com/projects/a%2Fb/x?path=d%2Fe%20f&ref=a%26b%3Dc%2Bd"
        );
        assert_eq!(
            text(&["100%", "a\\b", "c?d#e", "r:s"], &[]),
            "https://git.example.com/100%25/a%5Cb/c%3Fd%23e/r:s"
        );
        assert_eq!(text(&["%2e%2e"], &[("q", "%41")]), "https://git.example.com/%252e%252e?q=%2541");
    }

    #[test]
    fn ports_and_addresses() {
        let url = |host, port| ApiUrl::compose(host, port, &["x"], &[]).unwrap().to_string();
        assert_eq!(url("Git.example.com", Some(8443)), "https://Git.example.com:8443/x");
        assert_eq!(url("2606:50c0::1", None), "https://[2606:50c0::1]/x");
        assert_eq!(url("192.0.2.1", Some(443)), "https://192.0.2.1:443/x");
    }

    #[test]
    fn steps_and_controls_are_refused() {
        for segment in ["", ".", "..", "a\nb", "a\0", "\u{7f}"] {
            assert!(ApiUrl::compose("x.example", None, &["a", segment], &[]).is_err(), "{segment:?}");
        }
        assert!(ApiUrl::compose("x.example", None, &["a"], &[("q", "a\r\nb")]).is_err());
    }

    #[test]
    fn the_host_is_a_host() {
        for host in [
            "",
            "a.example/x",
            "a@b.example",
            "a.example:1",
            "a.example.",
            "0x7f.1",
            "a..example",
            "a?b",
            "a#b",
        ] {
            assert!(ApiUrl::compose(host, None, &["a"], &[]).is_err(), "{host:?}");
        }
    }
}
