//! The process that clones a process 1 for each session, and lives as long as the backend.
//!
//! It runs with the caller's rights and is never seen from inside a sandbox.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::mount::OpenTreeFlags;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use crate::channel::Channel;
use crate::kernel::clone::{self, Cloned};
use crate::kernel::{mount_attributes, signals};
use crate::server;
use crate::setup::{self, Failure, doing};
use crate::wire::{Blob, Launch, Launched, Mapping, Order, Plan, Prepared, Wire as _};

/// Everything but the network, which a plan may share, and mounts: those must be as they are when a session begins.
const NAMESPACES: u64 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP) as u64;

/// Serves until the host is gone; its sessions end by themselves then.
pub fn run(host: &Channel) -> io::Result<()> {
    signals::ignore_children()?;
    signals::ignore_broken_pipes()?;
    let mut owners = Owners::default();
    let mut spare = None;
    let mut served = 0;
    while let Some((launch, descriptors)) = host.receive::<Launch>()? {
        match start(&launch, descriptors, &mut owners, spare.take()) {
            Ok((pid, pidfd)) => host.send(&Launched::Started { pid }, &[pidfd.as_fd()])?,
            Err(failure) => {
                let answer = Launched::Failed { doing: Blob::from(&failure.doing), errno: failure.errno() };
                host.send(&answer, &[])?;
                continue;
            }
        }
        served += 1;
        if served >= SERVED_BEFORE_SPARE {
            // Without one the next session takes a little longer.
            spare = Waiting::start(Shape::of(&launch)).ok();
        }
    }
    Ok(())
}

/// A host that has one session only has no use for what would be ready for the next.
const SERVED_BEFORE_SPARE: u32 = 2;

/// What must be known of a session when its process 1 is cloned.
#[derive(Debug, PartialEq, Eq)]
struct Shape {
    identity: Option<Mapping>,
    user: u32,
    group: u32,
    own_network: u32,
}

impl Shape {
    fn of(launch: &Launch) -> Self {
        Self {
            identity: launch.identity.clone(),
            user: launch.user,
            group: launch.group,
            own_network: launch.own_network,
        }
    }
}

/// A process 1 that has its namespaces and waits for a plan. Making a network takes the kernel longer than everything
/// else, so one is kept ready. It ends when this is dropped.
#[derive(Debug)]
struct Waiting {
    shape: Shape,
    pid: u32,
    pidfd: OwnedFd,
    line: Channel,
}

impl Waiting {
    fn start(shape: Shape) -> Result<Self, Failure> {
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
            .map_err(doing("making a channel to the session"))?;
        let network = if shape.own_network == 1 { libc::CLONE_NEWNET as u64 } else { 0 };
        match clone::clone_into(NAMESPACES | network).map_err(doing("cloning into new namespaces"))? {
            Cloned::Child => {
                // Else it would not see the end of the other side.
                drop(ours);
                session(&Channel::new(theirs))
            }
            Cloned::Parent { pid, pidfd } => {
                if let Some(identity) = &shape.identity {
                    map_identity(pid, &shape, identity)?;
                }
                Ok(Self { shape, pid, pidfd, line: Channel::new(ours) })
            }
        }
    }
}

fn start(
    launch: &Launch,
    descriptors: Vec<OwnedFd>,
    owners: &mut Owners,
    spare: Option<Waiting>,
) -> Result<(u32, OwnedFd), Failure> {
    let mut descriptors = descriptors.into_iter();
    let control = descriptors.next().ok_or_else(|| missing("the control channel"))?;
    let mounts = prepare(launch, descriptors, owners)?;
    let shape = Shape::of(launch);
    let waiting = match spare.filter(|spare| spare.shape == shape) {
        Some(spare) => spare,
        None => Waiting::start(shape)?,
    };
    let passed: Vec<BorrowedFd<'_>> =
        std::iter::once(&control).chain(&mounts).map(|descriptor| descriptor.as_fd()).collect();
    waiting.line.send(&launch.plan, &passed).map_err(doing("passing the plan on"))?;
    Ok((waiting.pid, waiting.pidfd))
}

