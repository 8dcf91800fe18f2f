//! A process between process 1 and a command that runs beside others: it inherits what the command leaves behind.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::pipe::{PipeFlags, pipe_with};

use super::start::Command;
use crate::kernel::descriptors;
use crate::kernel::spawn::{Ending, Patience, Waited, fork, leave, wait_any};
use crate::processes;

/// What a reaper tells process 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Note {
    Started(i32),
    NotStarted(i32),
    /// How the command ended, and whether processes live on.
    Exited(Ending, bool),
}

/// Words in a note on the pipe; short enough to be written whole.
const WORDS: usize = 6;

impl Note {
    fn to_words(self) -> [u64; WORDS] {
        match self {
            Self::Started(pid) => [1, pid as u64, 0, 0, 0, 0],
            Self::NotStarted(errno) => [2, errno as u64, 0, 0, 0, 0],
            Self::Exited(ending, background) => {
                let status = ending.status as u32;
                [3, status.into(), ending.user_us, ending.system_us, ending.max_rss_kb, background.into()]
            }
        }
    }

    fn from_words([kind, first, user_us, system_us, max_rss_kb, background]: [u64; WORDS]) -> Option<Self> {
        match kind {
            1 => Some(Self::Started(first as i32)),
            2 => Some(Self::NotStarted(first as i32)),
            3 => Some(Self::Exited(
                Ending { status: first as i32, user_us, system_us, max_rss_kb },
                background == 1,
            )),
            _ => None,
        }
    }
}

/// A reaper as process 1 sees it.
#[derive(Debug)]
pub(super) struct Reaper {
    pub(super) id: u32,
    pub(super) pid: i32,
    /// The command, once it runs.
    pub(super) command: Option<i32>,
    /// Whether the end of the command has been reported.
    pub(super) reported: bool,
    notes: OwnedFd,
    master: Option<OwnedFd>,
}

impl Reaper {
    pub(super) fn start(id: u32, command: &Command, keep_background: bool) -> io::Result<Self> {
        let (notes, writer) = pipe_with(PipeFlags::CLOEXEC)?;
        let master = command.master().map(|master| master.try_clone_to_owned()).transpose()?;
        match fork()? {
            None => run(&writer, command, keep_background),
            Some(pid) => Ok(Self { id, pid, command: None, reported: false, notes, master }),
        }
    }

    pub(super) fn notes(&self) -> BorrowedFd<'_> {
        self.notes.as_fd()
    }

    pub(super) fn take_master(&mut self) -> Option<OwnedFd> {
        self.master.take()
    }

    /// The next note; `None` when the reaper is gone.
    pub(super) fn hear(&mut self) -> Option<Note> {
        let mut bytes = [0; WORDS * 8];
        let read = rustix::io::read(&self.notes, &mut bytes).ok()?;
        if read != bytes.len() {
            return None;
        }
        let mut words = [0; WORDS];
        for (word, chunk) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = chunk.first_chunk().copied().map_or(0, u64::from_le_bytes);
        }
        let note = Note::from_words(words)?;
        match note {
            Note::Started(pid) => self.command = Some(pid),
            Note::NotStarted(_) | Note::Exited(..) => self.reported = true,
        }
        Some(note)
    }
}

fn run(notes: &OwnedFd, command: &Command, keep_background: bool) -> ! {
    let code = match look_after(notes, command, keep_background) {
        Ok(()) => 0,
        Err(_) => 1,
    };
    leave(code)
}

fn look_after(notes: &OwnedFd, command: &Command, keep_background: bool) -> io::Result<()> {
    // Takes the place of the channel to the host, which is for process 1 only.
    let notes = descriptors::place(&notes.as_raw_fd(), NOTES)?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let pid = match command.spawn() {
        Ok(pid) => pid,
        Err(error) => return tell(&notes, Note::NotStarted(error.raw_os_error().unwrap_or(libc::EIO))),
    };
    tell(&notes, Note::Started(pid))?;
    // Pipes of the command must end when its processes do.
    descriptors::close_from(NOTES as u32 + 1)?;
    let ending = wait_for(pid)?;
    let alone = wait_quietly(Patience::Look)?;
    if keep_background && !alone {
        tell(&notes, Note::Exited(ending, true))?;
        wait_quietly(Patience::Wait)?;
        return Ok(());
    }
    if !alone {
        processes::kill_below(rustix::process::getpid().as_raw_nonzero().get());
        wait_quietly(Patience::Wait)?;
    }
    tell(&notes, Note::Exited(ending, false))
}

/// Where the pipe to process 1 is in a reaper.
const NOTES: i32 = 3;

fn tell(notes: &OwnedFd, note: Note) -> io::Result<()> {
    let bytes: Vec<u8> = note.to_words().iter().flat_map(|word| word.to_le_bytes()).collect();
    rustix::io::write(notes, &bytes)?;
    Ok(())
}

fn wait_for(command: i32) -> io::Result<Ending> {
    loop {
        match wait_any(Patience::Wait)? {
            Waited::Ended(pid, ending) if pid == command => return Ok(ending),
            Waited::Ended(..) | Waited::NoneYet => {}
            Waited::NoChildren => return Err(io::Error::from_raw_os_error(libc::ECHILD)),
        }
    }
}

/// Takes ended children until none has ended, or with patience until none is left. Says whether none is left.
fn wait_quietly(patience: Patience) -> io::Result<bool> {
    loop {
        match wait_any(patience)? {
            Waited::Ended(..) => {}
            Waited::NoneYet => return Ok(false),
            Waited::NoChildren => return Ok(true),
        }
    }
}
