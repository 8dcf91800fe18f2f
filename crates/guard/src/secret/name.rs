//! What the name of a field says about its value.

/// What a name promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Promise {
    /// A request header with a scheme and credentials.
    Header,
    /// A password.
    Password,
    /// A secret of another kind, in so many words.
    Secret,
    /// Something that may be a secret: `key`, `auth`.
    Maybe,
}

/// The most parts that a name is split into; longer ones are no names.
const MOST_PARTS: usize = 12;

/// What stands before or after a word like `token` and makes the whole a name for something public.
const HARMLESS: &[&str] = &[
    "name",
    "names",
    "id",
    "ids",
    "type",
    "types",
    "count",
    "counts",
    "length",
    "len",
    "size",
    "url",
    "uri",
    "urls",
    "endpoint",
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "dir",
    "field",
    "fields",
    "label",
    "title",
    "prompt",
    "hint",
    "message",
    "msg",
    "error",
    "errors",
    "format",
    "kind",
    "class",
    "provider",
    "expiry",
    "expires",
    "expiration",
    "expired",
    "ttl",
    "age",
    "limit",
    "limits",
    "policy",
    "rule",
    "rules",
    "regex",
    "pattern",
    "min",
    "max",
    "required",
    "enabled",
    "disabled",
    "index",
    "idx",
    "ref",
    "arn",
    "header",
    "headers",
    "method",
    "methods",
    "mode",
    "scope",
    "scopes",
    "version",
    "algorithm",
    "alg",
    "usage",
    "description",
    "desc",
    "help",
    "placeholder",
    "text",
    "input",
    "param",
    "params",
    "store",
    "manager",
    "ring",
    "chain",
    "map",
    "set",
    "list",
    "space",
    "bits",
    "strength",
    "attempts",
    "public",
    "primary",
    "foreign",
    "sort",
    "partition",
    "cache",
    "num",
    "total",
    "press",
    "pressed",
    "down",
    "up",
    "code",
    "event",
    "listener",
    "binding",
    "bindings",
    "stream",
    "tree",
    "kw",
    "keyword",
    "parser",
    "lexer",
    "span",
    "start",
    "end",
    "pos",
    "position",
    "kinds",
    "schema",
    "template",
    "prefix",
    "suffix",
    "separator",
    "domain",
    "service",
    "server",
    "host",
    "port",
    "user",
    "username",
    "email",
    "fingerprint",
    "hash",
    "digest",
    "checksum",
    "sha",
    "sha1",
    "sha256",
    "md5",
    "signature",
    "cert",
    "certificate",
    "crt",
    "pub",
    "vault",
    "plugin",
    "module",
    "package",
    "import",
    "exports",
    "link",
    "href",
    "icon",
    "color",
    "test",
    "tests",
    "at",
    "date",
    "time",
    "state",
    "status",
    "by",
    "for",
    "group",
    "groups",
    "object",
    "column",
    "table",
    "row",
    "cell",
    "item",
    "items",
    "entry",
    "frame",
    "frames",
    "point",
    "points",
    "note",
    "doc",
    "docs",
    "lang",
    "locale",
    "translation",
    "i18n",
    "msgid",
    "selector",
    "query",
    "route",
    "screen",
    "page",
    "section",
];

/// What `name` promises; none when it promises no secret.
pub(super) fn promise(name: &str) -> Option<Promise> {
    let mut parts: Vec<String> = Vec::with_capacity(4);
    for part in split(name) {
        (parts.len() < MOST_PARTS).then_some(())?;
        parts.push(part.to_ascii_lowercase());
    }
    let words: Vec<&str> = parts.iter().map(String::as_str).collect();
    if matches!(
        words.as_slice(),
        ["authorization"] | ["proxy", "authorization"] | [.., "http", "authorization"]
    ) {
        return Some(Promise::Header);
    }
    let at = words.iter().rposition(|word| is_secret_word(word))?;
    if is_key_material(&words) {
        return Some(Promise::Secret);
    }
    let last = words.last().copied().unwrap_or_default();
    let before = at.checked_sub(1).and_then(|before| words.get(before)).copied().unwrap_or_default();
    if (at + 1 < words.len() && HARMLESS.contains(&last)) || is_public(before) {
        return None;
    }
    Some(weigh(words.get(at).copied().unwrap_or_default(), before))
}

