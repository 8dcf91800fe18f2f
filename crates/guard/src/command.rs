//! What a shell command would do: commands that attack, leak or destroy, and the addresses a command would connect to.
//!
//! The text is parsed as bash, never matched as a string: quotes, escapes and variables do not hide a program, and the same
//! words as data (echoed, searched for, in a commit message, in a file being written) are not taken for a command.
//! What cannot be parsed is a finding of its own.

mod code;
mod detect;
mod doubt;
mod embedded;
mod expansion;
mod glob;
mod interpreter;
mod mask;
mod names;
mod paths;
mod printed;
mod quoting;
mod reader;
mod request;
mod rules;
mod script;
mod sed;
mod tree;
mod wrapper;

use reader::{Gap, Reader};
pub use rules::{
    ALL as RULES, CI_CHANGED, COMMAND_NOT_UNDERSTOOD, COMMAND_TOO_LONG, COMPUTED_COMMAND, CREDENTIAL_READ,
    CREDENTIAL_UPLOADED, DATA_IN_NAME_LOOKUP, DATA_UPLOADED, DECODED_EXECUTED, DISK_OVERWRITTEN,
    DOWNLOAD_EXECUTED, DOWNLOADED_FILE_EXECUTED, FORK_BOMB, HOST_LOOKALIKE, LOADER_HIJACK, MASS_DELETION,
    PACKAGE_FROM_URL, PACKAGE_LOOKALIKE, PERMISSIONS_WEAKENED, PERSISTENCE, PRIVILEGE, PROTECTION_DISABLED,
    REVERSE_SHELL, SECRET_IN_REQUEST, SHELL_SOCKET, SYSTEM_CHANGED, TRACES_REMOVED,
};

use crate::finding::{Finding, Span};
use crate::scanner::{FindingList, Scan, Scanner, ScannerId};

/// Looks at a text that is a shell command.
#[derive(Clone, Copy, Debug, Default)]
pub struct CommandScanner;

impl Scanner for CommandScanner {
    fn id(&self) -> ScannerId {
        ScannerId::CommandScanner
    }

    fn scan(&self, text: &str) -> Scan {
        Scan { findings: analyse(text).findings, ..Scan::default() }
    }
}

/// What is known about a command before it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Analysis {
    /// What is bad about it, and what could not be understood.
    pub findings: Vec<Finding>,
    /// The addresses it would connect to. Whether it may is not decided here.
    pub requests: Vec<Request>,
}

/// An address that a command would connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// As the command has it: a URL, `host/path`, `host:port`, `user@host:path`, or a name.
    pub target: String,
    /// The word it comes from.
    pub span: Span,
    /// Whether this is all of it. If not, the rest is only known when the command runs, and `target` is what comes before.
    pub complete: bool,
}

/// Says what `text`, a script for bash or another POSIX shell, would do.
pub fn analyse(text: &str) -> Analysis {
    let mut reader = Reader::default();
    reader.read(text, None, None);
    read_piped_scripts(&mut reader);
    let Reader { script, gaps, .. } = reader;
    let mut findings = FindingList::default();
    for (gap, span) in gaps {
        let (rule, detail) = match gap {
            Gap::TooLong => (&COMMAND_TOO_LONG, "too long, too deep or too many commands to analyse"),
            Gap::NotUnderstood => (&COMMAND_NOT_UNDERSTOOD, "not plain shell syntax from here on"),
        };
        findings.push(Finding::new(rule, at_characters(span, text), detail));
    }
    detect::all(&script, &mut findings);
    let requests = request::all(&script);
    Analysis { findings: findings.into_vec(), requests }
}

/// The span, moved outwards to the nearest character boundaries.
fn at_characters(span: Span, text: &str) -> Span {
    Span::new(text.floor_char_boundary(span.start), text.ceil_char_boundary(span.end))
}

/// `echo … | sh`: what is printed is a script like any other.
fn read_piped_scripts(reader: &mut Reader) {
    let mut pending = Vec::new();
    for command in &reader.script.commands {
        if !interpreter::runs_input(command) || !interpreter::is_shell(command.name()) {
            continue;
        }
        let mut printed = reader.script.upstream(command);
        // Only the stage right before is what the shell reads.
        if let Some(text) = printed.next().and_then(printed::text) {
            pending.push((text, command.place));
        }
    }
    for (text, place) in pending {
        reader.read_piped(&text, place);
    }
}
