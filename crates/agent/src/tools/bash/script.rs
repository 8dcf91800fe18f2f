//! What a shell is given to run, so that it leaves word of where it ended.

use uuid::Uuid;

use crate::execution::SHELL_MOUNT;

/// Runs the command, and at the end writes the directory to the file that `$1` names. The command is evaluated rather
/// than appended, so that errors are told with its own lines. Only builtins are used: no process is started.
///
/// A command with an exit trap of its own, or one that is replaced by another program, leaves no word.
const WRAPPER: &str = "__fullsend_word=$1 __fullsend_command=$2; shift 2; \
    trap '{ set +x; umask 022; command pwd -P >|\"$__fullsend_word\"; } 2>/dev/null' EXIT; \
    eval \"$__fullsend_command\"";

/// What a shell calls itself in messages.
const NAME: &str = "bash";

/// A command, and the name of the file in which its shell leaves word.
#[derive(Debug)]
pub(super) struct Script<'a> {
    command: &'a str,
    word: Option<String>,
}

impl<'a> Script<'a> {
    pub(super) fn new(command: &'a str) -> Self {
        let word = (!stays(command)).then(|| Uuid::new_v4().simple().to_string());
        Self { command, word }
    }

    /// The name of the file; none if the command cannot change the directory.
    pub(super) fn word(&self) -> Option<&str> {
        self.word.as_deref()
    }

    pub(super) fn arguments(&self) -> Vec<String> {
        let flag = "-c".to_owned();
        match &self.word {
            // A shell that has nothing else to do becomes the program instead of starting it.
            None => vec![flag, self.command.to_owned(), NAME.to_owned()],
            Some(word) => {
                let file = format!("{SHELL_MOUNT}/{word}");
                vec![flag, WRAPPER.to_owned(), NAME.to_owned(), file, self.command.to_owned()]
            }
        }
    }
}

/// Whether a command certainly ends where it started: a program and its arguments, without anything that means
/// something to a shell.
fn stays(command: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b" _-./,:+@%=".contains(&byte);
    let program = command.split(' ').find(|word| !word.is_empty()).unwrap_or_default();
    let moves = ["cd", "pushd", "popd", "eval", "source", ".", "builtin", "command", "time"];
    command.bytes().all(plain) && !program.contains('=') && !moves.contains(&program)
}

/// Whether a shell said that there is no such program.
pub(super) fn is_missing_program(exit_code: i32, stderr: &str) -> bool {
    let said = ["not found", "not recognized", "no such file or directory"];
    let lower = stderr.to_lowercase();
    exit_code == 127 && said.iter().any(|said| lower.contains(said))
}

#[cfg(test)]
mod tests {
    use super::{is_missing_program, stays};

    #[test]
    fn only_a_plain_program_certainly_stays() {
        for command in ["true", "ls -la src/a.rs", "git log --format=%H -n 1", " make  all", ""] {
            assert!(stays(command), "{command}");
        }
        for command in [
            "cd x",
            " cd x",
            "time cd x",
            "eval cd",
            ". ./x",
            "source x",
            "A=1 cd x",
            "builtin cd x",
            "command cd x",
            "'cd' x",
            "c\\d x",
            "true; cd x",
            "true\ncd x",
            "$x y",
            "true && cd x",
            "pushd x",
            "popd",
            "(ls)",
            "\tcd x",
        ] {
            assert!(!stays(command), "{command}");
        }
    }

    #[test]
    fn a_missing_program_is_told_from_a_program_that_says_127() {
        assert!(is_missing_program(127, "bash: line 1: pyhton: command not found\n"));
        assert!(is_missing_program(127, "/bin/sh: python: not found"));
        assert!(!is_missing_program(127, "boom"));
        assert!(!is_missing_program(1, "x: command not found"));
    }
}