/// The life of a process 1. Never returns: the launcher's own loop must not run in it.
fn session(line: &Channel) -> ! {
    let Ok(Some((plan, descriptors))) = line.receive::<Blob>() else { clone::leave(0) };
    let Ok(plan) = Plan::from_bytes(&plan.0) else { clone::leave(0) };
    let mut descriptors = descriptors.into_iter();
    let Some(control) = descriptors.next().map(Channel::new) else { clone::leave(0) };
    let code = match control.receive::<Order>() {
        Ok(Some((Order::Go {}, _))) => match setup::enter(&plan, descriptors.collect(), &control) {
            Ok(moved) => {
                // Its number was closed with everything else.
                std::mem::forget(control);
                server::run(moved)
            }
            Err(failure) => {
                setup::report(&control, &failure);
                125
            }
        },
        Ok(_) | Err(_) => 0,
    };
    clone::leave(code)
}

/// Root maps another, unprivileged identity from outside: files and kernel settings of the real root stay out of reach.
fn map_identity(pid: u32, shape: &Shape, identity: &Mapping) -> Result<(), Failure> {
    let write = |file: &str, inside: u32, outside: u32| {
        std::fs::write(format!("/proc/{pid}/{file}"), format!("{inside} {outside} 1"))
            .map_err(doing(format!("writing {file} of the session")))
    };
    write("gid_map", shape.group, identity.group)?;
    write("uid_map", shape.user, identity.user)
}

fn prepare(
    launch: &Launch,
    sources: impl Iterator<Item = OwnedFd>,
    owners: &mut Owners,
) -> Result<Vec<OwnedFd>, Failure> {
    let Some(identity) = &launch.identity else { return Ok(Vec::new()) };
    let pairs = launch.prepared.iter().zip(sources);
    pairs.map(|(prepared, source)| prepare_one(prepared, source.as_fd(), identity, owners)).collect()
}

fn prepare_one(
    prepared: &Prepared,
    source: BorrowedFd<'_>,
    identity: &Mapping,
    owners: &mut Owners,
) -> Result<OwnedFd, Failure> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    let mount =
        rustix::mount::open_tree(source, "", flags).map_err(doing("taking hold of a mount source"))?;
    let namespace = owners.namespace(&prepared.owner, identity)?;
    let mapped = mount_attributes::set(mount.as_fd(), prepared.attributes, Some(namespace));
    match mapped {
        Ok(()) => Ok(mount),
        // Some file systems cannot show other owners. What is only read can be read by permission bits for others.
        Err(_) if prepared.writable == 0 => {
            mount_attributes::set(mount.as_fd(), prepared.attributes, None)
                .map_err(doing("protecting a mount source"))?;
            Ok(mount)
        }
        Err(error) => Err(doing(
            "giving a mount source to the session's user (its file system may not support id-mapped mounts)",
        )(error)),
    }
}

/// User namespaces that say which owner on disk appears as which identity. Making one takes a process, so they are kept.
#[derive(Debug, Default)]
struct Owners(HashMap<[u32; 4], OwnedFd>);

impl Owners {
    fn namespace(&mut self, owner: &Mapping, identity: &Mapping) -> Result<BorrowedFd<'_>, Failure> {
        let key = [owner.user, owner.group, identity.user, identity.group];
        let namespace = match self.0.remove(&key) {
            Some(namespace) => namespace,
            None => make_namespace(owner, identity)?,
        };
        let kept: &OwnedFd = self.0.entry(key).or_insert(namespace);
        Ok(kept.as_fd())
    }
}

fn make_namespace(owner: &Mapping, identity: &Mapping) -> Result<OwnedFd, Failure> {
    let (reader, writer) =
        rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(doing("making a pipe"))?;
    match clone::clone_into(libc::CLONE_NEWUSER as u64).map_err(doing("cloning into a user namespace"))? {
        Cloned::Child => {
            drop(writer);
            // Lives until the other end of the pipe is closed.
            let _ = rustix::io::read(&reader, &mut [0; 1]);
            clone::leave(0)
        }
        Cloned::Parent { pid, .. } => {
            let write = |file: &str, from: u32, to: u32| {
                std::fs::write(format!("/proc/{pid}/{file}"), format!("{from} {to} 1"))
                    .map_err(doing(format!("writing {file} for a mount source")))
            };
            write("uid_map", owner.user, identity.user)?;
            write("gid_map", owner.group, identity.group)?;
            let path = format!("/proc/{pid}/ns/user");
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            rustix::fs::openat(CWD, path, flags, Mode::empty()).map_err(doing("opening a user namespace"))
        }
    }
}

fn missing(what: &str) -> Failure {
    Failure { doing: format!("receiving {what}"), error: io::ErrorKind::InvalidInput.into() }
}
