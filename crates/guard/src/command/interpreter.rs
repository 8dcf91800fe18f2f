//! Programs that run text as code, and where they take it from.

use super::script::{Command, Word, short_cluster};

static SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh", "ash", "mksh", "rbash", "fish", "csh", "tcsh"];

static OTHERS: &[&str] = &[
    "python",
    "python2",
    "python3",
    "pypy",
    "pypy3",
    "perl",
    "ruby",
    "node",
    "nodejs",
    "deno",
    "bun",
    "php",
    "lua",
    "luajit",
    "Rscript",
    "tclsh",
    "osascript",
    "pwsh",
    "powershell",
    "groovy",
    "jshell",
    "ipython",
];

/// Whether it is a shell.
pub(super) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

/// Whether it runs code in some language.
pub(super) fn is_interpreter(name: &str) -> bool {
    is_shell(name) || OTHERS.contains(&name) || is_versioned(name)
}

/// `python3.12`, `ruby2.7` and so on.
fn is_versioned(name: &str) -> bool {
    let plain = name.trim_end_matches(|character: char| character.is_ascii_digit() || character == '.');
    plain.len() < name.len() && (OTHERS.contains(&plain) || SHELLS.contains(&plain))
}

/// Options with which code is given as an argument.
fn takes_code(name: &str, option: &str) -> bool {
    if is_shell(name) || name.starts_with("py") || name.starts_with("ipython") {
        return short_cluster(option).is_some_and(|cluster| cluster.contains('c') && !cluster.contains('o'));
    }
    if name.starts_with("perl") || name.starts_with("ruby") {
        return short_cluster(option).is_some_and(|cluster| cluster.ends_with(['e', 'E']));
    }
    matches!(
        option,
        "-e" | "--eval"
            | "-p"
            | "--print"
            | "-r"
            | "eval"
            | "-Command"
            | "-c"
            | "-EncodedCommand"
            | "-enc"
            | "-command"
    )
}

/// The code given as an argument, as with `sh -c` and `perl -e`.
pub(super) fn inline_code(command: &Command) -> Option<Word> {
    let name = command.name();
    let mut arguments = command.arguments().iter();
    while let Some(argument) = arguments.next() {
        if takes_code(name, &argument.text) {
            // `bash -c -x 'code'`: further options may come first.
            return arguments.find(|word| !word.text.starts_with('-') || word.text.len() > 20).cloned();
        }
        if !argument.text.starts_with(['-', '+']) {
            return None;
        }
    }
    None
}

/// The file whose code is run; none when the code comes from elsewhere.
pub(super) fn script_file(command: &Command) -> Option<&Word> {
    let name = command.name();
    if matches!(name, "source" | ".") {
        return command.arguments().first();
    }
    if !is_interpreter(name) {
        return None;
    }
    let mut skip = false;
    for argument in command.arguments() {
        let text = argument.text.as_str();
        if skip {
            skip = false;
        } else if takes_code(name, text) || text == "-m" || text == "-s" && is_shell(name) {
            return None;
        } else if matches!(text, "-O" | "-o" | "+o" | "--rcfile" | "--init-file" | "-W" | "-X") {
            skip = true;
        } else if !text.starts_with(['-', '+']) {
            return (!is_input(text)).then_some(argument);
        }
    }
    None
}

