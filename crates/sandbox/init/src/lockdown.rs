//! What is given up for good before the first command: limits, capabilities, file access, system calls.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets, CpuSet};

use crate::kernel::landlock::Ruleset;
use crate::kernel::seccomp;
use crate::setup::{Failure, doing};
use crate::wire::{Landlock, Plan};

/// Sets the limits of every process of the session.
pub fn limit(plan: &Plan) -> Result<(), Failure> {
    for limit in &plan.limits {
        let resource = resource(limit.resource)?;
        let value = rustix::process::Rlimit { current: Some(limit.value), maximum: Some(limit.value) };
        rustix::process::setrlimit(resource, value)
            .map_err(|error| doing(format!("limiting {resource:?}"))(error))?;
    }
    if plan.processors > 0 {
        use_processors(plan.processors).map_err(doing("limiting processors"))
    } else {
        Ok(())
    }
}

fn resource(number: u32) -> Result<rustix::process::Resource, Failure> {
    use rustix::process::Resource;
    let known = [
        (libc::RLIMIT_CORE, Resource::Core),
        (libc::RLIMIT_NOFILE, Resource::Nofile),
        (libc::RLIMIT_NPROC, Resource::Nproc),
        (libc::RLIMIT_FSIZE, Resource::Fsize),
        (libc::RLIMIT_MEMLOCK, Resource::Memlock),
        (libc::RLIMIT_DATA, Resource::Data),
        (libc::RLIMIT_MSGQUEUE, Resource::Msgqueue),
        (libc::RLIMIT_RTPRIO, Resource::Rtprio),
        (libc::RLIMIT_NICE, Resource::Nice),
    ];
    let found = known.into_iter().find(|(kernel, _)| *kernel == number).map(|(_, resource)| resource);
    found.ok_or_else(|| Failure {
        doing: format!("limiting resource {number}"),
        error: io::ErrorKind::InvalidInput.into(),
    })
}

/// The first of the processors that this process may use; the filter keeps commands from widening the set.
fn use_processors(count: u32) -> io::Result<()> {
    let allowed = rustix::thread::sched_getaffinity(None)?;
    let mut chosen = CpuSet::new();
    let mut left = count;
    for number in (0..CpuSet::MAX_CPU).filter(|number| allowed.is_set(*number)) {
        if left == 0 {
            break;
        }
        chosen.set(number);
        left -= 1;
    }
    Ok(rustix::thread::sched_setaffinity(None, &chosen)?)
}

/// Gives up every capability, and every way to get one back.
pub fn drop_privileges() -> Result<(), Failure> {
    rustix::thread::set_no_new_privs(true).map_err(doing("giving up new privileges"))?;
    let bits = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
        | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
    rustix::thread::set_capabilities_secure_bits(bits).map_err(doing("locking secure bits"))?;
    for number in 0..64 {
        match rustix::thread::remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(
            1 << number,
        )) {
            Ok(()) => {}
            // The first number that the kernel does not know.
            Err(rustix::io::Errno::INVAL) => break,
            Err(error) => return Err(doing("emptying the bounding set")(error)),
        }
    }
    rustix::thread::clear_ambient_capability_set().map_err(doing("clearing ambient capabilities"))?;
    rustix::thread::set_capabilities(None, no_capabilities()).map_err(doing("dropping capabilities"))?;
    let hidden = rustix::process::DumpableBehavior::NotDumpable;
    rustix::process::set_dumpable_behavior(hidden).map_err(doing("hiding process 1 from commands"))
}

fn no_capabilities() -> CapabilitySets {
    let none = CapabilitySet::empty();
    CapabilitySets { effective: none, permitted: none, inheritable: none }
}

/// Puts Landlock rules in force; they name files of the new root, so this comes after the switch to it.
pub fn restrict_files(landlock: Option<&Landlock>) -> Result<(), Failure> {
    let Some(landlock) = landlock else { return Ok(()) };
    let ruleset = Ruleset::new(landlock.handled, landlock.scoped).map_err(doing("making Landlock rules"))?;
    for rule in &landlock.rules {
        let failed = |error: io::Error| doing(format!("allowing access to {}", rule.path))(error);
        match rustix::fs::open(
            rule.path.0.as_slice(),
            OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW,
            Mode::empty(),
        ) {
            Ok(beneath) => ruleset.allow(beneath.as_fd(), rule.access).map_err(failed)?,
            Err(rustix::io::Errno::NOENT) => {}
            Err(error) => return Err(failed(error.into())),
        }
    }
    ruleset.restrict().map_err(doing("putting Landlock rules in force"))
}

/// Puts the filter for system calls in force; returns where refused calls are reported.
pub fn filter_calls(filter: &[u8], notify: bool) -> Result<Option<OwnedFd>, Failure> {
    let notifier =
        seccomp::install(filter, notify).map_err(doing("putting the system call filter in force"))?;
    require(seccomp::mode() == 2, "system calls are filtered")?;
    Ok(notifier)
}

/// Looks at the result instead of trusting the steps.
pub fn verify(plan: &Plan) -> Result<(), Failure> {
    let capabilities = rustix::thread::capabilities(None).map_err(doing("reading capabilities"))?;
    require(capabilities == no_capabilities(), "capabilities are gone")?;
    require(rustix::thread::no_new_privs().unwrap_or(false), "no new privileges can be had")?;
    require(rustix::process::geteuid().as_raw() == plan.user, "the user is the session's")?;
    let write =
        rustix::fs::open("/proc/sys/kernel/core_pattern", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
    require(write.is_err(), "kernel settings cannot be written")?;
    let maps = std::fs::read_to_string("/proc/self/uid_map").map_err(doing("reading the user map"))?;
    let host_user = maps.split_whitespace().nth(1);
    require(
        host_user.is_some_and(|user| user != "0") && maps.lines().count() == 1,
        "the user is not the host's root",
    )?;
    if plan.own_network == 1 { verify_network() } else { Ok(()) }
}

/// Nothing outside can be reached: not even the attempt finds a route.
fn verify_network() -> Result<(), Failure> {
    use rustix::net::{AddressFamily, SocketAddrV4, SocketType, connect, socket};
    let Ok(socket) = socket(AddressFamily::INET, SocketType::DGRAM, None) else { return Ok(()) };
    let outside = SocketAddrV4::new(std::net::Ipv4Addr::new(192, 0, 2, 1), 9);
    require(connect(&socket, &outside).is_err(), "the network leads nowhere")
}

fn require(holds: bool, what: &str) -> Result<(), Failure> {
    if holds {
        return Ok(());
    }
    Err(Failure { doing: format!("checking that {what}"), error: io::Error::from_raw_os_error(libc::EPERM) })
}
