use super::assembler::Instruction;
use super::{FilterOptions, compile};

const OPTIONS: FilterOptions = FilterOptions {
    internet_sockets: false,
    fixed_processors: false,
    memory_by_process: false,
    listed_programs: false,
    notify: false,
    watch_paths: false,
};

#[cfg(target_arch = "x86_64")]
const NATIVE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const NATIVE: u32 = 0xC000_00B7;

const ALLOWED: u32 = libc::SECCOMP_RET_ALLOW;
const REFUSED: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;

/// Runs a filter as the kernel does.
fn judge(filter: &[u8], architecture: u32, number: u32, arguments: [u64; 6]) -> u32 {
    let data: Vec<u8> = number
        .to_ne_bytes()
        .into_iter()
        .chain(architecture.to_ne_bytes())
        .chain([0; 8])
        .chain(arguments.iter().flat_map(|argument| argument.to_ne_bytes()))
        .collect();
    let program: Vec<Instruction> = filter
        .chunks_exact(8)
        .map(|bytes| Instruction {
            code: u16::from_ne_bytes([bytes[0], bytes[1]]),
            if_true: bytes[2],
            if_false: bytes[3],
            value: u32::from_ne_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
        })
        .collect();
    let (mut next, mut accumulator) = (0, 0_u32);
    loop {
        let Instruction { code, if_true, if_false, value } = program[next];
        next += 1;
        let branch = |holds: bool| usize::from(if holds { if_true } else { if_false });
        match code {
            0x20 => accumulator = u32::from_ne_bytes(data[value as usize..][..4].try_into().unwrap()),
            0x54 => accumulator &= value,
            0x05 => next += value as usize,
            0x15 => next += branch(accumulator == value),
            0x35 => next += branch(accumulator >= value),
            0x45 => next += branch(accumulator & value != 0),
            0x06 => return value,
            other => panic!("unknown instruction {other:#x}"),
        }
    }
}

fn native(filter: &[u8], number: i64, arguments: [u64; 6]) -> u32 {
    judge(filter, NATIVE, number as u32, arguments)
}

#[test]
fn ordinary_calls_pass_and_listed_ones_do_not() {
    let filter = compile(OPTIONS);
    for number in [
        libc::SYS_read,
        libc::SYS_write,
        libc::SYS_execve,
        libc::SYS_futex,
        libc::SYS_sendmsg,
        libc::SYS_getpid,
    ] {
        assert_eq!(native(&filter, number, [0; 6]), ALLOWED, "{number}");
    }
    for number in [
        libc::SYS_mount,
        libc::SYS_io_uring_setup,
        libc::SYS_bpf,
        libc::SYS_keyctl,
        libc::SYS_setns,
        libc::SYS_kcmp,
    ] {
        assert_eq!(native(&filter, number, [0; 6]), REFUSED, "{number}");
    }
}

#[test]
fn other_interfaces_and_unknown_calls_are_closed() {
    let filter = compile(OPTIONS);
    assert_eq!(judge(&filter, 0x4000_0003, 102, [0; 6]), libc::SECCOMP_RET_KILL_PROCESS);
    let missing = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
    for number in [470, 999, 0x4000_0000 + 39, u32::MAX] {
        assert_eq!(judge(&filter, NATIVE, number, [0; 6]), missing, "{number}");
    }
    assert_eq!(native(&filter, libc::SYS_clone3, [0; 6]), missing);
}

#[test]
fn arguments_decide() {
    let filter = compile(OPTIONS);
    let unsupported = libc::SECCOMP_RET_ERRNO | libc::EAFNOSUPPORT as u32;
    assert_eq!(native(&filter, libc::SYS_clone, [libc::SIGCHLD as u64, 0, 0, 0, 0, 0]), ALLOWED);
    assert_eq!(native(&filter, libc::SYS_clone, [libc::CLONE_NEWUSER as u64, 0, 0, 0, 0, 0]), REFUSED);
    assert_eq!(native(&filter, libc::SYS_socket, [libc::AF_UNIX as u64, 1, 0, 0, 0, 0]), ALLOWED);
    for family in (0..50).filter(|family| *family != libc::AF_UNIX as u64) {
        assert_eq!(native(&filter, libc::SYS_socket, [family, 1, 0, 0, 0, 0]), unsupported, "{family}");
    }
    let connected = compile(FilterOptions { internet_sockets: true, ..OPTIONS });
    assert_eq!(native(&connected, libc::SYS_socket, [libc::AF_INET6 as u64, 1, 0, 0, 0, 0]), ALLOWED);
    assert_eq!(native(&connected, libc::SYS_socket, [libc::AF_VSOCK as u64, 1, 0, 0, 0, 0]), unsupported);
    // The upper half of the number is ignored by the kernel, so it must not hide the lower one.
    let hidden = 0xffff_ffff_0000_0000 | libc::TIOCSTI;
    assert_eq!(native(&filter, libc::SYS_ioctl, [0, hidden, 0, 0, 0, 0]), REFUSED);
    assert_eq!(native(&filter, libc::SYS_personality, [u64::from(u32::MAX), 0, 0, 0, 0, 0]), ALLOWED);
    assert_eq!(native(&filter, libc::SYS_personality, [0x0040_0000, 0, 0, 0, 0, 0]), REFUSED);
}

#[test]
fn no_file_gets_a_set_user_id_bit() {
    let filter = compile(OPTIONS);
    let create = libc::O_CREAT as u64;
    assert_eq!(native(&filter, libc::SYS_openat, [0, 0, create, 0o4755, 0, 0]), REFUSED);
    assert_eq!(native(&filter, libc::SYS_openat, [0, 0, create, 0o755, 0, 0]), ALLOWED);
    // Without creation the mode is whatever was in the register.
    assert_eq!(native(&filter, libc::SYS_openat, [0, 0, 0, 0o4755, 0, 0]), ALLOWED);
    assert_eq!(native(&filter, libc::SYS_openat, [0, 0, libc::O_TMPFILE as u64, 0o2755, 0, 0]), REFUSED);
    assert_eq!(native(&filter, libc::SYS_openat, [0, 0, libc::O_DIRECTORY as u64, 0o2755, 0, 0]), ALLOWED);
    for number in [libc::SYS_fchmodat, 452, libc::SYS_mkdirat, libc::SYS_mknodat] {
        assert_eq!(native(&filter, number, [0, 0, 0o2700, 0, 0, 0]), REFUSED, "{number}");
        assert_eq!(native(&filter, number, [0, 0, 0o1777, 0, 0, 0]), ALLOWED, "{number}");
    }
}

#[test]
fn reports_replace_plain_refusals_only_where_asked() {
    let filter = compile(FilterOptions { notify: true, ..OPTIONS });
    assert_eq!(native(&filter, libc::SYS_mount, [0; 6]), libc::SECCOMP_RET_USER_NOTIF);
    assert_eq!(native(&filter, libc::SYS_newfstatat, [0; 6]), ALLOWED);
    let watching = compile(FilterOptions { notify: true, watch_paths: true, ..OPTIONS });
    assert_eq!(native(&watching, libc::SYS_newfstatat, [0; 6]), libc::SECCOMP_RET_USER_NOTIF);
    assert_eq!(native(&watching, libc::SYS_openat, [0, 0, 0, 0, 0, 0]), libc::SECCOMP_RET_USER_NOTIF);
    assert_eq!(native(&watching, libc::SYS_read, [0; 6]), ALLOWED);
}
