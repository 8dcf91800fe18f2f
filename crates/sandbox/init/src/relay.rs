//! The control channel of a process 1 in a container: descriptors cannot be passed into it, so their bytes are carried.
//!
//! What is a pipe, a terminal or a connection inside is a stream of the channel outside. Nothing here waits: every
//! descriptor is polled together with those of the server, and one that is slow holds up no other.

mod counter;
mod plug;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::rc::Rc;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{SocketAddrV4, SocketFlags, acceptfrom_with, getsockname, recvfrom, sendto};

use self::counter::Counter;
use self::plug::{Kind, Plug};
use crate::mux::link::{Event as Happened, Link, Side};
use crate::server::{Control, Heard};
use crate::wire::{Arrival, Event, Inward, ListenerKind, Order, Outward, Plan, Wire as _};

/// About how much is read or written at once.
const PORTION: usize = 64 * 1024;
/// The largest datagram that is answered; name servers are not asked for more.
const DATAGRAM: usize = 4096;
/// Connections that may be open at a time; further ones wait in the kernel.
const CONNECTIONS: usize = 512;

/// The channel and everything whose bytes it carries.
#[derive(Debug)]
pub struct Relay {
    input: Rc<OwnedFd>,
    output: Rc<OwnedFd>,
    /// The server reports while it is looking at its own state, hence the cell.
    state: RefCell<State>,
    listeners: Vec<(ListenerKind, Rc<OwnedFd>)>,
    /// What is being waited for.
    watched: Vec<(Target, Rc<OwnedFd>, PollFlags)>,
}

/// What a descriptor is that is being waited for.
#[derive(Clone, Copy, Debug)]
enum Target {
    Input,
    Output,
    Listener(usize),
    Plug(u32),
}

#[derive(Debug)]
struct State {
    link: Link,
    /// Bytes for the output that it did not take yet.
    unsent: VecDeque<u8>,
    plugs: BTreeMap<u32, Plug>,
    /// Streams of commands that run.
    commands: BTreeMap<u32, Vec<u32>>,
    /// Streams with something to move.
    stirred: BTreeSet<u32>,
    memory: Counter,
    processes: Counter,
}

