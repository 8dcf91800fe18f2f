//! Which calls are refused, and why they are no loss.

use super::FilterOptions;

/// What is done with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// Refused, and reported where possible.
    Refuse,
    /// Fails with an error number, without a report: programs try these as a matter of course.
    Fail(i32),
    /// Reported, then carried out.
    Report,
    /// Refused when an argument has one of the bits.
    RefuseBits { argument: u32, bits: u32 },
    /// Refused when a file mode has the set-user-id or set-group-id bit.
    RefuseModeBits { argument: u32, otherwise: Otherwise },
    /// The same for calls that take a mode only when they make a file.
    RefuseModeBitsOfNew { flags: u32, mode: u32, otherwise: Otherwise },
    /// Refused for these values.
    RefuseValues { argument: u32, values: Vec<u32> },
    /// Refused for all other values.
    AllowValues { argument: u32, values: Vec<u32> },
    /// Fails with an error number for all other values, without a report.
    FailUnless { argument: u32, values: Vec<u32>, number: i32 },
}

/// What happens to a call whose check found nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Otherwise {
    Allow,
    Report,
}

impl Otherwise {
    pub(super) fn verdict(self) -> u32 {
        match self {
            Self::Allow => libc::SECCOMP_RET_ALLOW,
            Self::Report => libc::SECCOMP_RET_USER_NOTIF,
        }
    }
}

/// The highest number when this table was written (`file_setattr` of Linux 6.17).
pub(super) const NEWEST_KNOWN: u32 = 469;

