//! What a scheme in front of a target means for the request.

/// The kinds of schemes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SchemeKind {
    /// Web requests: the host decides.
    Web,
    /// Other requests to a named host: the host decides.
    Remote,
    /// Reads files, runs code or speaks raw protocols.
    Blocked,
    /// Anything else.
    Unknown,
}

const WEB: &[&str] = &["http", "https", "ws", "wss"];

const REMOTE: &[&str] = &["git", "git+http", "git+https", "git+ssh", "ssh", "ssh+git", "svn+ssh"];

/// Local files; wrappers that read or run something; raw text protocols that can be pointed at any service.
const BLOCKED: &[&str] = &[
    "blob",
    "data",
    "dict",
    "expect",
    "ext",
    "fd",
    "file",
    "filesystem",
    "ftp",
    "ftps",
    "git+file",
    "glob",
    "gopher",
    "gophers",
    "http+unix",
    "https+unix",
    "imap",
    "imaps",
    "jar",
    "javascript",
    "ldap",
    "ldapi",
    "ldaps",
    "local_file",
    "mhtml",
    "netdoc",
    "nfs",
    "ogg",
    "phar",
    "php",
    "pop3",
    "pop3s",
    "res",
    "scp",
    "sftp",
    "smb",
    "smbs",
    "smtp",
    "smtps",
    "ssh2",
    "telnet",
    "tftp",
    "unix",
    "vbscript",
    "view-source",
    "zip",
    "zlib",
];

/// What `scheme`, in lower case, means.
pub(super) fn kind(scheme: &str) -> SchemeKind {
    if WEB.contains(&scheme) {
        SchemeKind::Web
    } else if REMOTE.contains(&scheme) {
        SchemeKind::Remote
    } else if BLOCKED.contains(&scheme) {
        SchemeKind::Blocked
    } else {
        SchemeKind::Unknown
    }
}

/// Whether `text` is a scheme by RFC 3986.
pub(super) fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+.-_".contains(&byte))
}

/// Ports on which no web server listens, but a service that a forged request could talk to. The list that browsers use.
const NOT_WEB: &[u16] = &[
    1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
    109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515,
    526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049,
    3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
];

/// Whether a web request to the port is suspicious.
pub(super) fn is_odd_web_port(port: u16) -> bool {
    NOT_WEB.binary_search(&port).is_ok()
}
