//! What `${name…}` makes of a value.

/// The value after an operation such as `:0:1`, `,,` or `/a/b`; none when it is not known beforehand.
pub(super) fn changed(name: &str, value: Option<&str>, operation: &str) -> Option<String> {
    if let Some(range) = operation.strip_prefix(':') {
        // Every path starts with a slash, whatever else is in it.
        let value =
            value.or_else(|| matches!(name, "PATH" | "HOME" | "PWD" | "OLDPWD" | "SHELL").then_some("/"))?;
        return slice(value, range, name);
    }
    let value = value?;
    match operation {
        ",," => return Some(value.to_lowercase()),
        "^^" => return Some(value.to_uppercase()),
        _ => {}
    }
    if let Some(rest) = operation.strip_prefix('/') {
        return replaced(value, rest);
    }
    let is_plain = |text: &str| !text.contains(['*', '?', '[', '$', '\\', '"', '\'', '`', '(']);
    let (from_start, pattern) = match operation.as_bytes().first()? {
        b'#' => (true, operation.trim_start_matches('#')),
        b'%' => (false, operation.trim_start_matches('%')),
        _ => return None,
    };
    let stripped = if from_start { value.strip_prefix(pattern) } else { value.strip_suffix(pattern) };
    is_plain(pattern).then(|| stripped.unwrap_or(value).to_owned())
}

/// `:offset:length`. Of a path that is not known only the first character is.
fn slice(value: &str, range: &str, name: &str) -> Option<String> {
    let (offset, length) = range.split_once(':').unwrap_or((range, ""));
    let offset: usize = offset.trim().parse().ok()?;
    let length: usize = if length.is_empty() { usize::MAX } else { length.trim().parse().ok()? };
    if value == "/" && name.bytes().all(|byte| byte.is_ascii_uppercase()) && (offset, length) != (0, 1) {
        return None;
    }
    Some(value.chars().skip(offset).take(length).collect())
}

/// `/old/new` and `//old/new`, when both are plain.
fn replaced(value: &str, rest: &str) -> Option<String> {
    let (all, rest) = rest.strip_prefix('/').map_or((false, rest), |rest| (true, rest));
    let (old, new) = rest.split_once('/').unwrap_or((rest, ""));
    let odd = ['*', '?', '[', '$', '\\', '"', '\'', '`', '(', '#', '%'];
    if old.is_empty() || old.contains(odd) || new.contains(odd) || new.len() > old.len() + 64 {
        return None;
    }
    Some(if all { value.replace(old, new) } else { value.replacen(old, new, 1) })
}

#[cfg(test)]
mod tests {
    use super::changed;

    #[test]
    fn changes_values_like_a_shell() {
        let table: &[(&str, Option<&str>, &str, Option<&str>)] = &[
            ("PATH", None, ":0:1", Some("/")),
            ("PATH", None, ":5:2", None),
            ("x", Some("abcurlx"), ":2:4", Some("curl")),
            ("x", Some("CURL"), ",,", Some("curl")),
            ("x", Some("cXuXrl"), "//X/", Some("curl")),
            ("x", Some("cXurlX"), "/X/", Some("curlX")),
            ("x", Some("xcurl"), "#x", Some("curl")),
            ("x", Some("curl.exe"), "%.exe", Some("curl")),
            ("x", Some("a.b"), "%.*", None),
            ("x", None, ",,", None),
        ];
        for (name, value, operation, expected) in table {
            assert_eq!(changed(name, *value, operation).as_deref(), *expected, "{name} {operation}");
        }
    }
}
