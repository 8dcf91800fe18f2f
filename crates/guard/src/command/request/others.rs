//! Addresses in the arguments of other programs.

use super::curl::operands;
use crate::command::interpreter;
use crate::command::script::{Command, Word, short_cluster};

/// Where a command connects to.
pub(super) fn targets(command: &Command) -> Vec<Word> {
    let arguments = |short: &str| operands(command, short, &[]);
    match command.name() {
        "http" | "https" | "xh" | "xhs" | "httpie" => httpie(arguments("aAopP")).into_iter().collect(),
        "aria2c" => {
            let listed = from_file(command, &["-i", "--input-file"]);
            operands(command, "doijkmstxZ", &["--dir", "--out", "--input-file"])
                .into_iter()
                .chain(listed)
                .collect()
        }
        "fetch" | "axel" | "lynx" | "links" | "elinks" | "w3m" | "GET" | "lwp-request" | "lwp-download"
        | "websocat" => arguments("oO"),
        "wscat" => command.values(&["-c", "--connect"]),
        "git" => git(command),
        "pip" | "pip3" | "pipx" | "uv" | "poetry" => urls_and(
            command,
            &[
                "-i",
                "--index-url",
                "--extra-index-url",
                "-f",
                "--find-links",
                "--proxy",
                "--index",
                "--default-index",
            ],
        ),
        "npm" | "yarn" | "pnpm" | "npx" | "bun" => urls_and(command, &["--registry"]),
        "cargo" => urls_and(command, &["--git", "--index"]),
        "gem" => urls_and(command, &["-s", "--source"]),
        "go" => go(command),
        "docker" | "podman" | "helm" | "brew" | "nmap" | "yt-dlp" | "ab" | "hey" | "wrk" | "grpcurl" => {
            urls_and(command, &[])
        }
        "ssh" | "mosh" | "sftp" | "ssh-copy-id" => ssh(command),
        "scp" | "rsync" | "rclone" => arguments("PioFcJSlXe").into_iter().filter(is_remote_path).collect(),
        "nc" | "ncat" | "netcat" | "telnet" | "ftp" | "tftp" | "lftp" => host_and_port(command),
        "ping" | "ping6" | "traceroute" | "tracepath" | "httping" => arguments("cWwiIstMmfpQ"),
        "dig" | "drill" | "kdig" | "nslookup" | "host" => lookup(command),
        "openssl" => command.values(&["-connect", "-proxy"]),
        "socat" => command.operands().filter_map(socat).collect(),
        "psql" | "mysql" | "mysqladmin" | "mysqldump" | "pg_dump" | "mongo" | "mongosh" => {
            urls_and(command, &["-h", "--host", "--uri"])
        }
        "redis-cli" => urls_and(command, &["-h", "-u"]),
        name if is_data_only(name) || interpreter::is_shell(name) => Vec::new(),
        _ => command.arguments().iter().filter_map(whole_url).collect(),
    }
}

/// Programs that do not follow the addresses among their arguments.
fn is_data_only(name: &str) -> bool {
    DATA_ONLY.binary_search(&name).is_ok()
}

/// In alphabetical order.
static DATA_ONLY: &[&str] = &[
    "", ".", ":", "[", "[[", "ack", "ag", "alias", "awk", "basename", "cat", "column", "cut", "declare",
    "diff", "dirname", "echo", "egrep", "export", "expr", "fgrep", "gawk", "gh", "grep", "head", "jq",
    "less", "local", "log", "ls", "mkdir", "printf", "read", "readonly", "rg", "rm", "sed", "set", "sort",
    "tail", "tee", "test", "touch", "tr", "trap", "true", "typeset", "uniq", "unset", "wc", "yq",
];

/// The address that a word is, or that `--option=address` gives. Text with an address in it is data.
fn whole_url(word: &Word) -> Option<Word> {
    let start = match word.text.strip_prefix('-') {
        Some(_) => word.text.find('=')? + 1,
        None => 0,
    };
    let address = word.tail(start);
    let (scheme, rest) = address.text.split_once("://")?;
    let is_scheme = !scheme.is_empty()
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte));
    (is_scheme && !rest.is_empty() && !rest.contains([' ', '\n', '\t'])).then_some(address)
}

/// What is known about addresses in a file: nothing.
pub(super) fn from_file(command: &Command, options: &[&str]) -> Option<Word> {
    command.value(options).map(|file| Word { text: "$__".to_owned(), ..Word::new(file.span) })
}

/// The first operand that is not a method.
fn httpie(operands: Vec<Word>) -> Option<Word> {
    operands
        .into_iter()
        .find(|word| !word.text.bytes().all(|byte| byte.is_ascii_uppercase()) || word.text.is_empty())
}

