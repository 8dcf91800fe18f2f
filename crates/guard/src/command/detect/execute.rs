//! Code that nobody has seen: downloaded or decoded, then run.

use super::{Found, View};
use crate::command::interpreter;
use crate::command::names::is_downloader;
use crate::command::paths::{plain, written_by_option};
use crate::command::rules::{
    COMPUTED_COMMAND, DECODED_EXECUTED, DOWNLOAD_EXECUTED, DOWNLOADED_FILE_EXECUTED,
};
use crate::command::script::{Command, Flow, Script, Word, base_name};
use crate::command::wrapper;
use crate::finding::Finding;
use crate::scanner::FindingList;

pub(super) fn look(view: View<'_>, found: &mut Found<'_>) {
    let View { script, command } = view;
    if runs_piped(command) || runs_read_lines(view) {
        report_producers(script, script.upstream(command), "standard input", found);
    }
    for word in code_words(command) {
        report_producers(script, script.producing(&word), "text", found);
    }
    if hides_code(command) {
        found.report(&DECODED_EXECUTED, format!("`{}` runs code that it decodes itself", command.name()));
    }
    computed(view, found);
}

/// Whether what is piped in is run.
fn runs_piped(command: &Command) -> bool {
    let by_xargs = command.wrappers.contains(&"xargs")
        && interpreter::is_shell(command.name())
        && interpreter::inline_code(command).is_none_or(|code| {
            let script = code.text.trim_start();
            script.starts_with("{}") || script.starts_with("$__") || script.starts_with('%')
        });
    by_xargs || interpreter::runs_input(command)
}

/// `… | while read line; do $line; done`: what is piped in is run by way of a variable.
fn runs_read_lines(view: View<'_>) -> bool {
    let View { script, command } = view;
    let word = match command.name() {
        "eval" => command.arguments().first(),
        _ => command.words.first(),
    };
    let Some(variable) = word.filter(|word| word.literal == 0).and_then(|word| word.unknown.first()) else {
        return false;
    };
    let reads =
        |other: &Command| other.name() == "read" && other.operands().any(|name| name.text == *variable);
    script.upstream(command).next().is_some() && script.commands.iter().any(reads)
}

/// The commands, and those in the functions that they call.
fn with_called<'a>(
    script: &'a Script,
    commands: impl Iterator<Item = &'a Command>,
) -> impl Iterator<Item = &'a Command> {
    commands.flat_map(|command| {
        let body = if command.name().is_empty() { &[] } else { script.function(command.name()) };
        std::iter::once(command).chain(body)
    })
}

fn report_producers<'a>(
    script: &'a Script,
    producers: impl Iterator<Item = &'a Command>,
    from: &str,
    found: &mut Found<'_>,
) {
    for producer in with_called(script, producers) {
        if is_downloader(producer.name()) {
            let detail = format!("what `{}` fetches is run as {from} of an interpreter", producer.name());
            found.report(&DOWNLOAD_EXECUTED, detail);
        } else if decodes(producer) {
            let detail = format!("what `{}` decodes is run as {from} of an interpreter", producer.name());
            found.report(&DECODED_EXECUTED, detail);
        }
    }
}

/// The words whose text a command runs: `-c` code, the arguments of `eval`, a file that is no file, the command itself.
fn code_words(command: &Command) -> Vec<Word> {
    let name = command.name();
    let mut found = Vec::new();
    if interpreter::is_interpreter(name) || matches!(name, "source" | ".") {
        found.extend(interpreter::code(command));
        found.extend(interpreter::script_file(command).cloned());
        let inputs = command.redirects.iter().filter(|redirect| redirect.flow == Flow::In);
        found.extend(
            inputs.map(|redirect| redirect.target.clone()).filter(|_| interpreter::runs_input(command)),
        );
    }
    match name {
        "eval" | "trap" => found.extend(wrapper::joined(command.arguments())),
        "su" | "runuser" | "ssh" => found.extend(command.arguments().iter().cloned()),
        _ => {}
    }
    found.extend(command.words.first().filter(|word| !word.inner.is_empty()).cloned());
    found
}

