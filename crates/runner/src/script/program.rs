//! A script in a form that can be executed.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::Access;
use tokio::process::Command;

use super::{Program, ScriptError};

/// How much of the first line the system reads.
const LONGEST_LINE: u64 = 256;

impl fmt::Display for Program<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(formatter, "{}", path.display()),
            Self::Shell(line) => formatter.write_str(line),
            Self::Command(name, _) => formatter.write_str(name),
        }
    }
}

/// What can be executed.
#[derive(Debug)]
pub(super) enum Prepared<'a> {
    Path(PathBuf),
    /// A program that reads the script, with an argument of the script's own choice.
    Read {
        interpreter: OsString,
        argument: Option<OsString>,
        script: PathBuf,
    },
    Words(&'a str, Vec<&'a str>),
}

impl<'a> Prepared<'a> {
    pub(super) fn new(program: Program<'a>) -> Result<Self, ScriptError> {
        match program {
            Program::Shell(line) => Ok(Self::Words("/bin/sh", vec!["-c", line])),
            Program::Command(name, arguments) => Ok(Self::Words(name, arguments.to_vec())),
            Program::File(path) => file(path),
        }
    }

    pub(super) fn command(&self) -> Command {
        match self {
            Self::Path(path) => Command::new(path),
            Self::Read { interpreter, argument, script } => {
                let mut command = Command::new(interpreter);
                command.args(argument).arg(script);
                command
            }
            Self::Words(name, arguments) => {
                let mut command = Command::new(name);
                command.args(arguments);
                command
            }
        }
    }
}

fn file(path: &Path) -> Result<Prepared<'static>, ScriptError> {
    let failed = |source| ScriptError::Start { name: path.display().to_string(), source };
    // The child starts in another directory.
    let path = std::path::absolute(path).map_err(failed)?;
    if !path.metadata().map_err(failed)?.is_file() {
        return Err(ScriptError::NotAFile(path));
    }
    if rustix::fs::access(&path, Access::EXEC_OK).is_ok() {
        return Ok(Prepared::Path(path));
    }
    read_by(path).map_err(failed)
}

/// What the system does with a script that may be executed, for one that may not: the operator's file stays as it is, since a
/// changed mode would show up in version control, and a copy would be left behind by a run that is killed.
fn read_by(script: PathBuf) -> io::Result<Prepared<'static>> {
    let mut line = Vec::new();
    BufReader::new(File::open(&script)?.take(LONGEST_LINE)).read_until(b'\n', &mut line)?;
    let none = || io::Error::from_raw_os_error(rustix::io::Errno::NOEXEC.raw_os_error());
    let said =
        line.strip_prefix(b"#!").map(<[u8]>::trim_ascii).filter(|said| !said.is_empty()).ok_or_else(none)?;
    let end = said.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(said.len());
    let (interpreter, argument) = said.split_at(end);
    let argument = Some(argument.trim_ascii()).filter(|argument| !argument.is_empty());
    let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    Ok(Prepared::Read { interpreter: text(interpreter), argument: argument.map(text), script })
}
