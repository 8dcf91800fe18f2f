//! Addresses in the arguments of `curl` and `wget`.

use super::others::from_file;
use crate::command::script::{Command, Word};

/// Short options of curl that take a value.
const CURL_SHORT: &str = "AbcCdDeEFhHKmoPQrtTuUwxXyYz";

/// Long options of curl that take a value. What is not here is taken for a switch, so that the next word counts as an address.
static CURL_LONG: &[&str] = &[
    "--abstract-unix-socket",
    "--aws-sigv4",
    "--cacert",
    "--capath",
    "--cert",
    "--cert-type",
    "--ciphers",
    "--config",
    "--connect-timeout",
    "--connect-to",
    "--continue-at",
    "--cookie",
    "--cookie-jar",
    "--create-file-mode",
    "--crlfile",
    "--curves",
    "--data",
    "--data-ascii",
    "--data-binary",
    "--data-raw",
    "--data-urlencode",
    "--delegation",
    "--dns-interface",
    "--dns-ipv4-addr",
    "--dns-ipv6-addr",
    "--dns-servers",
    "--doh-url",
    "--dump-header",
    "--engine",
    "--etag-compare",
    "--etag-save",
    "--expect100-timeout",
    "--form",
    "--form-string",
    "--ftp-account",
    "--ftp-method",
    "--ftp-port",
    "--happy-eyeballs-timeout-ms",
    "--header",
    "--hostpubmd5",
    "--interface",
    "--json",
    "--keepalive-time",
    "--key",
    "--key-type",
    "--limit-rate",
    "--local-port",
    "--location-trusted-host",
    "--login-options",
    "--mail-auth",
    "--mail-from",
    "--mail-rcpt",
    "--max-filesize",
    "--max-redirs",
    "--max-time",
    "--netrc-file",
    "--noproxy",
    "--oauth2-bearer",
    "--output",
    "--output-dir",
    "--parallel-max",
    "--pass",
    "--pinnedpubkey",
    "--preproxy",
    "--proto",
    "--proto-default",
    "--proto-redir",
    "--proxy",
    "--proxy-cacert",
    "--proxy-cert",
    "--proxy-header",
    "--proxy-key",
    "--proxy-user",
    "--pubkey",
    "--quote",
    "--random-file",
    "--range",
    "--rate",
    "--referer",
    "--request",
    "--request-target",
    "--resolve",
    "--retry",
    "--retry-delay",
    "--retry-max-time",
    "--sasl-authzid",
    "--service-name",
    "--socks4",
    "--socks4a",
    "--socks5",
    "--socks5-hostname",
    "--speed-limit",
    "--speed-time",
    "--stderr",
    "--telnet-option",
    "--tftp-blksize",
    "--time-cond",
    "--tls-max",
    "--tls13-ciphers",
    "--trace",
    "--trace-ascii",
    "--unix-socket",
    "--upload-file",
    "--url",
    "--url-query",
    "--user",
    "--user-agent",
    "--variable",
    "--write-out",
];

/// Options whose value is an address that is connected to.
static CURL_ADDRESSES: &[&str] = &[
    "--url",
    "-x",
    "--proxy",
    "--preproxy",
    "--socks4",
    "--socks4a",
    "--socks5",
    "--socks5-hostname",
    "--doh-url",
];

/// Where curl connects to.
pub(super) fn curl(command: &Command) -> Vec<Word> {
    let mut found = operands(command, CURL_SHORT, CURL_LONG);
    found.extend(command.values(CURL_ADDRESSES));
    for entry in command.values(&["--resolve"]) {
        found.extend(fields_after(&entry, 2).map(|addresses| first_of(addresses, ',')));
    }
    for entry in command.values(&["--connect-to"]) {
        found.extend(fields_after(&entry, 2));
    }
    found.extend(configured(command));
    found.retain(|word| !word.text.is_empty());
    found
}

/// The addresses in a configuration on standard input; in a file they are not known.
fn configured(command: &Command) -> Vec<Word> {
    let options = ["-K", "--config"];
    let file = command.value(&options);
    if file.is_none() && !command.has(&options) {
        return Vec::new();
    }
    // The grammar loses a `-` in front of a here-document.
    let from_input = file.as_ref().is_none_or(|file| matches!(file.text.as_str(), "-" | "/dev/stdin"));
    let Some(input) = command.input.as_ref().filter(|_| from_input) else {
        return vec![Word { text: "$__".to_owned(), ..Word::new(command.span) }];
    };
    let settings = input.text.lines().filter_map(|line| {
        let value = line.trim().trim_start_matches('-').strip_prefix("url")?;
        Some(value.trim_start_matches([' ', '\t', '=', ':']).trim_matches('"'))
    });
    settings.map(|value| Word::literal(value, input.span)).collect()
}

/// Short options of wget that take a value.
const WGET_SHORT: &str = "aABDeiIloOPQRtTUwX";

static WGET_LONG: &[&str] = &[
    "--output-document",
    "--output-file",
    "--directory-prefix",
    "--header",
    "--user-agent",
    "--tries",
    "--timeout",
    "--post-data",
    "--post-file",
    "--body-data",
    "--body-file",
    "--method",
    "--user",
    "--password",
    "--execute",
    "--input-file",
    "--level",
    "--accept",
    "--reject",
    "--wait",
    "--referer",
    "--load-cookies",
    "--save-cookies",
    "--ca-certificate",
    "--base",
    "--limit-rate",
    "--domains",
    "--quota",
    "--cut-dirs",
    "--waitretry",
    "--config",
];

/// Where wget connects to.
pub(super) fn wget(command: &Command) -> Vec<Word> {
    let mut found = operands(command, WGET_SHORT, WGET_LONG);
    found.extend(from_file(command, &["-i", "--input-file"]));
    for setting in command.values(&["-e", "--execute"]) {
        if let Some((name, value)) = setting.text.split_once('=')
            && name.trim().ends_with("_proxy")
            && !matches!(value.trim(), "yes" | "no" | "on" | "off")
        {
            found.push(setting.tail(setting.text.len() - value.trim_start().len()));
        }
    }
    found
}

/// The arguments that are neither options nor values of options.
pub(super) fn operands(command: &Command, short: &str, long: &[&str]) -> Vec<Word> {
    let mut found = Vec::new();
    let mut skip = false;
    let mut only_operands = false;
    for word in command.arguments() {
        let text = word.text.as_str();
        if skip {
            skip = false;
        } else if only_operands || text == "-" || !text.starts_with('-') {
            found.push(word.clone());
        } else if text == "--" {
            only_operands = true;
        } else if text.starts_with("--") {
            skip = long.contains(&text);
        } else {
            // In a cluster, what follows the first option with a value is the value.
            let valued = text.char_indices().skip(1).find(|(_, option)| short.contains(*option));
            skip = valued.is_some_and(|(at, option)| at + option.len_utf8() == text.len());
        }
    }
    found
}

/// What follows the first `count` fields between colons; a colon in brackets is part of an address.
fn fields_after(word: &Word, count: usize) -> Option<Word> {
    let mut depth = 0_usize;
    let mut seen = 0;
    for (at, character) in word.text.char_indices() {
        match character {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            ':' if depth == 0 => {
                seen += 1;
                if seen == count {
                    return Some(word.tail(at + 1));
                }
            }
            _ => {}
        }
    }
    None
}

/// The word up to a separator.
fn first_of(mut word: Word, separator: char) -> Word {
    if let Some(at) = word.text.find(separator) {
        word.text.truncate(at);
        word.literal = word.literal.min(at);
    }
    word
}
