//! From an order to a running program.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags};
use rustix::termios::Winsize;

use crate::kernel::spawn::{Program, Standard, spawn};
use crate::wire::Blob;

/// A command, ready to be started.
#[derive(Debug)]
pub(super) struct Command {
    name: CString,
    arguments: Vec<CString>,
    environment: Vec<CString>,
    directory: CString,
    standard: Streams,
}

#[derive(Debug)]
enum Streams {
    Pipes([OwnedFd; 3]),
    Terminal { master: OwnedFd, path: CString },
}

impl Command {
    pub(super) fn new(
        command: &Blob,
        arguments: &[Blob],
        environment: &[Blob],
        directory: &Blob,
        (rows, columns): (u32, u32),
        descriptors: Vec<OwnedFd>,
    ) -> io::Result<Self> {
        let standard = if rows == 0 && columns == 0 {
            Streams::Pipes(descriptors.try_into().map_err(|_| io::ErrorKind::InvalidInput)?)
        } else {
            open_terminal(rows as u16, columns as u16)?
        };
        Ok(Self {
            name: text(command)?,
            arguments: std::iter::once(command).chain(arguments).map(text).collect::<io::Result<_>>()?,
            environment: environment.iter().map(text).collect::<io::Result<_>>()?,
            directory: text(directory)?,
            standard,
        })
    }

    /// Starts it as a child of this process.
    pub(super) fn spawn(&self) -> io::Result<i32> {
        spawn(&Program {
            path: &self.find()?,
            arguments: &self.arguments,
            environment: &self.environment,
            directory: &self.directory,
            standard: match &self.standard {
                Streams::Pipes([input, output, error]) => {
                    Standard::Descriptors([input.as_fd(), output.as_fd(), error.as_fd()])
                }
                Streams::Terminal { path, .. } => Standard::Terminal(path),
            },
        })
    }

    /// The side of the terminal that the host gets.
    pub(super) fn master(&self) -> Option<BorrowedFd<'_>> {
        match &self.standard {
            Streams::Pipes(_) => None,
            Streams::Terminal { master, .. } => Some(master.as_fd()),
        }
    }

    /// A name without a slash is looked up in the `PATH` of the command's own environment.
    fn find(&self) -> io::Result<CString> {
        if self.name.to_bytes().contains(&b'/') {
            return Ok(self.name.clone());
        }
        let path = self
            .environment
            .iter()
            .find_map(|entry| entry.to_bytes().strip_prefix(b"PATH="))
            .unwrap_or_default();
        let mut refused = None;
        for directory in path.split(|byte| *byte == b':').filter(|directory| !directory.is_empty()) {
            let candidate = [directory, b"/", self.name.to_bytes()].concat();
            match rustix::fs::accessat(CWD, candidate.as_slice(), Access::EXEC_OK, AtFlags::empty()) {
                Ok(()) if is_file(&candidate) => return Ok(CString::new(candidate)?),
                Err(rustix::io::Errno::ACCESS) => refused = Some(libc::EACCES),
                Ok(()) | Err(_) => {}
            }
        }
        Err(io::Error::from_raw_os_error(refused.unwrap_or(libc::ENOENT)))
    }
}

/// Looked at beforehand, because a failed start does not tell whether the program or the directory was the reason.
pub(super) fn check_directory(path: &Blob) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path.0.as_slice(), flags, Mode::empty())?;
    Ok(rustix::fs::accessat(CWD, path.0.as_slice(), Access::EXEC_OK, AtFlags::empty())?)
}

fn is_file(path: &[u8]) -> bool {
    rustix::fs::stat(path).is_ok_and(|status| rustix::fs::FileType::from_raw_mode(status.st_mode).is_file())
}

fn text(blob: &Blob) -> io::Result<CString> {
    Ok(CString::new(blob.0.as_slice())?)
}

const MULTIPLEXER: &CStr = c"/dev/pts/ptmx";

fn open_terminal(rows: u16, columns: u16) -> io::Result<Streams> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let master = rustix::fs::open(MULTIPLEXER, flags, Mode::empty())?;
    rustix::pty::unlockpt(&master)?;
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&master, size)?;
    let path = rustix::pty::ptsname(&master, Vec::new())?;
    Ok(Streams::Terminal { master, path })
}
