//! Rules about single requests: methods and paths.
//!
//! A path is compared after one percent-decoding, and a path that a server could read in a second way (dot segments,
//! backslashes, escapes inside escapes) is refused where rules exist, because a rule for `/public/*` must not admit
//! `/public/..%2fadmin`.

use super::refusal::Refusal;
use crate::spec::HttpRule;

/// An [`HttpRule`] without its host.
#[derive(Clone, Debug)]
pub(super) struct RequestRule {
    methods: Vec<String>,
    paths: Vec<PathRule>,
}

#[derive(Clone, Debug)]
enum PathRule {
    Exact(Vec<u8>),
    Prefix(Vec<u8>),
}

impl RequestRule {
    /// Reads the methods and paths of a rule; the error says what is wrong.
    pub(super) fn compile(rule: &HttpRule) -> Result<Self, String> {
        let odd =
            |method: &&String| method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_uppercase());
        if let Some(method) = rule.methods.iter().find(odd) {
            return Err(format!("the method `{}` is not made of upper-case letters", method.escape_debug()));
        }
        let paths = rule.paths.iter().map(|path| PathRule::parse(path)).collect::<Result<_, _>>()?;
        Ok(Self { methods: rule.methods.clone(), paths })
    }

    fn matches(&self, method: &str, path: &[u8]) -> bool {
        let method = self.methods.is_empty() || self.methods.iter().any(|allowed| allowed == method);
        method && (self.paths.is_empty() || self.paths.iter().any(|rule| rule.matches(path)))
    }
}

impl PathRule {
    fn parse(text: &str) -> Result<Self, String> {
        let (path, is_prefix) = text.strip_suffix('*').map_or((text, false), |path| (path, true));
        let shown = text.escape_debug();
        if !path.starts_with('/') || path.contains('*') {
            return Err(format!("the path `{shown}` must start with `/` and may have one `*`, at its end"));
        }
        let Some(decoded) = plain_path(path) else {
            return Err(format!("the path `{shown}` has dot segments, a query or escapes that mean nothing"));
        };
        Ok(if is_prefix { Self::Prefix(decoded) } else { Self::Exact(decoded) })
    }

    fn matches(&self, path: &[u8]) -> bool {
        match self {
            Self::Exact(exact) => path == exact,
            Self::Prefix(prefix) => path.starts_with(prefix),
        }
    }
}

/// Whether one of `rules` allows the request; no rules allow everything. The remedy is the rest of a rule.
pub(super) fn allows<'a>(
    rules: impl Iterator<Item = &'a RequestRule>,
    method: &str,
    path: &str,
) -> Result<(), Refusal> {
    let mut rules = rules.peekable();
    if rules.peek().is_none() {
        return Ok(());
    }
    let Some(decoded) = plain_path(path) else {
        return Err(ambiguous());
    };
    if rules.any(|rule| rule.matches(method, &decoded)) {
        return Ok(());
    }
    let remedy = format!("\"methods\": [\"{method}\"], \"paths\": [{}]", serde_json::Value::from(path));
    Err(Refusal::policy(
        "request-not-allowed",
        "no rule for this host allows this method and path",
        Some(remedy),
    ))
}

/// The refusal of a path that can be read in two ways.
pub(super) fn ambiguous() -> Refusal {
    Refusal::request(
        "path-ambiguous",
        "the path has dot segments, backslashes or escapes that servers read differently",
    )
}

/// The path after one decoding; `None` if it can be read in two ways.
pub(super) fn plain_path(path: &str) -> Option<Vec<u8>> {
    let decoded = decode(path.as_bytes())?;
    let odd = |byte: &u8| byte.is_ascii_control() || matches!(byte, b'\\' | b'?' | b'#');
    // Bytes that are no text are dots and slashes to a server that reads their long forms.
    if decoded.iter().any(odd) || hides_separators(&decoded) || std::str::from_utf8(&decoded).is_err() {
        return None;
    }
    let name = |segment: &[u8]| segment.split(|byte| *byte == b';').next().unwrap_or_default().to_vec();
    let dots = decoded.split(|byte| *byte == b'/').map(name).any(|name| name == b"." || name == b"..");
    (!dots).then_some(decoded)
}

