//! Shell commands in the options, programs and variables of programs that are no shells.

use super::interpreter;
use super::script::{Command, Word};
use super::sed;

/// How many are read per command.
const MOST: usize = 16;

/// The commands that a program would hand to a shell.
pub(super) fn scripts(command: &Command) -> Vec<Word> {
    let mut found = match command.name() {
        "git" => git(command),
        "tar" | "gtar" | "bsdtar" => tar(command),
        "vim" | "vi" | "nvim" | "ex" | "view" | "gvim" => editor(command),
        "awk" | "gawk" | "mawk" | "nawk" => {
            command.operands().chain(&command.values(&["-e", "--source"])).flat_map(awk).collect()
        }
        "sed" | "gsed" => sed_programs(command).iter().flat_map(sed::commands).collect(),
        "alias" => command.operands().filter_map(after_equals).collect(),
        "rsync" => command.values(&["-e", "--rsh"]),
        "ssh" | "scp" | "sftp" => ssh_options(command),
        "make" | "gmake" | "just" => command.operands().filter_map(make_shell).collect(),
        _ => Vec::new(),
    };
    let by_variable = command.assignments.iter().filter(|(name, _)| RUN_VARIABLES.contains(&name.as_str()));
    found.extend(by_variable.map(|(_, value)| value.clone()));
    found.retain(|script| !script.text.is_empty());
    found.truncate(MOST);
    found
}

/// Variables whose value is run by some program.
static RUN_VARIABLES: &[&str] = &[
    "BROWSER",
    "EDITOR",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "MANPAGER",
    "PAGER",
    "PROMPT_COMMAND",
    "RSYNC_RSH",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "VISUAL",
];

/// What follows the first `=`.
fn after_equals(word: &Word) -> Option<Word> {
    let (name, _) = word.text.split_once('=')?;
    Some(word.tail(name.len() + 1))
}

/// Settings of git whose value is run, in lower case.
static RUN_SETTINGS: &[&str] = &[
    "core.askpass",
    "core.editor",
    "core.fsmonitor",
    "core.gitproxy",
    "core.pager",
    "core.sshcommand",
    "diff.external",
    "gpg.program",
    "sequence.editor",
];

/// Last parts of settings of git whose value is run.
static RUN_PARTS: &[&str] = &[".clean", ".smudge", ".process", ".textconv", ".driver", ".cmd", ".command"];

fn git(command: &Command) -> Vec<Word> {
    let mut found: Vec<Word> = command.values(&["-c", "--config"]).iter().filter_map(git_setting).collect();
    // `git config alias.x '!…'`
    found.extend(command.operands().filter(|word| word.text.starts_with('!')).map(|word| word.tail(1)));
    found.extend(command.values(&[
        "--upload-pack",
        "--receive-pack",
        "--exec",
        "--tree-filter",
        "--index-filter",
        "--env-filter",
        "--msg-filter",
        "--extcmd",
    ]));
    let words: Vec<&str> = command.operands().map(|word| word.text.as_str()).collect();
    let runs = words.iter().position(|word| matches!(*word, "foreach" | "run"));
    let inside = words.first().is_some_and(|verb| matches!(*verb, "submodule" | "bisect"));
    if let Some(at) = runs.filter(|_| inside) {
        let rest: Vec<Word> = command.operands().skip(at + 1).cloned().collect();
        found.extend(super::wrapper::joined(&rest));
    }
    if words.first() == Some(&"rebase") {
        found.extend(command.values(&["-x"]));
    }
    found
}

/// The command in `-c name=value`.
fn git_setting(setting: &Word) -> Option<Word> {
    let (name, _) = setting.text.split_once('=')?;
    let value = setting.tail(name.len() + 1);
    if let Some(rest) = value.text.strip_prefix('!') {
        return Some(value.tail(value.text.len() - rest.len()));
    }
    let name = name.to_ascii_lowercase();
    let runs = RUN_SETTINGS.contains(&name.as_str()) || RUN_PARTS.iter().any(|part| name.ends_with(part));
    // `core.fsmonitor=false`
    (runs && !matches!(value.text.as_str(), "true" | "false")).then_some(value)
}

fn tar(command: &Command) -> Vec<Word> {
    let mut found = command.values(&[
        "--to-command",
        "--use-compress-program",
        "-I",
        "--info-script",
        "--new-volume-script",
        "--rsh-command",
    ]);
    for action in command.values(&["--checkpoint-action"]) {
        if action.text.starts_with("exec=") {
            found.push(action.tail("exec=".len()));
        }
    }
    found
}

/// `vim -c ':!command'`, `vim +'call system("command")'`
fn editor(command: &Command) -> Vec<Word> {
    let mut orders = command.values(&["-c", "--cmd", "-S"]);
    let plus = command.arguments().iter().filter(|word| word.text.starts_with('+'));
    orders.extend(plus.map(|word| word.tail(1)));
    let mut found = Vec::new();
    for order in orders {
        let start = order.text.len()
            - order.text.trim_start_matches([':', ' ', '%', 's', 'i', 'l', 'e', 'n', 't']).len();
        let shell = order.tail(start);
        if shell.text.starts_with('!') {
            found.push(shell.tail(1));
        }
        found.extend(interpreter::called_with_strings(&order));
    }
    found
}

fn ssh_options(command: &Command) -> Vec<Word> {
    let starts = ["proxycommand=", "localcommand=", "knownhostscommand=", "proxycommand ", "localcommand "];
    let is_command = |word: &&Word| {
        let lower = word.text.to_ascii_lowercase();
        starts.iter().any(|start| lower.starts_with(start))
    };
    let options = command.values(&["-o"]);
    let found = options.iter().filter(is_command);
    found
        .filter_map(|word| Some(word.tail(word.text.find(['=', ' '])? + 1)))
        .filter(|word| word.text != "none")
        .collect()
}

/// `make SHELL='…'`: every line of the recipes goes through it. A plain shell is an ordinary choice.
fn make_shell(word: &Word) -> Option<Word> {
    word.text.strip_prefix("SHELL=").or_else(|| word.text.strip_prefix("SHELL:="))?;
    after_equals(word).filter(|value| value.text.contains(' '))
}

/// The programs of `sed`.
fn sed_programs(command: &Command) -> Vec<Word> {
    let given = command.values(&["-e", "--expression"]);
    if given.is_empty() { command.operands().take(1).cloned().collect() } else { given }
}

/// The strings that an awk program hands to a shell: `system("…")`, `"…" | getline`, `print | "…"`.
fn awk(program: &Word) -> Vec<Word> {
    let text = program.text.as_str();
    if !text.contains("system") && !text.contains('|') {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(open) = text.get(from..).and_then(|rest| rest.find('"')).map(|at| from + at) {
        let inside = text.get(open + 1..).unwrap_or_default();
        let Some(length) = interpreter::closing(inside, "\"") else { break };
        let before = text.get(from..open).unwrap_or_default().trim_end();
        let after = inside.get(length + 1..).unwrap_or_default().trim_start();
        let called = before.strip_suffix('(').is_some_and(|call| call.trim_end().ends_with("system"));
        let piped = before.ends_with("|&") || (before.ends_with('|') && !before.ends_with("||"));
        let pipes = after.starts_with('|') && !after.starts_with("||");
        if called || piped || pipes {
            let mut plain = String::new();
            super::quoting::ansi_c(inside.get(..length).unwrap_or_default(), &mut plain);
            found.push(Word::literal(plain, program.span));
        }
        from = open + length + 2;
    }
    found
}
