//! From a freshly cloned process to one that is locked in and answers.

use std::fmt;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::net::{
    AddressFamily, SocketAddrV4, SocketFlags, SocketType, bind, getsockname, listen, socket_with,
};
use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use crate::channel::Channel;
use crate::kernel::{clone, descriptors, loopback, signals};
use crate::lockdown;
use crate::rootfs;
use crate::wire::{Blob, Event, Ground, Listener, ListenerKind, Mapping, Plan};

/// A step that failed, with what it was about.
#[derive(Debug)]
pub struct Failure {
    /// What was being done, and to what.
    pub doing: String,
    /// What the system said.
    pub error: io::Error,
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.doing, self.error)
    }
}

impl Failure {
    /// The number that the host shows as text.
    pub fn errno(&self) -> u32 {
        self.error.raw_os_error().unwrap_or(libc::EIO) as u32
    }
}

/// For `map_err`: what was being done.
pub fn doing<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Failure {
    move |error| Failure { doing: what.into(), error: error.into() }
}

/// Backlog of the listeners; programs open many connections at once.
const BACKLOG: i32 = 128;

/// Where the control channel of a process 1 is, from the moment that it is locked in.
const CONTROL: i32 = 3;

/// Makes the part of a session that needs no plan; returns the root.
pub fn lay_ground(ground: &Ground) -> Result<OwnedFd, Failure> {
    if let Some(caller) = &ground.caller {
        map_caller(ground, caller)?;
    }
    signals::ignore_broken_pipes().map_err(doing("ignoring broken pipes"))?;
    clone::own_mounts().map_err(doing("copying mounts"))?;
    rootfs::detach_from_host().map_err(doing("making mounts private"))?;
    let sources = rootfs::open_sources(&ground.sources, Vec::new())?;
    become_user(ground)?;
    let root = rootfs::new_root(ground.scratch_bytes, ground.scratch_files, ground.scratch_attributes)?;
    rootfs::fill(&root, &ground.steps, &sources)?;
    Ok(root)
}

/// Does everything that the plan says on top of the ground, and locks the process in. Returns the control channel, moved.
///
/// `prepared` are mounts that the launcher has made.
pub fn enter(
    plan: &Plan,
    root: Result<OwnedFd, Failure>,
    prepared: Vec<OwnedFd>,
    control: &Channel,
) -> Result<Channel, Failure> {
    let root = root?;
    let sources = rootfs::open_sources(&plan.sources, prepared)?;
    rootfs::fill(&root, &plan.steps, &sources)?;
    rootfs::switch_to(&root)?;
    drop((root, sources));
    rustix::system::sethostname(&plan.hostname.0).map_err(doing("setting the host name"))?;
    let (listeners, ports) = open_listeners(plan)?;
    rustix::process::setsid().map_err(doing("starting a process session"))?;

    let null = rustix::fs::open("/dev/null", rustix::fs::OFlags::RDWR, rustix::fs::Mode::empty())
        .map_err(doing("opening /dev/null"))?;
    descriptors::replace_standard(null.as_fd()).map_err(doing("closing standard descriptors"))?;
    lockdown::limit(plan)?;
    lockdown::drop_privileges()?;
    lockdown::restrict_files(plan.landlock.as_ref())?;
    // Before the filter: calls that it reports wait for the host, which has no descriptor to answer on yet.
    lockdown::verify(plan)?;
    let notifier = lockdown::filter_calls(&plan.filter.0, plan.notify == 1)?;

    let passed: Vec<BorrowedFd<'_>> =
        notifier.iter().chain(&listeners).map(|descriptor| descriptor.as_fd()).collect();
    let ready = Event::Ready { ports, notifies: u32::from(notifier.is_some()) };
    control.send(&ready, &passed).map_err(doing("reporting to the host"))?;
    keep_only(control, [null].into_iter().chain(notifier).chain(listeners))
}

/// Closes everything but the control channel, descriptors of the launcher included.
fn keep_only(control: &Channel, owned: impl Iterator<Item = OwnedFd>) -> Result<Channel, Failure> {
    drop(owned.collect::<Vec<_>>());
    let moved = descriptors::place(&control.as_fd().as_raw_fd(), CONTROL)
        .map_err(doing("moving the control channel"))?;
    descriptors::close_from(CONTROL as u32 + 1).map_err(doing("closing descriptors"))?;
    Ok(Channel::new(moved))
}

/// An ordinary caller may map exactly itself.
fn map_caller(ground: &Ground, caller: &Mapping) -> Result<(), Failure> {
    let write = |file: &str, text: String| {
        std::fs::write(format!("/proc/self/{file}"), text).map_err(doing(format!("writing {file}")))
    };
    write("setgroups", "deny".to_owned())?;
    write("uid_map", format!("{} {} 1", ground.user, caller.user))?;
    write("gid_map", format!("{} {} 1", ground.group, caller.group))
}

fn become_user(ground: &Ground) -> Result<(), Failure> {
    if ground.caller.is_none() {
        set_thread_groups(&[]).map_err(doing("leaving supplementary groups"))?;
    }
    let group = Gid::from_raw(ground.group);
    set_thread_res_gid(group, group, group).map_err(doing("changing the group"))?;
    let user = Uid::from_raw(ground.user);
    set_thread_res_uid(user, user, user).map_err(doing("changing the user"))
}

/// Sockets that listen for the host, and their ports.
pub(crate) fn open_listeners(plan: &Plan) -> Result<(Vec<OwnedFd>, Vec<u32>), Failure> {
    let mut sockets = Vec::new();
    let mut ports = Vec::new();
    for (index, listener) in plan.listeners.iter().enumerate() {
        let about = || format!("listening on port {} inside", listener.port);
        let socket = open_socket(listener).map_err(doing(about()))?;
        if index == 0 && plan.own_network == 1 {
            loopback::bring_up(&socket).map_err(doing("bringing the loopback device up"))?;
        }
        ports.push(start_listening(&socket, listener).map_err(doing(about()))?);
        sockets.push(socket);
    }
    Ok((sockets, ports))
}

fn open_socket(listener: &Listener) -> io::Result<OwnedFd> {
    let kind = match listener.kind {
        ListenerKind::Stream {} => SocketType::STREAM,
        ListenerKind::Datagram {} => SocketType::DGRAM,
    };
    Ok(socket_with(AddressFamily::INET, kind, SocketFlags::CLOEXEC, None)?)
}

fn start_listening(socket: &OwnedFd, listener: &Listener) -> io::Result<u32> {
    let port = u16::try_from(listener.port).map_err(|_| io::ErrorKind::InvalidInput)?;
    bind(socket, &SocketAddrV4::new(Ipv4Addr::from_bits(listener.address), port))?;
    if matches!(listener.kind, ListenerKind::Stream {}) {
        listen(socket, BACKLOG)?;
    }
    let address = SocketAddrV4::try_from(getsockname(socket)?)?;
    Ok(address.port().into())
}

/// Tells the host why there will be no sandbox.
pub fn report(control: &Channel, failure: &Failure) {
    let event = Event::Failed { doing: Blob::from(&failure.doing), errno: failure.errno() };
    // A host that cannot be told has gone, and sees the end of the channel in any case.
    drop(control.send(&event, &[]));
}
