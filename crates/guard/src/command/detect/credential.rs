//! Reading of keys and passwords.

use super::{Found, View};
use crate::command::paths::{credential_store, is_private_file, is_whole_home};
use crate::command::rules::CREDENTIAL_READ;
use crate::command::script::{Command, Flow, Script, Word};
use crate::command::{interpreter, wrapper};
use crate::severity::Severity;

/// Programs that copy, print or change what is in the files among their arguments.
static READERS: &[&str] = &[
    "cat",
    "less",
    "more",
    "most",
    "head",
    "tail",
    "tac",
    "nl",
    "bat",
    "batcat",
    "xxd",
    "od",
    "hexdump",
    "hd",
    "strings",
    "base64",
    "base32",
    "basenc",
    "cp",
    "mv",
    "scp",
    "rsync",
    "sftp",
    "rclone",
    "tar",
    "zip",
    "7z",
    "gzip",
    "bzip2",
    "xz",
    "zstd",
    "dd",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "ag",
    "ack",
    "awk",
    "gawk",
    "mawk",
    "sed",
    "sort",
    "uniq",
    "cut",
    "tr",
    "jq",
    "yq",
    "vim",
    "vi",
    "view",
    "nano",
    "emacs",
    "xclip",
    "xsel",
    "pbcopy",
    "diff",
    "cmp",
    "wc",
    "source",
    ".",
    "openssl",
    "curl",
    "wget",
    "install",
    "ln",
    "paste",
    "column",
    "fold",
    "rev",
    "cpio",
    "ar",
    "pax",
    "sqlite3",
    "md5sum",
    "sha256sum",
    "mapfile",
    "readarray",
    "shred",
    "split",
    "uuencode",
    "mail",
    "mutt",
    "git",
    "gpg",
];

/// Programs whose first operand is a pattern or a program.
static FIRST_IS_PROGRAM: &[&str] =
    &["grep", "egrep", "fgrep", "rg", "ag", "ack", "awk", "gawk", "mawk", "sed", "jq", "yq", "tr"];

pub(super) fn look(view: View<'_>, found: &mut Found<'_>) {
    if let Some(what) = read_by(view.command) {
        let severity = if what == "shell history" { Severity::Medium } else { CREDENTIAL_READ.severity };
        found.report_as(&CREDENTIAL_READ, severity, format!("reads {what}"));
    } else if let Some(what) = asked_for(view.command) {
        found.report_as(&CREDENTIAL_READ, Severity::Medium, format!("asks for {what}"));
    }
}

/// What credentials a command reads.
pub(super) fn read_by(command: &Command) -> Option<&'static str> {
    let redirected =
        command.redirects.iter().filter(|redirect| matches!(redirect.flow, Flow::In | Flow::Both));
    if let Some(what) = redirected.filter_map(|redirect| credential_store(&redirect.target.text)).next() {
        return Some(what);
    }
    let name = command.name();
    if interpreter::is_interpreter(name) {
        let code = interpreter::code(command).filter(|_| !interpreter::is_shell(name))?;
        return interpreter::strings(&code.text).find_map(credential_store);
    }
    if !READERS.contains(&name) || (name == "git" && !command.has(&["add", "hash-object"])) {
        return None;
    }
    let skip = usize::from(FIRST_IS_PROGRAM.contains(&name) && !command.has(&["-e", "-f"]));
    let operands = command.operands().skip(skip).map(|word| word.text.as_str());
    let values = command.arguments().iter().filter_map(attached_file);
    operands.chain(values).find_map(credential_store)
}

/// The file in `@file`, `name=@file`, `if=file` and `--option=file`.
fn attached_file(word: &Word) -> Option<&str> {
    if let Some((_, file)) = word.text.split_once('@') {
        return Some(file.split(';').next().unwrap_or(file));
    }
    word.text.split_once('=').map(|(_, file)| file)
}

/// Programs that hand out credentials.
fn asked_for(command: &Command) -> Option<&'static str> {
    let all = wrapper::joined(command.words.get(..4.min(command.words.len()))?)?.text;
    let asked = |start: &str| all.starts_with(start);
    ASKED.iter().find(|(start, _)| asked(start)).map(|(_, what)| *what)
}

static ASKED: &[(&str, &str)] = &[
    ("security find-generic-password", "a password from the keychain"),
    ("security find-internet-password", "a password from the keychain"),
    ("security dump-keychain", "the keychain"),
    ("secret-tool lookup", "a password from the keyring"),
    ("secret-tool search", "passwords from the keyring"),
    ("gpg --export-secret-keys", "secret keys"),
    ("gpg --export-secret-key", "secret keys"),
    ("aws configure export-credentials", "AWS credentials"),
    ("aws configure get aws_secret_access_key", "AWS credentials"),
    ("gcloud auth print-access-token", "an access token"),
    ("gcloud auth print-identity-token", "an access token"),
    ("az account get-access-token", "an access token"),
    ("gh auth token", "a GitHub token"),
    ("git credential fill", "git credentials"),
    ("op read", "a stored secret"),
    ("pass show", "a stored password"),
    ("vault read", "a stored secret"),
    ("vault kv get", "a stored secret"),
    ("kubectl get secret", "cluster secrets"),
];

/// Whether commands read credentials or the whole environment.
pub(super) fn any_secret<'a>(mut commands: impl Iterator<Item = &'a Command>) -> Option<&'static str> {
    commands.find_map(|command| {
        if is_environment(command) {
            return Some("the environment");
        }
        if command.name() == "history" || (command.name() == "fc" && command.has_flag('l')) {
            return Some("shell history");
        }
        read_by(command).or_else(|| asked_for(command)).or_else(|| gathered(command))
    })
}

/// Files that are not to leave, although reading them is everyday work.
fn gathered(command: &Command) -> Option<&'static str> {
    if !READERS.contains(&command.name()) {
        return None;
    }
    let archives = matches!(command.name(), "tar" | "zip" | "7z" | "cpio" | "pax");
    if archives && command.operands().any(|word| is_whole_home(&word.text)) {
        return Some("a whole home directory");
    }
    command.operands().any(|word| is_private_file(&word.text)).then_some("a file with secrets")
}

/// Whether a command prints all variables.
fn is_environment(command: &Command) -> bool {
    match command.name() {
        "env" | "printenv" => command.operands().next().is_none(),
        "set" => command.arguments().is_empty(),
        "export" | "declare" | "typeset" => command.words.len() == 2 && command.has(&["-p", "-x", "-px"]),
        "compgen" => command.has(&["-v", "-e"]),
        _ => false,
    }
}

/// What credentials are in the output of the commands that a word is made from.
pub(super) fn secret_in(script: &Script, word: &Word) -> Option<&'static str> {
    any_secret(script.producing(word))
}
