//! References from one skill to another: URLs as they are, others relative to the skill that names them.
//!
//! Relative references follow RFC 3986. A skill's URL names a directory without a trailing slash, so `b` in
//! `…/skills/a` is its sibling `…/skills/b`.

use fullsend_origin::{HttpsUrl, PinnedUrl, has_scheme};

use crate::error::DependencyError;

/// The pinned URL that a reference in the skill at `parent` means.
///
/// # Errors
/// When the reference is not a usable, pinned URL once it is resolved.
pub(crate) fn resolve_reference(parent: &HttpsUrl, reference: &str) -> Result<PinnedUrl, DependencyError> {
    let absolute = if has_scheme(reference) { reference.to_owned() } else { join(parent, reference) };
    PinnedUrl::parse(&absolute).map_err(|error| DependencyError::Reference {
        message: format!("the dependency `{reference}` is not a usable reference: {error}"),
        help: error.help(),
    })
}

fn join(parent: &HttpsUrl, reference: &str) -> String {
    let (path, fragment) =
        reference.split_once('#').map_or((reference, None), |(path, pin)| (path, Some(pin)));
    let authority = authority(parent);
    let joined = if let Some(rest) = path.strip_prefix("//") {
        format!("https://{rest}")
    } else if path.starts_with('/') {
        format!("https://{authority}{}", without_dots(path))
    } else {
        let directory = parent.raw_path().rsplit_once('/').map_or("", |(directory, _)| directory);
        format!("https://{authority}{}", without_dots(&format!("{directory}/{path}")))
    };
    fragment.map_or(joined.clone(), |pin| format!("{joined}#{pin}"))
}

fn authority(url: &HttpsUrl) -> String {
    let host = url.host();
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    url.port_text().map_or(host.clone(), |port| format!("{host}:{port}"))
}

/// Removes `.` and `..` as RFC 3986 says: `..` at the root stays at the root.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if last {
                    kept.push("");
                }
            }
            other => kept.push(other),
        }
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIN: &str = "#sha256=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn references_resolve_against_the_skills_container() {
        let parent = HttpsUrl::parse("https://github.com/o/r/tree/main/skills/a").unwrap();
        for (reference, expected) in [
            ("b", "https://github.com/o/r/tree/main/skills/b"),
            ("./b", "https://github.com/o/r/tree/main/skills/b"),
            ("../common/b", "https://github.com/o/r/tree/main/common/b"),
            ("/x/y", "https://github.com/x/y"),
            ("//evil.com/x", "https://evil.com/x"),
            ("../../../../../../x", "https://github.com/x"),
            ("https://gitlab.com/g/r/-/tree/v1/s", "https://gitlab.com/g/r/-/tree/v1/s"),
        ] {
            let resolved = resolve_reference(&parent, &format!("{reference}{PIN}")).unwrap();
            assert_eq!(resolved.url().as_str(), expected, "{reference}");
        }
    }

    #[test]
    fn what_is_not_pinned_or_not_https_is_refused() {
        let parent = HttpsUrl::parse("https://github.com/o/r/tree/main/skills/a").unwrap();
        for reference in ["b", "http://x/b", "ftp://x/b", "", "b#sha256=ABC", "b%25#sha256="] {
            assert!(resolve_reference(&parent, reference).is_err(), "{reference}");
        }
    }
}
