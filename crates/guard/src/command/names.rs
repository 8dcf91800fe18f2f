//! Which programs and variables are of interest.

use super::glob;

/// Programs that print or store what they fetch.
static DOWNLOADERS: &[&str] = &[
    "curl",
    "wget",
    "wget2",
    "fetch",
    "aria2c",
    "axel",
    "http",
    "https",
    "xh",
    "xhs",
    "lynx",
    "links",
    "elinks",
    "w3m",
    "GET",
    "lwp-request",
    "lwp-download",
    "lftp",
    "curlie",
    "httpie",
    "ftp",
    "tftp",
    "nc",
    "ncat",
    "netcat",
    "socat",
];

/// Other programs that talk to an address among their arguments.
static CONNECTORS: &[&str] = &[
    "ssh",
    "scp",
    "sftp",
    "rsync",
    "mosh",
    "telnet",
    "websocat",
    "wscat",
    "grpcurl",
    "smbclient",
    "sendmail",
    "mail",
    "mailx",
    "mutt",
    "swaks",
    "rclone",
    "ab",
    "hey",
    "wrk",
    "httping",
    "nmap",
];

/// Programs that look up names.
static LOOKUPS: &[&str] =
    &["dig", "nslookup", "host", "drill", "kdig", "ping", "ping6", "traceroute", "tracepath", "getent"];

/// Whether it fetches what is at an address.
pub(super) fn is_downloader(name: &str) -> bool {
    DOWNLOADERS.contains(&name)
}

/// Whether it talks to an address among its arguments.
pub(super) fn is_network(name: &str) -> bool {
    is_downloader(name) || CONNECTORS.contains(&name)
}

/// Whether it looks up a name among its arguments.
pub(super) fn is_lookup(name: &str) -> bool {
    LOOKUPS.contains(&name)
}

/// Programs that a pattern such as `/bin/c?rl` may stand for.
static MEANT: &[&str] = &[
    "curl", "wget", "nc", "ncat", "cat", "sh", "bash", "dash", "zsh", "python3", "python", "perl", "ruby",
    "node", "php", "base64", "ssh", "scp", "rm", "dd", "env", "tac", "head", "tail", "xxd",
];

/// The program that a pattern in place of a name stands for.
pub(super) fn meant_by(pattern: &str) -> Option<&'static str> {
    let is_pattern =
        pattern.contains(['*', '?', '[']) && pattern.contains(|letter: char| letter.is_alphanumeric());
    MEANT.iter().find(|name| is_pattern && glob::matches(pattern, name)).copied()
}

/// Whether a variable of this name holds something secret.
pub(super) fn is_secret(variable: &str) -> bool {
    let upper = variable.to_ascii_uppercase();
    ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY", "CREDENTIAL"]
        .iter()
        .any(|part| upper.contains(part))
}

/// Whether one change (a letter replaced, added, left out, or two swapped) leads from one text to the other.
pub(super) fn is_one_change_apart(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let (short, long) = if left.len() <= right.len() { (left, right) } else { (right, left) };
    if left == right || long.len() - short.len() > 1 {
        return false;
    }
    let same = short.iter().zip(long).take_while(|(a, b)| a == b).count();
    let (short_rest, long_rest) =
        (short.get(same..).unwrap_or_default(), long.get(same..).unwrap_or_default());
    match (short_rest, long_rest) {
        ([a, b, short_tail @ ..], [c, d, long_tail @ ..])
            if short.len() == long.len() && a == d && b == c && short_tail == long_tail =>
        {
            true
        }
        ([_, short_tail @ ..], [_, long_tail @ ..]) if short.len() == long.len() => short_tail == long_tail,
        (_, [_, long_tail @ ..]) => short_rest == long_tail,
        (_, []) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{is_one_change_apart, is_secret};

    #[test]
    fn sees_one_change() {
        for (left, right) in
            [("requests", "request"), ("requests", "requsets"), ("lodash", "lodahs"), ("numpy", "nunpy")]
        {
            assert!(is_one_change_apart(left, right), "{left} {right}");
        }
        for (left, right) in [("requests", "requests"), ("flask", "black"), ("a", "abc")] {
            assert!(!is_one_change_apart(left, right), "{left} {right}");
        }
    }

    #[test]
    fn knows_secret_names() {
        assert!(is_secret("GITHUB_TOKEN") && is_secret("aws_secret_access_key"));
        assert!(!is_secret("HOME") && !is_secret("KEYBOARD"));
    }
}