/// Decodes every escape once; `None` for a `%` without two digits.
fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((byte, tail)) = rest.split_first() {
        if *byte != b'%' {
            decoded.push(*byte);
            rest = tail;
            continue;
        }
        let (digits, after) = tail.split_at_checked(2)?;
        let digits =
            std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()))?;
        decoded.push(u8::from_str_radix(digits, 16).ok()?);
        rest = after;
    }
    Some(decoded)
}

/// Whether another decoding would bring out dots, slashes, backslashes or escapes.
fn hides_separators(decoded: &[u8]) -> bool {
    let hidden = |window: &[u8]| {
        [b"%2e", b"%2f", b"%5c", b"%25"].iter().any(|escape| window.eq_ignore_ascii_case(*escape))
    };
    decoded.windows(3).any(hidden)
}

#[cfg(test)]
mod tests {
    use super::{RequestRule, allows};
    use crate::spec::HttpRule;

    fn rule(methods: &[&str], paths: &[&str]) -> Result<RequestRule, String> {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        RequestRule::compile(&HttpRule {
            host: "x.test".into(),
            methods: owned(methods),
            paths: owned(paths),
        })
    }

    #[test]
    fn a_request_needs_one_rule_that_matches_both() {
        let rules = [rule(&["GET", "HEAD"], &["/pub/*", "/a b"]).unwrap(), rule(&["POST"], &[]).unwrap()];
        for (method, path, code) in [
            ("GET", "/pub/", None),
            ("GET", "/pub/x/y", None),
            ("GET", "/a%20b", None),
            ("GET", "/%70ub/x", None),
            ("POST", "/anything", None),
            ("GET", "/pub", Some("request-not-allowed")),
            ("GET", "/a b/c", Some("request-not-allowed")),
            ("get", "/pub/", Some("request-not-allowed")),
            ("DELETE", "/pub/", Some("request-not-allowed")),
            ("GET", "/pub/../admin", Some("path-ambiguous")),
            ("GET", "/pub/..%2fadmin", Some("path-ambiguous")),
            ("GET", "/pub/%2e%2e/admin", Some("path-ambiguous")),
            ("GET", "/pub/%252e%252e/admin", Some("path-ambiguous")),
            ("GET", "/pub/..;x/admin", Some("path-ambiguous")),
            ("GET", "/pub/%25252e%25252e/admin", Some("path-ambiguous")),
            ("GET", "/pub/%c0%ae%c0%ae/admin", Some("path-ambiguous")),
            ("GET", "/pub/%e0%80%ae%e0%80%ae%c0%afadmin", Some("path-ambiguous")),
            ("GET", "/pub/100%25/%c3%a9", None),
            ("GET", "/pub/..%5cadmin", Some("path-ambiguous")),
            ("GET", "/pub/%00", Some("path-ambiguous")),
            ("POST", "/pub/%zz", Some("path-ambiguous")),
            ("POST", "/pub/%", Some("path-ambiguous")),
        ] {
            let verdict = allows(rules.iter(), method, path).err().map(|refusal| refusal.code);
            assert_eq!(verdict, code, "{method} {path}");
        }
        assert_eq!(allows([].iter(), "ANY", "/../x"), Ok(()));
    }

    #[test]
    fn rules_that_cannot_be_meant_are_refused() {
        for (methods, paths) in [
            (&["get"][..], &[][..]),
            (&[""], &[]),
            (&["*"], &[]),
            (&[], &["pub"]),
            (&[], &["/a*b"]),
            (&[], &["/**"]),
            (&[], &["/a/../b"]),
            (&[], &["/a?x"]),
            (&[], &["/%zz"]),
            (&[], &[""]),
        ] {
            assert!(rule(methods, paths).is_err(), "{methods:?} {paths:?}");
        }
    }
}
