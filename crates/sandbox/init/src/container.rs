//! Process 1 of a container, which an engine has set up: locks itself in and serves.
//!
//! The engine has taken capabilities, devices and the host's files away before this program started; here that is
//! checked, and what the engine does not do is added: limits, the filter for system calls, hiding from commands.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::{Mode, OFlags};

use crate::kernel::{descriptors, signals};
use crate::lockdown;
use crate::relay::Relay;
use crate::server::{self, Control as _};
use crate::setup::{Failure, doing, open_listeners};
use crate::wire::{Blob, Event, Plan, Source};

/// Serves on standard input and output until the host is gone; returns the exit code.
pub fn run() -> i32 {
    let Ok(mut relay) = open_channel() else { return 125 };
    let plan = match relay.receive_plan() {
        Ok(Some(plan)) => plan,
        Ok(None) => return 0,
        Err(_) => return 125,
    };
    match enter(&plan, &mut relay) {
        Ok(ports) => {
            let ready = relay.send(&Event::Ready { ports, notifies: 0 }, &[]);
            if ready.is_err() { 125 } else { server::run(relay) }
        }
        Err(failure) => {
            let event = Event::Failed { doing: Blob::from(&failure.doing), errno: failure.errno() };
            // A host that cannot be told sees the end of the channel in any case.
            drop(relay.send(&event, &[]).and_then(|()| relay.flush()));
            125
        }
    }
}

/// Moves the channel away from the standard descriptors, which commands would otherwise find under `/proc/1/fd`.
fn open_channel() -> io::Result<Relay> {
    signals::ignore_broken_pipes()?;
    let input = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let output = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    let null: OwnedFd = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    descriptors::replace_standard(null.as_fd())?;
    Relay::new(input, output)
}

fn enter(plan: &Plan, relay: &mut Relay) -> Result<Vec<u32>, Failure> {
    // The engine has brought the loopback device up, and we could not.
    let (sockets, ports) = open_listeners(&Plan { own_network: 0, ..plan.clone() })?;
    let kinds = plan.listeners.iter().map(|listener| listener.kind.clone());
    relay.listen(kinds.zip(sockets).collect()).map_err(doing("listening inside"))?;
    plan.sources.iter().try_for_each(verify_mount)?;
    lockdown::limit(plan)?;
    lockdown::verify_container(plan)?;
    lockdown::filter_calls(&plan.filter.0, false)?;
    Ok(ports)
}

/// The engine mounts by path: what it found there must be what the host has looked at.
fn verify_mount(expected: &Source) -> Result<(), Failure> {
    let about = || format!("looking at mount {}", expected.path);
    let found = rustix::fs::stat(expected.path.0.as_slice()).map_err(doing(about()))?;
    if (found.st_dev, found.st_ino) == expected.identity {
        return Ok(());
    }
    let error = io::Error::from_raw_os_error(libc::ESTALE);
    Err(Failure { doing: format!("checking that mount {} is what was checked", expected.path), error })
}
