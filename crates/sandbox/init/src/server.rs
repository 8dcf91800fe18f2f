//! Process 1 of a session: starts commands for the host, and sees to it that nothing outlives them.
//!
//! Usually one command runs at a time, as a child of process 1, and whatever it leaves behind becomes a child of
//! process 1 too: when the command is over, so is everyone. A command that is started while others run gets a
//! reaper of its own that inherits what it leaves behind, so that its processes can be told from theirs.

mod reaper;
mod start;

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};

use crate::channel::Channel;
use crate::kernel::signals;
use crate::kernel::spawn::{Ending, Patience, Waited, wait_any};
use crate::processes;
use crate::wire::{Event, Order};
use reaper::{Note, Reaper};
use start::Command;

/// How process 1 hears from the host and reports to it.
pub trait Control {
    /// Gets ready to wait.
    fn prepare(&mut self) -> io::Result<()>;

    /// Adds what is to be waited for.
    fn watch<'a>(&'a self, into: &mut Vec<PollFd<'a>>);

    /// Takes in what has arrived; `ready` tells for each descriptor that was waited for whether something happened.
    fn hear(&mut self, ready: &[bool]) -> io::Result<Heard>;

    /// Reports to the host, with descriptors.
    fn send(&self, event: &Event, descriptors: &[BorrowedFd<'_>]) -> io::Result<()>;
}

/// What was heard from the host.
#[derive(Debug)]
pub enum Heard {
    /// What to do, with descriptors; maybe nothing.
    Orders(Vec<(Order, Vec<OwnedFd>)>),
    /// The host is gone.
    Gone,
}

impl Control for Channel {
    fn prepare(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn watch<'a>(&'a self, into: &mut Vec<PollFd<'a>>) {
        into.push(PollFd::new(self, PollFlags::IN));
    }

    fn hear(&mut self, ready: &[bool]) -> io::Result<Heard> {
        if !ready.contains(&true) {
            return Ok(Heard::Orders(Vec::new()));
        }
        Ok(self.receive::<Order>()?.map_or(Heard::Gone, |order| Heard::Orders(vec![order])))
    }

    fn send(&self, event: &Event, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        Self::send(self, event, descriptors)
    }
}

/// Serves until the host is gone. The end of process 1 is the end of every process of the session.
pub fn run(control: impl Control) -> i32 {
    match Server::new(control).and_then(|mut server| server.serve()) {
        Ok(()) => 0,
        Err(_) => 1,
    }
}

/// A command that is a child of process 1 itself.
#[derive(Debug)]
struct Direct {
    id: u32,
    pid: i32,
    keep_background: bool,
}

struct Server<C> {
    control: C,
    children: OwnedFd,
    direct: Option<Direct>,
    /// Processes that a direct command has left behind, and that may live on.
    background: bool,
    reapers: Vec<Reaper>,
}

impl<C: Control> Server<C> {
    fn new(control: C) -> io::Result<Self> {
        signals::remember_children()?;
        let children = signals::children_descriptor()?;
        Ok(Self { control, children, direct: None, background: false, reapers: Vec::new() })
    }

    fn serve(&mut self) -> io::Result<()> {
        loop {
            self.control.prepare()?;
            let ready = self.wait()?;
            if ready.children {
                self.reap()?;
            }
            self.hear_reapers(&ready.reapers)?;
            match self.control.hear(&ready.control)? {
                Heard::Gone => return Ok(()),
                Heard::Orders(orders) => {
                    for (order, descriptors) in orders {
                        self.obey(order, descriptors)?;
                    }
                }
            }
        }
    }

    fn wait(&self) -> io::Result<Ready> {
        let own = std::iter::once(self.children.as_fd()).chain(self.reapers.iter().map(Reaper::notes));
        let mut polled: Vec<PollFd<'_>> =
            own.map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN)).collect();
        self.control.watch(&mut polled);
        loop {
            match poll(&mut polled, None) {
                Ok(_) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let mut happened = polled.iter().map(|entry| !entry.revents().is_empty());
        let children = happened.next().unwrap_or(false);
        let reapers = happened.by_ref().take(self.reapers.len()).collect();
        Ok(Ready { children, reapers, control: happened.collect() })
    }

    fn obey(&mut self, order: Order, descriptors: Vec<OwnedFd>) -> io::Result<()> {
        match order {
            // Only expected before this loop.
            Order::Go {} => Ok(()),
            Order::Exec { id, command, arguments, environment, directory, terminal, keep_background } => {
                let keep_background = keep_background == 1;
                if let Err(error) = start::check_directory(&directory) {
                    let errno = error.raw_os_error().unwrap_or(libc::EIO) as u32;
                    return self.control.send(&Event::NotStarted { id, errno, directory: 1 }, &[]);
                }
                match Command::new(&command, &arguments, &environment, &directory, terminal, descriptors) {
                    Ok(command) => self.start(id, &command, keep_background),
                    Err(error) => self.not_started(id, &error),
                }
            }
            Order::Signal { id, signal } => {
                self.signal(id, signal as i32);
                Ok(())
            }
            Order::Kill { id } => {
                self.kill(id);
                Ok(())
            }
            Order::Stop {} => self.everyone(libc::SIGSTOP),
            Order::Continue {} => self.everyone(libc::SIGCONT),
        }
    }

    fn start(&mut self, id: u32, command: &Command, keep_background: bool) -> io::Result<()> {
        if self.direct.is_some() || self.background {
            return match Reaper::start(id, command, keep_background) {
                Ok(reaper) => {
                    self.reapers.push(reaper);
                    Ok(())
                }
                Err(error) => self.not_started(id, &error),
            };
        }
        match command.spawn() {
            Ok(pid) => {
                self.direct = Some(Direct { id, pid, keep_background });
                self.started(id, pid, command)
            }
            Err(error) => self.not_started(id, &error),
        }
    }

    fn started(&self, id: u32, pid: i32, command: &Command) -> io::Result<()> {
        let master: Vec<_> = command.master().into_iter().collect();
        self.control.send(&Event::Started { id, pid: pid as u32 }, &master)
    }

    fn not_started(&self, id: u32, error: &io::Error) -> io::Result<()> {
        let errno = error.raw_os_error().unwrap_or(libc::EIO) as u32;
        self.control.send(&Event::NotStarted { id, errno, directory: 0 }, &[])
    }

    fn signal(&self, id: u32, signal: i32) {
        let direct = self.direct.iter().filter(|direct| direct.id == id).map(|direct| direct.pid);
        let reaped = self.reapers.iter().filter(|reaper| reaper.id == id).filter_map(|reaper| reaper.command);
        for group in direct.chain(reaped) {
            // A command that has just ended gets no signal; the host hears of its end.
            drop(signals::send(-group, signal));
        }
    }

    fn kill(&self, id: u32) {
        if self.direct.as_ref().is_some_and(|direct| direct.id == id) {
            self.kill_direct();
        }
        for reaper in self.reapers.iter().filter(|reaper| reaper.id == id) {
            processes::kill_below(reaper.pid);
        }
    }

    fn kill_direct(&self) {
        if self.reapers.is_empty() {
            // Atomic in the kernel: nobody can fork past it.
            drop(signals::send(-1, libc::SIGKILL));
        } else {
            processes::kill_all_except(&self.reapers.iter().map(|reaper| reaper.pid).collect::<Vec<_>>());
        }
    }

    /// A command has killed its own reaper: what it started is process 1's now, and cannot be told from what others
    /// have left behind. All of that ends; commands and what still belongs to them live on.
    fn kill_orphans(&self, gone: i32) {
        let reapers = self.reapers.iter().map(|reaper| reaper.pid).filter(|pid| *pid != gone);
        let spared: Vec<i32> = reapers.chain(self.direct.iter().map(|direct| direct.pid)).collect();
        processes::kill_all_except(&spared);
    }

    fn everyone(&self, signal: i32) -> io::Result<()> {
        // Without any process there is nobody to signal, which is fine.
        drop(signals::send(-1, signal));
        self.control.send(&Event::Done {}, &[])
    }

    fn reap(&mut self) -> io::Result<()> {
        let _ = rustix::io::read(&self.children, &mut [0; 1024]);
        loop {
            match wait_any(Patience::Look)? {
                Waited::Ended(pid, ending) => self.ended(pid, ending)?,
                Waited::NoneYet => return Ok(()),
                Waited::NoChildren => {
                    self.background = false;
                    return Ok(());
                }
            }
        }
    }

    fn ended(&mut self, pid: i32, ending: Ending) -> io::Result<()> {
        match self.direct.take_if(|direct| direct.pid == pid) {
            Some(direct) => self.finish_direct(&direct, ending),
            None => Ok(()),
        }
    }

    fn finish_direct(&mut self, direct: &Direct, ending: Ending) -> io::Result<()> {
        if direct.keep_background {
            self.background = self.others_remain()?;
        } else if self.others_remain()? {
            self.kill_direct();
            if self.reapers.is_empty() {
                while wait_any(Patience::Wait)? != Waited::NoChildren {}
            }
        }
        self.exited(direct.id, ending, self.background)
    }

    /// Whether process 1 has children besides the reapers.
    fn others_remain(&self) -> io::Result<bool> {
        if !self.reapers.is_empty() {
            // Reapers are children too; a closer look costs more than killing nobody.
            return Ok(true);
        }
        loop {
            match wait_any(Patience::Look)? {
                Waited::Ended(..) => {}
                Waited::NoneYet => return Ok(true),
                Waited::NoChildren => return Ok(false),
            }
        }
    }

    fn exited(&self, id: u32, ending: Ending, background: bool) -> io::Result<()> {
        let event = Event::Exited {
            id,
            status: ending.status as u32,
            user_us: ending.user_us,
            system_us: ending.system_us,
            max_rss_kb: ending.max_rss_kb,
            background: u32::from(background),
        };
        self.control.send(&event, &[])
    }

    fn hear_reapers(&mut self, ready: &[bool]) -> io::Result<()> {
        let mut finished = Vec::new();
        for (position, _) in ready.iter().enumerate().filter(|(_, ready)| **ready) {
            let Some(reaper) = self.reapers.get_mut(position) else { continue };
            match reaper.hear() {
                Some(Note::Started(pid)) => {
                    let master = reaper.take_master();
                    let descriptors: Vec<_> = master.iter().map(OwnedFd::as_fd).collect();
                    self.control.send(&Event::Started { id: reaper.id, pid: pid as u32 }, &descriptors)?;
                }
                Some(Note::NotStarted(errno)) => {
                    let id = reaper.id;
                    self.not_started(id, &io::Error::from_raw_os_error(errno))?;
                    finished.push(position);
                }
                Some(Note::Exited(ending, background)) => {
                    let id = reaper.id;
                    self.exited(id, ending, background)?;
                    // One that looks after background processes stays, so that they are told apart from others.
                    if !background {
                        finished.push(position);
                    }
                }
                None => {
                    let (id, gone, reported) = (reaper.id, reaper.pid, reaper.reported);
                    finished.push(position);
                    self.kill_orphans(gone);
                    if !reported {
                        self.exited(id, Ending { status: libc::SIGKILL, ..Ending::default() }, false)?;
                    }
                }
            }
        }
        for position in finished.into_iter().rev() {
            self.reapers.remove(position);
        }
        Ok(())
    }
}

struct Ready {
    children: bool,
    reapers: Vec<bool>,
    control: Vec<bool>,
}
