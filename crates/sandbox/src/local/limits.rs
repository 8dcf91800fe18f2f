//! How much a session may use when nothing is said, and how that is told to the kernel.

use fullsend_sandbox_init::wire::Limit;

use crate::spec::ResourceLimits;

const MIB: u64 = 1 << 20;

/// Processes and threads.
pub(crate) const PROCESSES: u32 = 2048;
/// The largest file, in MiB.
const FILE_SIZE_MB: u32 = 4096;
/// Private scratch space, in MiB.
const SCRATCH_MB: u32 = 1024;
/// Open files of a process.
pub(crate) const OPEN_FILES: u64 = 65_536;
/// Bytes kept of each output stream.
pub(crate) const OUTPUT_BYTES: u64 = 16 * MIB;
/// Files of the scratch space; small ones take more than their bytes.
pub(crate) const SCRATCH_FILES: u64 = 262_144;

/// How much later this limit of processes comes than the one of a control group, which counts how often it is hit.
const SECOND_LINE: u32 = 32;

/// Limits of each process. `alone` is set where no control group limits the session as a whole.
pub(crate) fn of_processes(limits: &ResourceLimits, alone: bool) -> Vec<Limit> {
    let processes = limits.processes.unwrap_or(PROCESSES).saturating_add(if alone { 0 } else { SECOND_LINE });
    let file_size = u64::from(limits.file_size_mb.unwrap_or(FILE_SIZE_MB)) * MIB;
    let mut list = vec![
        (libc::RLIMIT_CORE, 0),
        (libc::RLIMIT_NOFILE, OPEN_FILES.min(hard_limit(rustix::process::Resource::Nofile))),
        (libc::RLIMIT_NPROC, u64::from(processes)),
        (libc::RLIMIT_FSIZE, file_size),
        (libc::RLIMIT_MEMLOCK, (8 * MIB).min(hard_limit(rustix::process::Resource::Memlock))),
        (libc::RLIMIT_MSGQUEUE, 819_200),
        (libc::RLIMIT_RTPRIO, 0),
        (libc::RLIMIT_NICE, 0),
    ];
    if let Some(memory) = limits.memory_mb.filter(|_| alone) {
        // Only the last resort: programs set much more aside than they use, and use is what is watched.
        list.push((libc::RLIMIT_DATA, u64::from(memory) * MIB * 8));
    }
    list.into_iter().map(|(resource, value)| Limit { resource, value }).collect()
}

/// Limits can be lowered by anybody and raised by nobody.
fn hard_limit(resource: rustix::process::Resource) -> u64 {
    rustix::process::getrlimit(resource).maximum.unwrap_or(u64::MAX)
}

/// Bytes of the scratch space. It is a part of the session's memory, so no more than half of that: when files fill all
/// memory, ending processes does not free any.
pub(crate) fn scratch_bytes(limits: &ResourceLimits) -> u64 {
    u64::from(scratch_mb(limits)) * MIB
}

fn scratch_mb(limits: &ResourceLimits) -> u32 {
    let wanted = limits.scratch_mb.unwrap_or(SCRATCH_MB);
    limits.memory_mb.map_or(wanted, |memory| wanted.min(memory / 2))
}

/// The limits that hold, with the defaults in place of what is not set. Time, processors and memory have none.
pub(crate) fn effective(limits: &ResourceLimits) -> ResourceLimits {
    ResourceLimits {
        processes: Some(limits.processes.unwrap_or(PROCESSES)),
        file_size_mb: Some(limits.file_size_mb.unwrap_or(FILE_SIZE_MB)),
        scratch_mb: Some(scratch_mb(limits)),
        output_bytes: Some(limits.output_bytes.unwrap_or(OUTPUT_BYTES)),
        ..limits.clone()
    }
}