type Row = (&'static str, i64);

/// Memory that is not seen in any process: files without a name, segments of System V.
const UNSEEN_MEMORY: &[i64] = &[libc::SYS_memfd_create, libc::SYS_memfd_secret, libc::SYS_shmget];

/// Ways to change what is mounted, to leave or make namespaces, and to see other processes' memory.
const ISOLATION: &[Row] = &[
    ("mount", libc::SYS_mount),
    ("umount2", libc::SYS_umount2),
    ("pivot_root", libc::SYS_pivot_root),
    ("chroot", libc::SYS_chroot),
    ("open_tree", libc::SYS_open_tree),
    ("move_mount", libc::SYS_move_mount),
    ("fsopen", libc::SYS_fsopen),
    ("fsconfig", libc::SYS_fsconfig),
    ("fsmount", libc::SYS_fsmount),
    ("fspick", libc::SYS_fspick),
    ("mount_setattr", libc::SYS_mount_setattr),
    ("open_tree_attr", 467),
    ("unshare", libc::SYS_unshare),
    ("setns", libc::SYS_setns),
    ("ptrace", libc::SYS_ptrace),
    ("process_vm_readv", libc::SYS_process_vm_readv),
    ("process_vm_writev", libc::SYS_process_vm_writev),
    ("process_madvise", libc::SYS_process_madvise),
    ("pidfd_getfd", libc::SYS_pidfd_getfd),
    ("kcmp", libc::SYS_kcmp),
    ("open_by_handle_at", libc::SYS_open_by_handle_at),
    ("name_to_handle_at", libc::SYS_name_to_handle_at),
];

/// Large kernel interfaces with a history of holes, and ways around this filter.
const ATTACK_SURFACE: &[Row] = &[
    ("bpf", libc::SYS_bpf),
    ("perf_event_open", libc::SYS_perf_event_open),
    ("userfaultfd", libc::SYS_userfaultfd),
    ("io_uring_setup", libc::SYS_io_uring_setup),
    ("io_uring_enter", libc::SYS_io_uring_enter),
    ("io_uring_register", libc::SYS_io_uring_register),
    ("add_key", libc::SYS_add_key),
    ("request_key", libc::SYS_request_key),
    ("keyctl", libc::SYS_keyctl),
    ("fanotify_init", libc::SYS_fanotify_init),
    ("fanotify_mark", libc::SYS_fanotify_mark),
];

/// Placement of memory. Programs try it and go on without, so it is refused quietly.
const PLACEMENT: &[i64] = &[
    libc::SYS_mbind,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_set_mempolicy,
    libc::SYS_set_mempolicy_home_node,
];

/// The machine itself: modules, clocks, swap, logs.
const MACHINE: &[Row] = &[
    ("init_module", libc::SYS_init_module),
    ("finit_module", libc::SYS_finit_module),
    ("delete_module", libc::SYS_delete_module),
    ("kexec_load", libc::SYS_kexec_load),
    ("kexec_file_load", libc::SYS_kexec_file_load),
    ("reboot", libc::SYS_reboot),
    ("swapon", libc::SYS_swapon),
    ("swapoff", libc::SYS_swapoff),
    ("acct", libc::SYS_acct),
    ("quotactl", libc::SYS_quotactl),
    ("quotactl_fd", 443),
    ("nfsservctl", libc::SYS_nfsservctl),
    ("settimeofday", libc::SYS_settimeofday),
    ("clock_settime", libc::SYS_clock_settime),
    ("clock_adjtime", libc::SYS_clock_adjtime),
    ("adjtimex", libc::SYS_adjtimex),
    ("syslog", libc::SYS_syslog),
    ("sethostname", libc::SYS_sethostname),
    ("setdomainname", libc::SYS_setdomainname),
    ("vhangup", libc::SYS_vhangup),
    ("lookup_dcookie", libc::SYS_lookup_dcookie),
];

#[cfg(target_arch = "x86_64")]
const OLD: &[Row] = &[
    ("iopl", libc::SYS_iopl),
    ("ioperm", libc::SYS_ioperm),
    ("modify_ldt", libc::SYS_modify_ldt),
    ("uselib", libc::SYS_uselib),
    ("ustat", libc::SYS_ustat),
    ("sysfs", libc::SYS_sysfs),
    ("_sysctl", libc::SYS__sysctl),
];
#[cfg(target_arch = "aarch64")]
const OLD: &[Row] = &[];

/// Calls with a path in an argument that are reported when paths are watched. Those that make files are in
/// [`creating`].
#[cfg(target_arch = "x86_64")]
const WITH_PATHS: &[Row] = &[
    ("stat", libc::SYS_stat),
    ("lstat", libc::SYS_lstat),
    ("access", libc::SYS_access),
    ("truncate", libc::SYS_truncate),
    ("chdir", libc::SYS_chdir),
    ("rename", libc::SYS_rename),
    ("rmdir", libc::SYS_rmdir),
    ("unlink", libc::SYS_unlink),
    ("newfstatat", libc::SYS_newfstatat),
    ("statx", libc::SYS_statx),
    ("faccessat", libc::SYS_faccessat),
    ("faccessat2", libc::SYS_faccessat2),
    ("unlinkat", libc::SYS_unlinkat),
    ("renameat", libc::SYS_renameat),
    ("renameat2", libc::SYS_renameat2),
];
#[cfg(target_arch = "aarch64")]
const WITH_PATHS: &[Row] = &[
    ("truncate", libc::SYS_truncate),
    ("chdir", libc::SYS_chdir),
    ("newfstatat", libc::SYS_newfstatat),
    ("statx", libc::SYS_statx),
    ("faccessat", libc::SYS_faccessat),
    ("faccessat2", libc::SYS_faccessat2),
    ("unlinkat", libc::SYS_unlinkat),
    ("renameat2", libc::SYS_renameat2),
];

/// All rules for a session.
pub(super) fn rows(options: FilterOptions) -> Vec<(u32, Check)> {
    let refused = [ISOLATION, ATTACK_SURFACE, MACHINE, OLD].concat();
    let mut rules: Vec<(u32, Check)> =
        refused.into_iter().map(|(_, number)| (number as u32, Check::Refuse)).collect();
    rules.extend(PLACEMENT.iter().map(|number| (*number as u32, Check::Fail(libc::EPERM))));
    rules.extend(by_argument(options));
    rules.extend(creating(if options.watch_paths { Otherwise::Report } else { Otherwise::Allow }));
    if options.memory_by_process {
        rules.extend(UNSEEN_MEMORY.iter().map(|number| (*number as u32, Check::Fail(libc::ENOSYS))));
    }
    if options.listed_programs {
        // A file in memory is on no mount that could forbid executing it.
        rules.push((libc::SYS_memfd_create as u32, Check::Fail(libc::ENOSYS)));
    }
    if options.fixed_processors {
        rules.push((libc::SYS_sched_setaffinity as u32, Check::Refuse));
    }
    if options.watch_paths {
        rules.extend(WITH_PATHS.iter().map(|(_, number)| (*number as u32, Check::Report)));
    }
    rules
}

fn by_argument(options: FilterOptions) -> Vec<(u32, Check)> {
    let new_namespaces = (libc::CLONE_NEWNS
        | libc::CLONE_NEWCGROUP
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUSER
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET) as u32
        | 0x80;
    let mut families = vec![libc::AF_UNIX as u32];
    if options.internet_sockets {
        families.extend([libc::AF_INET as u32, libc::AF_INET6 as u32]);
    }
    let unsupported = libc::EAFNOSUPPORT;
    vec![
        // These pass what they do in memory, where a filter cannot look: libraries fall back to the older calls.
        (libc::SYS_clone3 as u32, Check::Fail(libc::ENOSYS)),
        (libc::SYS_openat2 as u32, Check::Fail(libc::ENOSYS)),
        (libc::SYS_clone as u32, Check::RefuseBits { argument: 0, bits: new_namespaces }),
        (libc::SYS_socket as u32, Check::FailUnless { argument: 0, values: families, number: unsupported }),
        (
            libc::SYS_socketpair as u32,
            Check::FailUnless { argument: 0, values: vec![libc::AF_UNIX as u32], number: unsupported },
        ),
        // Typing into somebody else's terminal.
        (
            libc::SYS_ioctl as u32,
            Check::RefuseValues { argument: 1, values: vec![libc::TIOCSTI as u32, libc::TIOCLINUX as u32] },
        ),
        // Limits are a process's own: those of process 1 are those of all later commands.
        (libc::SYS_prlimit64 as u32, Check::FailUnless { argument: 0, values: vec![0], number: libc::EPERM }),
        // Asking is fine, turning off address randomisation is not.
        (libc::SYS_personality as u32, Check::AllowValues { argument: 0, values: vec![0, u32::MAX] }),
        // A listener of its own would answer in place of the host's.
        (
            libc::SYS_seccomp as u32,
            Check::RefuseBits { argument: 1, bits: libc::SECCOMP_FILTER_FLAG_NEW_LISTENER as u32 },
        ),
    ]
}

/// Calls that set file modes: on an id-mapped directory a set-user-id file would belong to the host's user.
fn creating(otherwise: Otherwise) -> Vec<(u32, Check)> {
    let mode = |number: i64, argument| (number as u32, Check::RefuseModeBits { argument, otherwise });
    let new =
        |number: i64, flags, mode| (number as u32, Check::RefuseModeBitsOfNew { flags, mode, otherwise });
    let mut rules = vec![
        (libc::SYS_fchmod as u32, Check::RefuseModeBits { argument: 1, otherwise: Otherwise::Allow }),
        mode(libc::SYS_fchmodat, 2),
        mode(452, 2),
        mode(libc::SYS_mkdirat, 2),
        mode(libc::SYS_mknodat, 2),
        new(libc::SYS_openat, 2, 3),
    ];
    #[cfg(target_arch = "x86_64")]
    rules.extend([
        mode(libc::SYS_chmod, 1),
        mode(libc::SYS_mkdir, 1),
        mode(libc::SYS_mknod, 1),
        mode(libc::SYS_creat, 1),
        new(libc::SYS_open, 1, 2),
    ]);
    rules
}

/// The name of a call that the filter may refuse.
pub(crate) fn name(number: i32) -> Option<&'static str> {
    let others: &[Row] = &[
        ("clone", libc::SYS_clone),
        ("ioctl", libc::SYS_ioctl),
        ("personality", libc::SYS_personality),
        ("seccomp", libc::SYS_seccomp),
        ("sched_setaffinity", libc::SYS_sched_setaffinity),
    ];
    let all = [ISOLATION, ATTACK_SURFACE, MACHINE, OLD, others];
    all.into_iter().flatten().find(|(_, of)| *of == i64::from(number)).map(|(name, _)| *name)
}
