//! Programs that run other programs: what they would run is what matters.

use super::script::{Command, Word, short_cluster};
use super::{embedded, interpreter, names, quoting};

/// A program whose operands are a command.
struct Wrapper {
    name: &'static str,
    /// Options that take the next word as their value.
    valued: &'static [&'static str],
    /// How many operands come before the command.
    operands: usize,
}

const fn wrapper(name: &'static str, valued: &'static [&'static str], operands: usize) -> Wrapper {
    Wrapper { name, valued, operands }
}

static WRAPPERS: &[Wrapper] = &[
    wrapper("sudo", &["-u", "-g", "-p", "-C", "-h", "-r", "-t", "-T", "-U", "-D", "--user", "--group"], 0),
    wrapper("doas", &["-u", "-C"], 0),
    wrapper("env", &["-u", "--unset", "-C", "--chdir"], 0),
    wrapper("command", &[], 0),
    wrapper("builtin", &[], 0),
    wrapper("exec", &["-a"], 0),
    wrapper("nohup", &[], 0),
    wrapper("nice", &["-n", "--adjustment"], 0),
    wrapper("ionice", &["-c", "-n", "-p"], 0),
    wrapper("time", &["-o", "-f"], 0),
    wrapper("timeout", &["-s", "-k", "--signal", "--kill-after"], 1),
    wrapper("gtimeout", &["-s", "-k"], 1),
    wrapper("stdbuf", &["-i", "-o", "-e"], 0),
    wrapper("setsid", &[], 0),
    wrapper("unbuffer", &[], 0),
    wrapper("chronic", &[], 0),
    wrapper("strace", &["-o", "-e", "-p", "-s", "-u"], 0),
    wrapper("ltrace", &["-o", "-e", "-p"], 0),
    wrapper("proxychains", &["-f"], 0),
    wrapper("proxychains4", &["-f"], 0),
    wrapper("torsocks", &[], 0),
    wrapper("chroot", &[], 1),
    wrapper("unshare", &[], 0),
    wrapper("nsenter", &["-t", "--target"], 0),
    wrapper("busybox", &[], 0),
    wrapper("toybox", &[], 0),
    wrapper("coproc", &[], 0),
    wrapper(
        "xargs",
        &["-I", "-n", "-P", "-L", "-d", "-E", "-s", "-a", "--max-args", "--max-procs", "--arg-file"],
        0,
    ),
];

/// How many wrappers are taken off one command.
const MOST_WRAPPERS: usize = 16;

/// A command, and texts that it would run as scripts.
pub(super) type Unwrapped = (Command, Vec<Word>);

/// The command without its wrappers, and the commands and scripts that it takes as arguments.
pub(super) fn unwrap(mut command: Command) -> Vec<Unwrapped> {
    for _ in 0..MOST_WRAPPERS {
        if let Some(meant) = names::meant_by(command.name())
            && let Some(program) = command.words.first_mut()
        {
            *program = Word { text: meant.to_owned(), ..program.clone() };
        }
        if !take_off(&mut command) {
            break;
        }
    }
    let mut found = Vec::new();
    if command.name() == "find" {
        found.extend(executed_by_find(&command).into_iter().flat_map(unwrap));
    }
    let mut scripts = scripts(&command);
    scripts.extend(embedded::scripts(&command));
    found.insert(0, (command, scripts));
    found
}

/// Takes one wrapper off; false when there is none.
fn take_off(command: &mut Command) -> bool {
    let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == command.name()) else { return false };
    let mut operands = wrapper.operands;
    let mut start = None;
    let mut assignments = Vec::new();
    let mut skip_value = false;
    for (at, word) in command.words.iter().enumerate().skip(1) {
        if skip_value {
            skip_value = false;
            continue;
        }
        if wrapper.name == "command"
            && short_cluster(&word.text).is_some_and(|flags| flags.contains(['v', 'V']))
        {
            return false;
        }
        if let Some(split) = split_string(wrapper.name, word, command.words.get(at + 1)) {
            let rest = command.words.get(at + split.1..).unwrap_or_default().to_vec();
            command.words = split.0.into_iter().chain(rest).collect();
            command.wrappers.push(wrapper.name);
            return true;
        }
        if word.text.starts_with('-') && word.text.len() > 1 {
            skip_value = wrapper.valued.contains(&word.text.as_str());
            continue;
        }
        if matches!(wrapper.name, "env" | "sudo" | "doas")
            && let Some(assignment) = as_assignment(word)
        {
            assignments.push(assignment);
            continue;
        }
        if operands > 0 {
            operands -= 1;
            continue;
        }
        start = Some(at);
        break;
    }
    let Some(start) = start else { return false };
    let replaced = (wrapper.name == "xargs").then(|| replaced_text(command.words.get(..start)));
    command.words.drain(..start);
    command.assignments.extend(assignments);
    command.wrappers.push(wrapper.name);
    match replaced {
        Some(Some(mark)) => command.words.iter_mut().skip(1).for_each(|word| fill_in(word, &mark)),
        Some(None) => command.words.push(Word { text: "$__".to_owned(), ..Word::new(command.span) }),
        None => {}
    }
    true
}