fn is_secret_word(word: &str) -> bool {
    matches!(
        word,
        "key"
            | "token"
            | "secret"
            | "password"
            | "passwd"
            | "passphrase"
            | "pwd"
            | "credential"
            | "credentials"
            | "auth"
            | "pass"
            | "apikey"
            | "secretkey"
            | "accesskey"
            | "privatekey"
    ) || GLUED.iter().any(|end| word.ends_with(end))
}

/// What a name without any mark between its words ends with. No other word of English does.
const GLUED: [&str; 6] = ["password", "passwd", "passphrase", "secret", "token", "apikey"];

/// Keys of cluster configurations, whose names end in a harmless word.
fn is_key_material(words: &[&str]) -> bool {
    matches!(words, [.., "client", "key", "data"] | [.., "private", "key", "data" | "pem" | "base64"])
}

/// Whether a word before `key` or `token` says that everyone may see it.
fn is_public(before: &str) -> bool {
    matches!(
        before,
        "public"
            | "primary"
            | "foreign"
            | "sort"
            | "partition"
            | "cache"
            | "publishable"
            | "index"
            | "unique"
            | "composite"
            | "natural"
            | "surrogate"
            | "max"
            | "min"
            | "num"
            | "total"
            | "translation"
            | "i18n"
            | "next"
            | "page"
            | "continuation"
            | "ssh"
            | "host"
            | "gpg"
            | "pgp"
            | "object"
            | "dict"
            | "map"
            | "row"
            | "column"
            | "group"
            | "shortcut"
            | "hot"
            | "registry"
            | "idempotency"
            | "routing"
            | "dedup"
            | "hash"
            | "site"
    )
}

fn weigh(word: &str, before: &str) -> Promise {
    match word {
        // Tests pass as well, and say how often.
        "pass" if before.is_empty() => Promise::Secret,
        "pass" | "pwd" => Promise::Password,
        word if ["password", "passwd", "passphrase"].iter().any(|end| word.ends_with(end)) => {
            Promise::Password
        }
        "key"
            if matches!(
                before,
                "api"
                    | "access"
                    | "secret"
                    | "private"
                    | "signing"
                    | "encryption"
                    | "account"
                    | "auth"
                    | "master"
                    | "service"
                    | "client"
                    | "license"
                    | "app"
                    | "application"
                    | "deploy"
                    | "storage"
                    | "admin"
                    | "session"
            ) =>
        {
            Promise::Secret
        }
        "key" | "auth" => Promise::Maybe,
        _ => Promise::Secret,
    }
}

/// The parts of a name in snake, kebab, dotted or camel case.
fn split(name: &str) -> impl Iterator<Item = &str> {
    name.split(|character: char| !character.is_ascii_alphanumeric())
        .flat_map(humps)
        .filter(|part| !part.is_empty())
}

/// The parts of a name in camel case: `apiKey` and `APIKey` have two.
fn humps(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let bytes = rest.as_bytes();
        let cut = (1..bytes.len()).find(|at| {
            let (before, here, after) = (bytes.get(at - 1), bytes.get(*at), bytes.get(at + 1));
            let is = |byte: Option<&u8>, test: fn(&u8) -> bool| byte.is_some_and(test);
            is(here, u8::is_ascii_uppercase)
                && (!is(before, u8::is_ascii_uppercase) || is(after, u8::is_ascii_lowercase))
        });
        let (part, left) = rest.split_at_checked(cut.unwrap_or(rest.len()))?;
        rest = left;
        Some(part)
    })
}
