//! Starting programs and learning how they ended.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

use super::signals::{empty_set, full_set};
use super::{check, clone};

/// A program to start in a session of its own, with all signals as they are by default.
#[derive(Debug)]
pub struct Program<'a> {
    /// The file.
    pub path: &'a CStr,
    /// Its arguments, its name first.
    pub arguments: &'a [CString],
    /// Its whole environment.
    pub environment: &'a [CString],
    /// Where it starts.
    pub directory: &'a CStr,
    /// What its standard descriptors are.
    pub standard: Standard<'a>,
}

/// Where a program reads and writes.
#[derive(Debug)]
pub enum Standard<'a> {
    /// Input, output and error.
    Descriptors([BorrowedFd<'a>; 3]),
    /// A terminal, which becomes the one that controls the program.
    Terminal(&'a CStr),
}

/// How a process ended and what it used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// The status as the kernel gives it.
    pub status: i32,
    /// Microseconds of processor time in the program.
    pub user_us: u64,
    /// Microseconds of processor time in the kernel.
    pub system_us: u64,
    /// The largest resident size, in KiB.
    pub max_rss_kb: u64,
}

/// Starts a program and returns its process. The memory of this process is not copied.
pub fn spawn(program: &Program<'_>) -> io::Result<i32> {
    let arguments = pointers(program.arguments);
    let environment = pointers(program.environment);
    let mut pid: libc::pid_t = 0;
    let actions = Actions::new(program)?;
    let attributes = Attributes::new()?;
    // SAFETY: all pointers are to valid objects that live during the call; both arrays end with a null pointer.
    let failed = unsafe {
        libc::posix_spawn(
            &raw mut pid,
            program.path.as_ptr(),
            &raw const actions.0,
            &raw const attributes.0,
            arguments.as_ptr(),
            environment.as_ptr(),
        )
    };
    if failed == 0 { Ok(pid) } else { Err(io::Error::from_raw_os_error(failed)) }
}

fn pointers(strings: &[CString]) -> Vec<*mut libc::c_char> {
    strings.iter().map(|string| string.as_ptr().cast_mut()).chain([std::ptr::null_mut()]).collect()
}

/// What happens to descriptors and the directory between fork and exec.
struct Actions(libc::posix_spawn_file_actions_t);

impl Actions {
    fn new(program: &Program<'_>) -> io::Result<Self> {
        // SAFETY: an all-zero object is initialised by the call that follows, before anything else uses it.
        let mut actions = unsafe { std::mem::zeroed() };
        // SAFETY: see above.
        failed(unsafe { libc::posix_spawn_file_actions_init(&raw mut actions) })?;
        let mut actions = Self(actions);
        actions.directory(program.directory)?;
        match &program.standard {
            Standard::Descriptors(descriptors) => {
                for (number, descriptor) in (0..).zip(descriptors) {
                    actions.duplicate(descriptor.as_raw_fd(), number)?;
                }
            }
            Standard::Terminal(path) => {
                actions.open(0, path)?;
                actions.duplicate(0, 1)?;
                actions.duplicate(0, 2)?;
            }
        }
        Ok(actions)
    }

    fn directory(&mut self, path: &CStr) -> io::Result<()> {
        // SAFETY: the object is initialised, the string is copied by the call.
        failed(unsafe { libc::posix_spawn_file_actions_addchdir_np(&raw mut self.0, path.as_ptr()) })
    }

    fn duplicate(&mut self, from: i32, to: i32) -> io::Result<()> {
        // SAFETY: the object is initialised.
        failed(unsafe { libc::posix_spawn_file_actions_adddup2(&raw mut self.0, from, to) })
    }

    fn open(&mut self, number: i32, path: &CStr) -> io::Result<()> {
        // SAFETY: the object is initialised, the string is copied by the call.
        failed(unsafe {
            libc::posix_spawn_file_actions_addopen(&raw mut self.0, number, path.as_ptr(), libc::O_RDWR, 0)
        })
    }
}

impl Drop for Actions {
    fn drop(&mut self) {
        // SAFETY: the object was initialised in `new` and is not used again.
        unsafe { libc::posix_spawn_file_actions_destroy(&raw mut self.0) };
    }
}

/// A new session and no inherited signal settings.
struct Attributes(libc::posix_spawnattr_t);

impl Attributes {
    fn new() -> io::Result<Self> {
        const FLAGS: libc::c_int = libc::POSIX_SPAWN_SETSID as libc::c_int
            | libc::POSIX_SPAWN_SETSIGMASK
            | libc::POSIX_SPAWN_SETSIGDEF;
        let (held_back, reset) = (empty_set(), full_set());
        // SAFETY: an all-zero object is initialised by the first call; the sets are valid during theirs.
        unsafe {
            let mut attributes = Self(std::mem::zeroed());
            failed(libc::posix_spawnattr_init(&raw mut attributes.0))?;
            failed(libc::posix_spawnattr_setflags(&raw mut attributes.0, FLAGS as libc::c_short))?;
            failed(libc::posix_spawnattr_setsigmask(&raw mut attributes.0, &raw const held_back))?;
            failed(libc::posix_spawnattr_setsigdefault(&raw mut attributes.0, &raw const reset))?;
            Ok(attributes)
        }
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: the object was initialised in `new` and is not used again.
        unsafe { libc::posix_spawnattr_destroy(&raw mut self.0) };
    }
}

fn failed(error: libc::c_int) -> io::Result<()> {
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

/// Copies this process, which must have one thread only.
pub fn fork() -> io::Result<Option<i32>> {
    // SAFETY: the process has one thread, so no lock can be held by a thread that is not copied.
    match check(unsafe { libc::fork() }.into())? {
        0 => Ok(None),
        pid => Ok(Some(pid as i32)),
    }
}

/// What waiting for any child came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// A child has ended.
    Ended(i32, Ending),
    /// Children are there, and none has ended.
    NoneYet,
    /// There are no children.
    NoChildren,
}

/// Whether to wait for a child that has not ended yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Look and return.
    Look,
    /// Wait.
    Wait,
}

/// Takes one ended child.
pub fn wait_any(patience: Patience) -> io::Result<Waited> {
    // SAFETY: all zeros is a valid value of this plain structure.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let mut status = 0;
    let options = libc::__WALL | if patience == Patience::Look { libc::WNOHANG } else { 0 };
    loop {
        // SAFETY: both pointers are to valid objects of ours.
        let pid = unsafe { libc::wait4(-1, &raw mut status, options, &raw mut usage) };
        match pid {
            0 => return Ok(Waited::NoneYet),
            1.. => return Ok(Waited::Ended(pid, ending(status, &usage))),
            _ => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error if error.raw_os_error() == Some(libc::ECHILD) => return Ok(Waited::NoChildren),
                error => return Err(error),
            },
        }
    }
}

fn ending(status: i32, usage: &libc::rusage) -> Ending {
    let microseconds =
        |time: libc::timeval| (time.tv_sec as u64).saturating_mul(1_000_000) + time.tv_usec as u64;
    Ending {
        status,
        user_us: microseconds(usage.ru_utime),
        system_us: microseconds(usage.ru_stime),
        max_rss_kb: usage.ru_maxrss as u64,
    }
}

/// Ends this process as one that was copied, see [`clone::leave`].
pub fn leave(code: i32) -> ! {
    clone::leave(code)
}