/// What `xargs -I` replaces.
fn replaced_text(options: Option<&[Word]>) -> Option<String> {
    let options = options.unwrap_or_default();
    options.iter().enumerate().find_map(|(at, option)| {
        let text = option.text.as_str();
        let attached = text.strip_prefix("--replace=").or_else(|| text.strip_prefix("-I"));
        match attached {
            Some("") => options.get(at + 1).map(|word| word.text.clone()),
            Some(mark) => Some(mark.to_owned()),
            None => matches!(text, "-i" | "--replace").then(|| "{}".to_owned()),
        }
    })
}

/// What stands for a line of the input is not known.
fn fill_in(word: &mut Word, mark: &str) {
    if let Some(at) = word.text.find(mark).filter(|_| !mark.is_empty()) {
        word.text = word.text.replace(mark, "$__");
        word.literal = word.literal.min(at);
    }
}

/// `env -S "program arguments"`: the words, and how many of the original ones they replace.
fn split_string(wrapper: &str, word: &Word, next: Option<&Word>) -> Option<(Vec<Word>, usize)> {
    if wrapper != "env" {
        return None;
    }
    let (text, used) = match word.text.as_str() {
        "-S" | "--split-string" => (next?.clone(), 2),
        other => {
            let rest = other.strip_prefix("--split-string=").or_else(|| other.strip_prefix("-S"))?;
            (word.tail(other.len() - rest.len()), 1)
        }
    };
    Some((quoting::split(&text.text).into_iter().map(|part| Word::literal(part, text.span)).collect(), used))
}

/// `NAME=value` as an argument.
fn as_assignment(word: &Word) -> Option<(String, Word)> {
    let (name, value) = word.text.split_once('=')?;
    let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    plain.then(|| (name.to_owned(), word.tail(word.text.len() - value.len())))
}

/// The commands after `-exec` and the like.
fn executed_by_find(command: &Command) -> Vec<Command> {
    let mut found: Vec<Command> = Vec::new();
    let mut words: Option<Vec<Word>> = None;
    for word in command.arguments() {
        match (word.text.as_str(), words.as_mut()) {
            ("-exec" | "-execdir" | "-ok" | "-okdir", None) => words = Some(Vec::new()),
            (";" | "+", Some(_)) => {
                found.extend(words.take().map(|words| like(command, words)));
            }
            (_, Some(words)) => words.push(word.clone()),
            (_, None) => {}
        }
    }
    found.extend(words.map(|words| like(command, words)));
    found
}

/// A command in the same place.
fn like(command: &Command, words: Vec<Word>) -> Command {
    let wrappers = vec!["find"];
    Command { words, place: command.place, span: command.span, wrappers, ..Command::default() }
}

/// The texts that a command would run as shell scripts.
fn scripts(command: &Command) -> Vec<Word> {
    let name = command.name();
    if interpreter::is_shell(name) {
        return interpreter::inline_code(command)
            .or_else(|| interpreter::code_on_input(command))
            .into_iter()
            .collect();
    }
    match name {
        "eval" => joined(command.arguments()).into_iter().collect(),
        "su" | "runuser" | "script" | "flock" => command.value(&["-c", "--command"]).into_iter().collect(),
        "trap" => {
            command.operands().next().filter(|word| word.text.contains(' ')).cloned().into_iter().collect()
        }
        "ssh" => joined(after_host(command)).into_iter().collect(),
        "watch" | "parallel" | "entr" | "nodemon" => joined(after_options(command)).into_iter().collect(),
        "nix-shell" => command.value(&["--run", "--command"]).into_iter().collect(),
        _ if interpreter::is_interpreter(name) => interpreter::shell_commands_in_code(command),
        _ => Vec::new(),
    }
}

/// Whether what is handed to a shell may be a piece of a command: other languages put it together from strings.
pub(super) fn hands_over_pieces(name: &str) -> bool {
    !interpreter::is_shell(name)
        && !matches!(name, "eval" | "su" | "runuser" | "script" | "flock" | "trap" | "ssh" | "alias")
}

/// The operands of `ssh` after the host.
fn after_host(command: &Command) -> &[Word] {
    const VALUED: &str = "BbcDEeFIiJLlmOopQRSWw";
    let mut skip = false;
    for (at, word) in command.words.iter().enumerate().skip(1) {
        if skip {
            skip = false;
        } else if let Some(cluster) = short_cluster(&word.text) {
            skip = cluster.len() == 1 && VALUED.contains(cluster);
        } else {
            return command.words.get(at + 1..).unwrap_or_default();
        }
    }
    &[]
}

/// Everything from the first operand on; a number after an option counts as its value.
fn after_options(command: &Command) -> &[Word] {
    let is_value =
        |text: &str| text.starts_with('-') || text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let start = command.words.iter().skip(1).position(|word| !is_value(&word.text));
    start.and_then(|start| command.words.get(start + 1..)).unwrap_or_default()
}

/// Words as one text, as `eval` joins them.
pub(super) fn joined(words: &[Word]) -> Option<Word> {
    let (first, rest) = words.split_first()?;
    let mut whole = first.clone();
    for word in rest {
        let complete = whole.is_complete();
        whole.text.push(' ');
        if complete {
            whole.literal = whole.text.len() + word.literal;
        }
        whole.text.push_str(&word.text);
        whole.inner.extend(&word.inner);
        whole.unknown.extend(word.unknown.iter().cloned());
    }
    Some(whole)
}