/// Whether a program turns unreadable text into readable text.
fn decodes(command: &Command) -> bool {
    let decode = || command.has_flag('d') || command.has_flag('D') || command.has(&["--decode"]);
    match command.name() {
        "base64" | "base32" | "basenc" | "gbase64" | "uudecode" => decode() || command.name() == "uudecode",
        "xxd" => command.has_flag('r') || command.has(&["-r", "-revert"]),
        "openssl" => command.has(&["-d"]) && command.has(&["enc", "base64", "aes-256-cbc", "rsautl", "-a"]),
        "gzip" | "bzip2" | "xz" | "zstd" | "lz4" => decode() || command.has(&["--decompress"]),
        "gunzip" | "zcat" | "bzcat" | "bunzip2" | "xzcat" | "unxz" | "zstdcat" | "rev" | "gpg"
        | "uncompress" => true,
        "tr" => swaps_letters(command),
        "printf" | "echo" => command.arguments().iter().any(|word| is_escaped(&word.text)),
        "python" | "python3" | "perl" | "ruby" | "node" | "php" => interpreter::code(command)
            .is_some_and(|code| DECODERS.iter().any(|decoder| code.text.contains(decoder))),
        _ => false,
    }
}

/// Whether `tr` puts letters in place of others. Changing case, line ends or single signs hides nothing.
fn swaps_letters(command: &Command) -> bool {
    let cases = ["a-z", "A-Z", "[a-z]", "[A-Z]", "[:lower:]", "[:upper:]"];
    let mut sets = command.operands().map(|word| word.text.as_str());
    let (Some(from), Some(to), None) = (sets.next(), sets.next(), sets.next()) else { return false };
    let case_only = cases.contains(&from) && cases.contains(&to);
    !command.has_flag('d') && from.len() >= 3 && to.len() >= 3 && !case_only
}

/// Whether text is mostly numeric escapes.
fn is_escaped(text: &str) -> bool {
    text.matches("\\x").count() >= 4 || text.matches("\\u").count() >= 4 || text.matches("\\1").count() >= 4
}

/// Names of decoders in other languages.
static DECODERS: &[&str] = &[
    "b64decode",
    "base64 -d",
    "decode64",
    "base64_decode",
    "decode_base64",
    "fromhex",
    "unhexlify",
    "'base64'",
    "\"base64\"",
    "atob(",
    "gzinflate",
    "zlib.decompress",
    "marshal.loads",
    "unpack(",
    "codecs.decode",
    "rot13",
];

/// Whether code in another language decodes and runs text.
fn hides_code(command: &Command) -> bool {
    if matches!(command.name(), "pwsh" | "powershell") {
        return command.arguments().iter().any(|word| {
            let option = word.text.to_ascii_lowercase();
            option.starts_with("-enc") || option == "-e" || option == "-ec"
        });
    }
    if !interpreter::is_interpreter(command.name()) || interpreter::is_shell(command.name()) {
        return false;
    }
    let Some(code) = interpreter::code(command) else { return false };
    let runs = ["exec(", "eval(", "eval ", "__import__(", "Function(", "system(", "assert("];
    DECODERS.iter().any(|decoder| code.text.contains(decoder))
        && runs.iter().any(|run| code.text.contains(run))
}