/// Operands with a scheme or of the form `user@host:path`, and the values of these options.
fn urls_and(command: &Command, options: &[&str]) -> Vec<Word> {
    let is_url =
        |word: &&Word| word.text.contains("://") || (word.text.contains('@') && is_remote_path(word));
    let mut found: Vec<Word> = command.operands().filter(is_url).cloned().collect();
    for value in command.values(options) {
        if !found.iter().any(|known| known.text == value.text) {
            found.push(value);
        }
    }
    found
}

fn git(command: &Command) -> Vec<Word> {
    let words = operands(command, "Cc", &["--git-dir", "--work-tree", "--depth", "--branch", "--reference"]);
    let (Some(verb), rest) = (words.first(), words.get(1..).unwrap_or_default()) else { return Vec::new() };
    if !matches!(
        verb.text.as_str(),
        "clone" | "fetch" | "pull" | "push" | "ls-remote" | "remote" | "submodule" | "archive" | "svn"
    ) {
        return Vec::new();
    }
    let skips = ["-b", "-o", "-m", "-t", "-u"];
    let values: Vec<String> = command.values(&skips).into_iter().map(|word| word.text).collect();
    rest.iter()
        .filter(|word| !values.contains(&word.text) || word.text.contains("://"))
        .filter(|word| {
            word.text.contains("://") || is_remote_path(word) || (verb.text == "clone" && !word.is_complete())
        })
        .cloned()
        .chain(command.values(&["--remote"]))
        .collect()
}

fn go(command: &Command) -> Vec<Word> {
    let mut operands = command.operands();
    let verb = operands.next().map(|word| word.text.as_str());
    if !matches!(verb, Some("get" | "install" | "run")) {
        return Vec::new();
    }
    let is_module = |word: &&Word| {
        let host = word.text.split('/').next().unwrap_or_default();
        host.contains('.') && !host.starts_with('.') && word.text.contains('/')
    };
    operands.filter(is_module).cloned().collect()
}

/// Whether a path is on another machine: `host:path`, where the host is no drive, option or file.
fn is_remote_path(word: &Word) -> bool {
    let Some((host, _)) = word.text.split_once(':') else { return false };
    !host.is_empty() && !host.contains('/') && !host.starts_with(['-', '.'])
}

fn ssh(command: &Command) -> Vec<Word> {
    let words = operands(command, "BbcDEeFIiJLlmOopQRSWw", &[]);
    let Some(host) = words.first() else { return Vec::new() };
    let mut host = host.clone();
    if let Some(port) = command.value(&["-p"])
        && host.is_complete()
        && !host.text.contains(':')
    {
        host = Word::literal(format!("{}:{}", host.text, port.text), host.span);
    }
    let jumps = command.values(&["-J", "-W"]);
    std::iter::once(host).chain(jumps).collect()
}

/// `host port`; nothing when the program listens.
fn host_and_port(command: &Command) -> Vec<Word> {
    let listens = command.arguments().iter().any(|word| {
        word.text == "--listen" || short_cluster(&word.text).is_some_and(|cluster| cluster.contains('l'))
    });
    if listens {
        return Vec::new();
    }
    let words =
        operands(command, "cegGiIMmOopPqsTVwXx", &["--exec", "--sh-exec", "--source", "--proxy", "--wait"]);
    let mut found = command.values(&["-x", "--proxy"]);
    let mut words = words.into_iter();
    let Some(host) = words.next() else { return found };
    found.push(match words.next() {
        Some(port) if host.is_complete() && port.text.bytes().all(|byte| byte.is_ascii_digit()) => {
            Word::literal(format!("{}:{}", host.text, port.text), host.span)
        }
        Some(_) | None => host,
    });
    found
}

/// The names that are looked up, and the servers that are asked.
fn lookup(command: &Command) -> Vec<Word> {
    let kinds = ["A", "AAAA", "ANY", "MX", "TXT", "NS", "SOA", "CNAME", "PTR", "SRV", "CAA", "AXFR", "IN"];
    operands(command, "bcfkpqtyx", &[])
        .into_iter()
        .filter(|word| {
            !word.text.starts_with('+') && !kinds.contains(&word.text.to_ascii_uppercase().as_str())
        })
        .map(|word| if word.text.starts_with('@') { word.tail(1) } else { word })
        .collect()
}

/// The address in `TCP:host:port` and the like.
fn socat(word: &Word) -> Option<Word> {
    let (kind, address) = word.text.split_once(':')?;
    let kind = kind.to_ascii_uppercase();
    let connects = kind.starts_with("TCP")
        || kind.starts_with("UDP")
        || kind.starts_with("SSL")
        || kind.starts_with("OPENSSL");
    if !connects || kind.contains("LISTEN") || kind.contains("-L") {
        return None;
    }
    let mut target = word.tail(word.text.len() - address.len());
    let end = target.text.find(',').unwrap_or(target.text.len());
    target.text.truncate(end);
    target.literal = target.literal.min(end);
    Some(target)
}
