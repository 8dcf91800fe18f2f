//! Landlock: file access, signals and abstract sockets limited to what rules name.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

use super::check;

const CREATE_RULESET_VERSION: u32 = 1;
const RULE_PATH_BENEATH: libc::c_int = 1;

/// What a ruleset is about; later kernels know more fields, which are zero then.
#[repr(C)]
struct RulesetAttributes {
    handled_access_fs: u64,
    handled_access_net: u64,
    scoped: u64,
}

/// A rule as the kernel reads it; its fields are not aligned.
#[repr(C, packed)]
struct PathBeneath {
    allowed_access: u64,
    parent_fd: i32,
}

/// The version of the interface that the kernel offers; an error when Landlock is not there.
pub fn version() -> io::Result<u32> {
    let none = std::ptr::null::<u8>();
    // SAFETY: with this flag the kernel takes no structure and returns a number.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0, CREATE_RULESET_VERSION) };
    check(version).map(|version| version as u32)
}

/// A set of rules that is not in force yet.
#[derive(Debug)]
pub struct Ruleset(OwnedFd);

impl Ruleset {
    /// Starts a ruleset that refuses these kinds of file access, and these scopes, unless a rule allows them.
    pub fn new(files: u64, scoped: u64) -> io::Result<Self> {
        let attributes = RulesetAttributes { handled_access_fs: files, handled_access_net: 0, scoped };
        // A kernel that does not know scopes refuses the longer structure, so they are left out when there are none.
        let size = if scoped == 0 { 16 } else { size_of::<RulesetAttributes>() };
        // SAFETY: `attributes` is valid for `size` bytes during the call.
        let created =
            unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, &raw const attributes, size, 0) };
        // SAFETY: on success the result is a new descriptor without another owner.
        check(created).map(|created| Self(unsafe { OwnedFd::from_raw_fd(created as i32) }))
    }

    /// Allows kinds of access to a file, or to everything below a directory.
    pub fn allow(&self, beneath: BorrowedFd<'_>, access: u64) -> io::Result<()> {
        let rule = PathBeneath { allowed_access: access, parent_fd: beneath.as_raw_fd() };
        // SAFETY: `rule` has the layout of the rule type and is valid during the call.
        let added = unsafe {
            libc::syscall(
                libc::SYS_landlock_add_rule,
                self.0.as_raw_fd(),
                RULE_PATH_BENEATH,
                &raw const rule,
                0,
            )
        };
        check(added).map(drop)
    }

    /// Puts the rules in force for this process and everything it starts, forever.
    pub fn restrict(self) -> io::Result<()> {
        // SAFETY: takes integers only.
        check(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, self.0.as_raw_fd(), 0) }).map(drop)
    }
}