/// Programs that print settings for the shell that is to run them.
static ENVIRONMENT_TOOLS: &[&str] = &[
    "ssh-agent",
    "direnv",
    "brew",
    "pyenv",
    "rbenv",
    "nodenv",
    "goenv",
    "jenv",
    "conda",
    "mamba",
    "micromamba",
    "starship",
    "zoxide",
    "opam",
    "dircolors",
    "fnm",
    "mise",
    "asdf",
    "minikube",
    "docker-machine",
    "keychain",
    "luarocks",
    "perl",
    "poetry",
    "pip",
    "register-python-argcomplete",
    "guix",
    "nix",
    "which",
    "command",
    "type",
    "realpath",
    "readlink",
    "mktemp",
    "printf",
    "echo",
    "cat",
    "dirname",
    "basename",
    "pwd",
    "git",
    "npm",
    "yarn",
    "kubectl",
    "rustup",
    "resize",
    "tput",
    "locale",
    "go",
    "node",
];

fn computed(view: View<'_>, found: &mut Found<'_>) {
    let View { script, command } = view;
    let words = match command.name() {
        "eval" => wrapper::joined(command.arguments()),
        _ => command.words.first().filter(|word| base_name(&word.text).contains('$')).cloned(),
    };
    if runs_piped(command)
        && script.upstream(command).next().is_some_and(|before| before.name().starts_with('$'))
    {
        found.report(&COMPUTED_COMMAND, "runs the output of a program that is not known");
    }
    let Some(word) = words else { return };
    let known = |command: &Command| command.words.is_empty() || ENVIRONMENT_TOOLS.contains(&command.name());
    if !word.inner.is_empty() && !script.producing(&word).all(known) {
        found.report(&COMPUTED_COMMAND, "runs the output of a command");
    }
}

/// Files that are downloaded, then run.
pub(super) fn downloaded_files(script: &Script, list: &mut FindingList) {
    let mut downloaded: Vec<String> = Vec::new();
    for command in &script.commands {
        if let Some(file) = executed_file(command)
            && downloaded.contains(&file)
        {
            list.push(Finding::new(
                &DOWNLOADED_FILE_EXECUTED,
                command.span,
                format!("runs `{file}` right after downloading it"),
            ));
        }
        if is_downloader(command.name()) || command.name() == "git" {
            downloaded.extend(stored_file(script, command));
        }
        if matches!(command.name(), "mv" | "cp") {
            let operands: Vec<String> =
                command.operands().map(|word| plain(&word.text).into_owned()).collect();
            if let [from, to] = operands.as_slice()
                && downloaded.contains(from)
            {
                downloaded.push(to.clone());
            }
        }
    }
}

/// The file that a command runs.
fn executed_file(command: &Command) -> Option<String> {
    if let Some(file) = interpreter::script_file(command) {
        return Some(plain(&file.text).into_owned());
    }
    let input = command.redirects.iter().find(|redirect| redirect.flow == Flow::In);
    if let Some(input) = input.filter(|_| interpreter::runs_input(command)) {
        return Some(plain(&input.target.text).into_owned());
    }
    let program = command.words.first()?;
    program.text.contains('/').then(|| plain(&program.text).into_owned())
}

/// The file that a download is stored in.
fn stored_file(script: &Script, command: &Command) -> Option<String> {
    if command.name() == "git" {
        return None;
    }
    let named = written_by_option(command).filter(|word| word.text != "-");
    let redirected = || {
        command
            .redirects
            .iter()
            .find(|redirect| redirect.flow != Flow::In)
            .map(|redirect| redirect.target.clone())
    };
    let teed = || {
        script
            .downstream(command)
            .find(|next| next.name() == "tee")
            .and_then(|tee| tee.operands().next().cloned())
    };
    if let Some(word) = named.or_else(redirected).or_else(teed) {
        return Some(plain(&word.text).into_owned());
    }
    let by_address = match command.name() {
        "wget" | "wget2" | "aria2c" | "axel" => true,
        "curl" => command.has_flag('O') || command.has(&["--remote-name"]),
        _ => false,
    };
    let address = crate::command::request::targets(command).into_iter().next().filter(|_| by_address)?;
    let path = address.text.split(['?', '#']).next().unwrap_or_default();
    Some(base_name(path).to_owned()).filter(|name| !name.is_empty())
}
