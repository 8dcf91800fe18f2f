//! Paths that matter.

use std::borrow::Cow;

use super::glob;
use super::script::{Command, Flow, Word, base_name};

/// A path without `./`, doubled slashes and a `file://` in front.
pub(super) fn plain(path: &str) -> Cow<'_, str> {
    let path = path.strip_prefix("file://").unwrap_or(path);
    let path = path.strip_prefix("./").unwrap_or(path);
    if path.contains("//") || path.contains("/./") {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        let root = if path.starts_with('/') { "/" } else { "" };
        return Cow::Owned(format!("{root}{}", parts.join("/")));
    }
    Cow::Borrowed(path)
}

/// What follows a home directory, however it is written. A relative path may well be below it too.
pub(super) fn below_home(path: &str) -> Option<&str> {
    for home in ["$HOME/", "~/", "/root/"] {
        if let Some(rest) = path.strip_prefix(home) {
            return Some(rest);
        }
    }
    for homes in ["/home/", "/Users/", "~"] {
        if let Some(rest) = path.strip_prefix(homes) {
            return rest.split_once('/').map(|(_, rest)| rest);
        }
    }
    None
}

/// Whether the path is this file or directory, or lies in it.
pub(super) fn is_at_or_below(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory.trim_end_matches('/'))
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || directory.ends_with(['_', '/']))
}

/// Files that a command writes, by redirection or by its arguments.
pub(super) fn written(command: &Command) -> Vec<&Word> {
    let mut found: Vec<&Word> = command
        .redirects
        .iter()
        .filter(|redirect| redirect.flow != Flow::In)
        .map(|redirect| &redirect.target)
        .collect();
    let operands = || command.operands();
    match command.name() {
        "tee" | "sponge" | "truncate" | "touch" => found.extend(operands()),
        "cp" | "mv" | "install" | "ln" | "rsync" => found.extend(operands().last()),
        "sed" | "perl" if command.has_flag('i') || command.has(&["--in-place"]) => {
            found.extend(operands().skip(1))
        }
        "vim" | "vi" | "nano" | "ed" | "ex" => found.extend(operands()),
        _ => {}
    }
    found
}

/// Files that a command writes and that only a copy of the option's value names.
pub(super) fn written_by_option(command: &Command) -> Option<Word> {
    match command.name() {
        "curl" => command.value(&["-o", "--output"]),
        "wget" => command.value(&["-O", "--output-document"]),
        "dd" => {
            let target = command.arguments().iter().find(|word| word.text.starts_with("of="))?;
            Some(target.tail(3))
        }
        _ => None,
    }
}

/// What kind of credential store a path is.
pub(super) fn credential_store(path: &str) -> Option<&'static str> {
    let path = plain(path);
    let path = path.as_ref();
    let name = base_name(path);
    if name.ends_with(".pub") || name == "known_hosts" || name.starts_with("authorized_keys") {
        return None;
    }
    if path.contains(['*', '?', '[']) && name.contains(|letter: char| letter.is_alphanumeric()) {
        return meant_by(path);
    }
    if let Some(home) = below_home(path) {
        let found = HOME_STORES.iter().chain(HOME_ONLY).find(|(store, _)| is_at_or_below(home, store));
        if let Some((_, what)) = found {
            return Some(what);
        }
    }
    if !path.starts_with(['/', '$', '~'])
        && let Some((_, what)) = HOME_STORES.iter().find(|(store, _)| is_at_or_below(path, store))
    {
        return Some(what);
    }
    if matches!(name, "id_rsa" | "id_ed25519" | "id_ecdsa" | "id_dsa") {
        return Some("an SSH key");
    }
    if path.starts_with("/proc/") && name == "environ" {
        return Some("the environment of a process");
    }
    SYSTEM_STORES.iter().find(|(store, _)| is_at_or_below(path, store)).map(|(_, what)| *what)
}

/// The store that a pattern such as `/e*c/shado?` stands for.
fn meant_by(pattern: &str) -> Option<&'static str> {
    if let Some(home) = below_home(pattern) {
        let files = [".ssh/id_rsa", ".ssh/id_ed25519", ".aws/credentials", ".netrc", ".git-credentials"];
        let found = files.iter().find(|file| glob::matches(home, file));
        let in_ssh = home.starts_with(".ssh/") && !home.ends_with(".pub");
        return (found.is_some() || in_ssh).then_some("keys or passwords");
    }
    ["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/proc/self/environ"]
        .iter()
        .any(|file| glob::matches(pattern, file))
        .then_some("password hashes or rights of users")
}