/// Names under which standard input can be opened.
fn is_input(text: &str) -> bool {
    matches!(text, "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
}

/// Whether code comes from standard input.
pub(super) fn runs_input(command: &Command) -> bool {
    let name = command.name();
    if matches!(name, "source" | ".") {
        return command.arguments().first().is_some_and(|file| is_input(&file.text));
    }
    if command.wrappers.contains(&"xargs") || !is_interpreter(name) {
        return false;
    }
    if matches!(name, "deno" | "bun") && !command.has(&["-"]) {
        return false;
    }
    let elsewhere = |word: &Word| {
        takes_code(name, &word.text) || matches!(word.text.as_str(), "-m" | "--version" | "--help")
    };
    let filters = |word: &Word| {
        matches!(name, "perl" | "ruby")
            && short_cluster(&word.text).is_some_and(|cluster| cluster.contains(['n', 'p', 'e']))
    };
    let reads_anyway = is_shell(name) && command.arguments().iter().any(|word| word.text == "-s");
    reads_anyway
        || (script_file(command).is_none()
            && !command.arguments().iter().any(|word| elsewhere(word) || filters(word)))
}

/// The here-document or here-string that is run as code.
pub(super) fn code_on_input(command: &Command) -> Option<Word> {
    command.input.clone().filter(|_| runs_input(command))
}

/// The code that is part of the command, in whatever language.
pub(super) fn code(command: &Command) -> Option<Word> {
    inline_code(command).or_else(|| code_on_input(command))
}

/// Calls that hand their first string to a shell.
static SHELL_CALLS: &[&str] = &[
    "os.system(",
    "os.popen(",
    "subprocess.run(",
    "subprocess.call(",
    "subprocess.Popen(",
    "subprocess.check_output(",
    "subprocess.check_call(",
    "subprocess.getoutput(",
    "commands.getoutput(",
    "execSync(",
    "child_process.exec(",
    "spawnSync(",
    "spawn(",
    "system(",
    "popen(",
    "shell_exec(",
    "passthru(",
    "pty.spawn(",
    "IO.popen(",
    "Kernel.exec(",
    "os.execute(",
    "io.popen(",
    "qx(",
];

/// The same, without parentheses, in Perl and Ruby.
static BARE_SHELL_CALLS: &[&str] = &["system ", "exec "];

/// How many such calls are read.
const MOST_CALLS: usize = 16;

/// The shell commands in strings that code hands to a shell.
pub(super) fn shell_commands_in_code(command: &Command) -> Vec<Word> {
    let Some(code) = code(command) else { return Vec::new() };
    let other = command.name().starts_with(['p', 'r']) && !command.name().starts_with("py");
    let mut found = calls(&code, if other { BARE_SHELL_CALLS } else { &[] });
    if other {
        found.extend(backquoted(&code));
    }
    found
}

/// The strings that code hands to a shell by calls with parentheses.
pub(super) fn called_with_strings(code: &Word) -> Vec<Word> {
    calls(code, &[])
}

fn calls(code: &Word, bare: &[&str]) -> Vec<Word> {
    let mut found: Vec<Word> = Vec::new();
    let mut from = 0;
    while found.len() < MOST_CALLS {
        let rest = code.text.get(from..).unwrap_or_default();
        let next =
            SHELL_CALLS.iter().chain(bare).filter_map(|call| Some((rest.find(call)?, call.len()))).min();
        let Some((at, length)) = next else { break };
        let arguments = rest.get(at + length..).unwrap_or_default();
        from += at + length;
        found.extend(first_strings(arguments).map(|text| Word::literal(text, code.span)));
    }
    found
}

/// Perl, Ruby and PHP run what stands in backquotes.
fn backquoted(code: &Word) -> Vec<Word> {
    let parts = code.text.split('`').skip(1).step_by(2).take(MOST_CALLS);
    parts.map(|text| Word::literal(text, code.span)).collect()
}

/// The string that a list of arguments starts with, or the strings of a list such as `["sh", "-c", "…"]`.
fn first_strings(arguments: &str) -> Option<String> {
    let trimmed = arguments.trim_start();
    if let Some(list) = trimmed.strip_prefix('[') {
        let (list, _) = list.split_once(']')?;
        let words: Vec<String> =
            strings(list).map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
        return (!words.is_empty()).then(|| words.join(" "));
    }
    let prefix = trimmed.trim_start_matches(['f', 'r', 'b', 'u']);
    prefix.starts_with(['"', '\'', '`']).then(|| strings(prefix).next().map(str::to_owned))?
}

/// The quoted strings in a piece of code.
pub(super) fn strings(code: &str) -> impl Iterator<Item = &str> {
    let mut rest = code;
    std::iter::from_fn(move || {
        let open = rest.find(['"', '\'', '`'])?;
        let quoted = rest.get(open..)?;
        let quote = ["\"\"\"", "'''"].iter().find(|quote| quoted.starts_with(**quote));
        let quote = quote.copied().or_else(|| quoted.get(..1))?;
        let inside = quoted.get(quote.len()..)?;
        let close = closing(inside, quote)?;
        rest = inside.get(close + quote.len()..)?;
        inside.get(..close)
    })
}

/// Where the first `quote` stands that is not escaped.
pub(super) fn closing(text: &str, quote: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes.get(at..)? {
            [b'\\', ..] => at += 2,
            rest if rest.starts_with(quote.as_bytes()) => return Some(at),
            _ => at += 1,
        }
    }
    None
}