impl Relay {
    /// A relay between two pipes of the host.
    pub fn new(input: OwnedFd, output: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&output, true)?;
        let state = State {
            link: Link::new(Side::Guest),
            unsent: VecDeque::new(),
            plugs: BTreeMap::new(),
            commands: BTreeMap::new(),
            stirred: BTreeSet::new(),
            memory: Counter::of_memory(),
            processes: Counter::of_processes(),
        };
        Ok(Self {
            input: Rc::new(input),
            output: Rc::new(output),
            state: RefCell::new(state),
            listeners: Vec::new(),
            watched: Vec::new(),
        })
    }

    /// Waits for the plan, which comes first; `None` when the host is gone.
    pub fn receive_plan(&mut self) -> io::Result<Option<Plan>> {
        loop {
            let Some(messages) = self.receive()? else { return Ok(None) };
            if let Some(message) = messages.into_iter().next() {
                return match message {
                    Inward::Go { plan } => Ok(Some(plan)),
                    Inward::Order { .. } | Inward::Resize { .. } | Inward::Reply { .. } => {
                        Err(io::ErrorKind::InvalidData.into())
                    }
                };
            }
        }
    }

    /// From now on, connections and datagrams that arrive here are carried to the host.
    pub fn listen(&mut self, listeners: Vec<(ListenerKind, OwnedFd)>) -> io::Result<()> {
        for (_, socket) in &listeners {
            rustix::io::ioctl_fionbio(socket, true)?;
        }
        self.listeners = listeners.into_iter().map(|(kind, socket)| (kind, Rc::new(socket))).collect();
        Ok(())
    }

    /// Sends what waits, however long the host takes.
    pub fn flush(&self) -> io::Result<()> {
        while self.transmit()? {
            let mut polled = [PollFd::new(&self.output, PollFlags::OUT)];
            match poll(&mut polled, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Messages that have arrived; `None` when the host is gone.
    fn receive(&self) -> io::Result<Option<Vec<Inward>>> {
        let mut buffer = vec![0; PORTION];
        let count = match rustix::io::read(&self.input, &mut buffer) {
            Ok(0) => return Ok(None),
            Ok(count) => count,
            Err(Errno::INTR | Errno::AGAIN) => 0,
            Err(error) => return Err(error.into()),
        };
        let mut state = self.state.borrow_mut();
        let bytes = buffer.get(..count).unwrap_or_default();
        let happened = state.link.receive(bytes).map_err(invalid)?;
        let mut messages = Vec::new();
        for event in happened {
            match event {
                Happened::Message(bytes) => messages.push(Inward::from_bytes(&bytes).map_err(invalid)?),
                // The order that says what it is for follows.
                Happened::Opened { .. } => {}
                Happened::Readable(number) => drop(state.stirred.insert(number)),
                Happened::Reset(number) => state.unplug(number),
            }
        }
        Ok(Some(messages))
    }

    fn obey(&self, message: Inward) -> io::Result<Option<(Order, Vec<OwnedFd>)>> {
        match message {
            Inward::Go { .. } => Err(io::ErrorKind::InvalidData.into()),
            Inward::Order { order, streams } => {
                let descriptors = self.state.borrow_mut().attach(&order, streams)?;
                Ok(Some((order, descriptors)))
            }
            Inward::Resize { stream, rows, columns } => {
                self.state.borrow().resize(stream, rows, columns);
                Ok(None)
            }
            Inward::Reply { listener, address, port, payload } => {
                if let Some((_, socket)) = self.listeners.get(listener as usize) {
                    let peer = SocketAddrV4::new(address.into(), port as u16);
                    // A datagram may be lost.
                    let _ = sendto(socket, &payload.0, rustix::net::SendFlags::empty(), &peer);
                }
                Ok(None)
            }
        }
    }

    fn accept(&self, number: usize) -> io::Result<()> {
        match self.listeners.get(number) {
            Some((ListenerKind::Stream {}, socket)) => self.accept_connections(number as u32, socket),
            Some((ListenerKind::Datagram {}, socket)) => self.accept_datagrams(number as u32, socket),
            None => Ok(()),
        }
    }

    fn accept_connections(&self, listener: u32, socket: &OwnedFd) -> io::Result<()> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let mut state = self.state.borrow_mut();
        while state.has_room_for_connections() {
            // A client that has gone already is no reason to end.
            let Ok((connection, Some(peer))) = acceptfrom_with(socket, flags) else { return Ok(()) };
            let local = getsockname(&connection).and_then(SocketAddrV4::try_from);
            let (Ok(local), Ok(peer)) = (local, SocketAddrV4::try_from(peer)) else { continue };
            let arrival = Arrival {
                listener,
                address: local.ip().to_bits(),
                port: local.port().into(),
                peer_port: peer.port().into(),
            };
            let number = state.link.open(&arrival.to_bytes()).map_err(invalid)?;
            state.plugs.insert(number, Plug::new(Kind::Connection, connection));
        }
        Ok(())
    }

    fn accept_datagrams(&self, listener: u32, socket: &OwnedFd) -> io::Result<()> {
        let mut buffer = vec![0; DATAGRAM];
        // As many as the host could answer in one go; the rest waits in the kernel, which drops what is too much.
        for _ in 0..16 {
            let flags = rustix::net::RecvFlags::DONTWAIT;
            let Ok((count, _, Some(peer))) = recvfrom(socket, buffer.as_mut_slice(), flags) else { break };
            let Ok(peer) = SocketAddrV4::try_from(peer) else { continue };
            let payload = buffer.get(..count).unwrap_or_default().into();
            let (address, port) = (peer.ip().to_bits(), peer.port().into());
            self.send_message(&Outward::Query { listener, address, port, payload })?;
        }
        Ok(())
    }

    fn send_message(&self, message: &Outward) -> io::Result<()> {
        self.state.borrow_mut().link.message(&message.to_bytes()).map_err(invalid)
    }

    /// Writes what the output takes; says whether something is left.
    fn transmit(&self) -> io::Result<bool> {
        let mut state = self.state.borrow_mut();
        loop {
            if state.unsent.is_empty() {
                let mut bytes = Vec::new();
                state.link.transmit(&mut bytes, PORTION);
                state.unsent = bytes.into();
            }
            if state.unsent.is_empty() {
                return Ok(false);
            }
            match rustix::io::write(&self.output, state.unsent.as_slices().0) {
                Ok(count) => drop(state.unsent.drain(..count)),
                Err(Errno::AGAIN) => return Ok(true),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl State {
    /// Makes the ends that a command gets, and keeps the others.
    fn attach(&mut self, order: &Order, streams: Vec<u32>) -> io::Result<Vec<OwnedFd>> {
        let mut ends = Vec::new();
        for (position, number) in streams.iter().enumerate() {
            let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
            // The first stream is the command's input, the others are what it writes.
            let (kind, ours, theirs) =
                if position == 0 { (Kind::Input, writer, reader) } else { (Kind::Output, reader, writer) };
            rustix::io::ioctl_fionbio(&ours, true)?;
            if kind == Kind::Input {
                self.link.finish(*number);
            }
            self.plugs.insert(*number, Plug::new(kind, ours));
            self.stirred.insert(*number);
            ends.push(theirs);
        }
        if let Order::Exec { id, .. } = order {
            self.commands.insert(*id, streams);
        }
        Ok(ends)
    }

    fn resize(&self, stream: u32, rows: u32, columns: u32) {
        if let Some(plug) = self.plugs.get(&stream) {
            plug.resize(rows as u16, columns as u16);
        }
    }

    fn unplug(&mut self, number: u32) {
        self.plugs.remove(&number);
        self.link.close(number);
    }

    fn has_room_for_connections(&self) -> bool {
        self.plugs.values().filter(|plug| plug.kind() == Kind::Connection).count() < CONNECTIONS
    }

    /// Moves what can be moved.
    fn pump(&mut self) {
        for number in std::mem::take(&mut self.stirred) {
            let over = self.plugs.get_mut(&number).is_some_and(|plug| plug.pump(&mut self.link, number));
            if over {
                self.unplug(number);
            }
        }
    }

    /// What a report of the server means for the streams; returns those that go with it.
    fn note(&mut self, event: &Event, descriptors: &[BorrowedFd<'_>]) -> io::Result<Vec<u32>> {
        match event {
            Event::Started { id, pid } => {
                // Should memory run out, commands go first; without process 1 there would be no session.
                let _ = std::fs::write(format!("/proc/{pid}/oom_score_adj"), "1000");
                let mut streams = Vec::new();
                for master in descriptors {
                    let master = master.try_clone_to_owned()?;
                    rustix::io::ioctl_fionbio(&master, true)?;
                    let number = self.link.open(&[]).map_err(invalid)?;
                    self.plugs.insert(number, Plug::new(Kind::Terminal, master));
                    streams.push(number);
                }
                self.commands.entry(*id).or_default().extend(&streams);
                Ok(streams)
            }
            Event::NotStarted { id, .. } | Event::Exited { id, .. } => {
                for number in self.commands.remove(id).unwrap_or_default() {
                    if let Some(plug) = self.plugs.get_mut(&number) {
                        plug.end_soon();
                        self.stirred.insert(number);
                    }
                }
                Ok(Vec::new())
            }
            Event::Ready { .. } | Event::Failed { .. } | Event::Done {} => Ok(Vec::new()),
        }
    }
}

impl Control for Relay {
    fn prepare(&mut self) -> io::Result<()> {
        self.state.borrow_mut().pump();
        let unsent = self.transmit()?;
        let state = self.state.borrow();
        let mut watched = vec![(Target::Input, Rc::clone(&self.input), PollFlags::IN)];
        if unsent {
            watched.push((Target::Output, Rc::clone(&self.output), PollFlags::OUT));
        }
        let room = state.has_room_for_connections();
        for (number, (kind, socket)) in self.listeners.iter().enumerate() {
            if room || matches!(kind, ListenerKind::Datagram {}) {
                watched.push((Target::Listener(number), Rc::clone(socket), PollFlags::IN));
            }
        }
        for (number, plug) in &state.plugs {
            // One without interest is left out: its end would be reported again and again.
            if let Some(interest) = plug.interest(&state.link, *number) {
                watched.push((Target::Plug(*number), plug.descriptor(), interest));
            }
        }
        drop(state);
        self.watched = watched;
        Ok(())
    }

    fn watch<'a>(&'a self, into: &mut Vec<PollFd<'a>>) {
        into.extend(
            self.watched
                .iter()
                .map(|(_, descriptor, flags)| PollFd::from_borrowed_fd(descriptor.as_fd(), *flags)),
        );
    }

    fn hear(&mut self, ready: &[bool]) -> io::Result<Heard> {
        let ready: Vec<Target> = self
            .watched
            .iter()
            .zip(ready)
            .filter(|(_, ready)| **ready)
            .map(|((target, ..), _)| *target)
            .collect();
        let mut orders = Vec::new();
        for target in ready {
            match target {
                Target::Input => {
                    let Some(messages) = self.receive()? else { return Ok(Heard::Gone) };
                    for message in messages {
                        orders.extend(self.obey(message)?);
                    }
                }
                // What waits is sent before the next wait.
                Target::Output => {}
                Target::Listener(number) => self.accept(number)?,
                Target::Plug(number) => drop(self.state.borrow_mut().stirred.insert(number)),
            }
        }
        Ok(Heard::Orders(orders))
    }

    fn send(&self, event: &Event, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut state = self.state.borrow_mut();
        let streams = state.note(event, descriptors)?;
        let ended = matches!(event, Event::Exited { .. });
        let memory = u32::from(ended && state.memory.has_grown());
        let processes = u32::from(ended && state.processes.has_grown());
        drop(state);
        self.send_message(&Outward::Event { event: event.clone(), streams, memory, processes })
    }
}

fn invalid(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