/// Whether a file usually holds secrets, so that it should not leave. Reading one is everyday work.
pub(super) fn is_private_file(path: &str) -> bool {
    let name = base_name(path);
    let example = ["example", "sample", "template", "dist", "test", "defaults"];
    let env = name == ".env"
        || name.strip_prefix(".env.").is_some_and(|kind| !example.iter().any(|word| kind.contains(word)));
    let stem_and_kind = name.rsplit_once('.');
    let key =
        stem_and_kind.is_some_and(|(_, kind)| matches!(kind, "pem" | "key" | "p12" | "pfx" | "kdbx" | "jks"));
    env || key
        || matches!(name, "credentials.json" | "service-account.json" | ".npmrc" | ".pypirc" | ".htpasswd")
}

/// Whether a path is a whole home directory, or all of the machine.
pub(super) fn is_whole_home(path: &str) -> bool {
    let path = plain(path);
    let whole = path.trim_end_matches(['/', '.']);
    matches!(whole, "~" | "$HOME" | "/root" | "/home" | "/Users")
        || (whole.is_empty() && path.starts_with('/'))
        || ["/home/", "/Users/"].iter().any(|homes| {
            whole.strip_prefix(homes).is_some_and(|user| !user.is_empty() && !user.contains('/'))
        })
}

static HOME_STORES: &[(&str, &str)] = &[
    (".ssh", "SSH keys"),
    (".aws/credentials", "AWS credentials"),
    (".netrc", "passwords for servers"),
    (".docker/config.json", "Docker credentials"),
    (".kube/config", "Kubernetes credentials"),
    (".git-credentials", "git credentials"),
    (".config/git/credentials", "git credentials"),
    (".gnupg", "GnuPG keys"),
    (".config/gh/hosts.yml", "GitHub credentials"),
    (".config/hub", "GitHub credentials"),
    (".config/gcloud", "Google Cloud credentials"),
    (".azure", "Azure credentials"),
    (".vault-token", "a Vault token"),
    (".terraform.d/credentials.tfrc.json", "Terraform credentials"),
    (".password-store", "stored passwords"),
    (".local/share/keyrings", "a keyring"),
    (".mozilla/firefox", "a browser's stored logins"),
    (".config/google-chrome", "a browser's stored logins"),
    (".config/chromium", "a browser's stored logins"),
    ("Library/Keychains", "a keychain"),
    ("Library/Application Support/Google/Chrome", "a browser's stored logins"),
    (".pgpass", "database passwords"),
    (".claude/.credentials.json", "credentials of an agent"),
    (".codex/auth.json", "credentials of an agent"),
];

/// Files that are ordinary elsewhere.
static HOME_ONLY: &[(&str, &str)] = &[
    (".aws", "AWS credentials"),
    (".npmrc", "package registry tokens"),
    (".pypirc", "package registry tokens"),
    (".cargo/credentials.toml", "package registry tokens"),
    (".cargo/credentials", "package registry tokens"),
    (".gem/credentials", "package registry tokens"),
    (".m2/settings.xml", "package registry tokens"),
    (".my.cnf", "database passwords"),
    (".bash_history", "shell history"),
    (".zsh_history", "shell history"),
];

static SYSTEM_STORES: &[(&str, &str)] = &[
    ("/etc/shadow", "password hashes"),
    ("/etc/gshadow", "password hashes"),
    ("/etc/master.passwd", "password hashes"),
    ("/etc/sudoers", "rights of users"),
    ("/var/run/secrets", "mounted secrets"),
    ("/run/secrets", "mounted secrets"),
    ("/etc/kubernetes/admin.conf", "Kubernetes credentials"),
    ("/etc/ssh/ssh_host_", "host keys"),
];

#[cfg(test)]
mod tests {
    use super::credential_store;

    #[test]
    fn knows_credential_stores_however_written() {
        for path in [
            "~/.ssh/id_rsa",
            "$HOME/.aws/credentials",
            "/home/me/.netrc",
            "/root/.kube/config",
            ".ssh/id_ed25519",
            "~root/.gnupg",
            "/etc/shadow",
            "/proc/1/environ",
            "/proc/self/environ",
            "~//.ssh/./id_rsa",
            "~/.ssh",
            "/etc/ssh/ssh_host_rsa_key",
        ] {
            assert!(credential_store(path).is_some(), "{path}");
        }
        for path in [
            "~/.ssh/id_rsa.pub",
            "~/.ssh/known_hosts",
            ".npmrc",
            "src/.sshx",
            "/etc/passwd",
            "~/.awsome",
            "README.md",
        ] {
            assert!(credential_store(path).is_none(), "{path}");
        }
    }
}
