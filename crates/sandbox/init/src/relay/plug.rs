//! A descriptor inside and the stream that carries its bytes.

use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::Shutdown;
use rustix::termios::Winsize;

use crate::mux::link::{Input, Link};

/// How much is moved at once.
const PORTION: usize = 32 * 1024;

/// What a descriptor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The input of a command: bytes of the host go to it.
    Input,
    /// An output of a command: its bytes go to the host.
    Output,
    /// The master side of a terminal: both ways.
    Terminal,
    /// A connection: both ways, each with an end of its own.
    Connection,
}

/// A descriptor in non-blocking mode, and what is under way through it.
#[derive(Debug)]
pub(super) struct Plug {
    kind: Kind,
    descriptor: Rc<OwnedFd>,
    /// Bytes of the host that the descriptor did not take yet.
    pending: Vec<u8>,
    /// No more bytes come from the descriptor.
    read_out: bool,
    /// No more bytes come from the host.
    written_out: bool,
    /// The command is over: what is there is still carried, what comes later is not.
    ending: bool,
}

impl Plug {
    pub(super) fn new(kind: Kind, descriptor: OwnedFd) -> Self {
        Self {
            kind,
            descriptor: Rc::new(descriptor),
            pending: Vec::new(),
            read_out: kind == Kind::Input,
            written_out: kind == Kind::Output,
            ending: false,
        }
    }

    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    pub(super) fn descriptor(&self) -> Rc<OwnedFd> {
        Rc::clone(&self.descriptor)
    }

    pub(super) fn resize(&self, rows: u16, columns: u16) {
        if self.kind == Kind::Terminal {
            let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
            // The command may just have ended.
            let _ = rustix::termios::tcsetwinsize(&self.descriptor, size);
        }
    }

    /// The command is over. Processes that it left behind do not keep its streams open.
    pub(super) fn end_soon(&mut self) {
        self.ending = true;
        self.written_out = true;
        self.pending.clear();
    }

    /// What to wait for; none when there is nothing to do until the host says more.
    pub(super) fn interest(&self, link: &Link, number: u32) -> Option<PollFlags> {
        let mut interest = PollFlags::empty();
        if !self.read_out && link.room(number).is_some_and(|room| room > 0) {
            interest |= PollFlags::IN;
        }
        if !self.pending.is_empty() {
            interest |= PollFlags::OUT;
        }
        (!interest.is_empty()).then_some(interest)
    }

    /// Moves what can be moved without waiting; says whether the stream is over.
    pub(super) fn pump(&mut self, link: &mut Link, number: u32) -> bool {
        if self.carry_in(link, number).is_err() || self.carry_out(link, number).is_err() {
            return true;
        }
        self.read_out && self.written_out && self.pending.is_empty()
    }

    /// From the host to the descriptor.
    fn carry_in(&mut self, link: &mut Link, number: u32) -> io::Result<()> {
        while !self.written_out || !self.pending.is_empty() {
            if self.pending.is_empty() {
                let mut bytes = vec![0; PORTION];
                match link.read(number, &mut bytes) {
                    Input::Bytes(count) => {
                        bytes.truncate(count);
                        self.pending = bytes;
                    }
                    Input::Nothing => return Ok(()),
                    Input::Cut => return Err(io::ErrorKind::ConnectionReset.into()),
                    Input::End => {
                        self.written_out = true;
                        return self.end_descriptor();
                    }
                }
            }
            match rustix::io::write(&self.descriptor, &self.pending) {
                Ok(count) => drop(self.pending.drain(..count)),
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn end_descriptor(&self) -> io::Result<()> {
        match self.kind {
            Kind::Connection => Ok(rustix::net::shutdown(&self.descriptor, Shutdown::Write)?),
            // A pipe ends when it is closed; a terminal ends with its command.
            Kind::Input | Kind::Output | Kind::Terminal => Ok(()),
        }
    }

    /// From the descriptor to the host.
    fn carry_out(&mut self, link: &mut Link, number: u32) -> io::Result<()> {
        while !self.read_out {
            let room = link.room(number).unwrap_or(0).min(PORTION);
            if room == 0 {
                return Ok(());
            }
            let mut bytes = vec![0; room];
            let count = match rustix::io::read(&self.descriptor, &mut bytes) {
                Ok(count) => count,
                Err(Errno::AGAIN) if self.ending => 0,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => continue,
                // Nobody has the other side of the terminal open any more.
                Err(Errno::IO) if self.kind == Kind::Terminal => 0,
                Err(error) => return Err(error.into()),
            };
            if count == 0 {
                self.read_out = true;
                link.finish(number);
            } else {
                link.write(number, bytes.get(..count).unwrap_or_default());
            }
        }
        Ok(())
    }
}
