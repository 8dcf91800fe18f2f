//! How much a container may use when nothing is said.

use crate::local::limits;
use crate::spec::ResourceLimits;

/// Memory of a session, in MiB.
const MEMORY_MB: u32 = 4096;
/// Scratch space of a session, in MiB.
const SCRATCH_MB: u32 = 1024;
/// The largest file, in MiB.
const FILE_SIZE_MB: u32 = 4096;

/// The limits that hold, with the defaults in place of what is not set. Time and processors have none.
pub(crate) fn effective(limits: &ResourceLimits) -> ResourceLimits {
    ResourceLimits {
        memory_mb: Some(memory_mb(limits)),
        processes: Some(processes(limits)),
        file_size_mb: Some(file_size_mb(limits)),
        scratch_mb: Some(scratch_mb(limits)),
        output_bytes: Some(limits.output_bytes.unwrap_or(limits::OUTPUT_BYTES)),
        ..limits.clone()
    }
}

pub(super) fn memory_mb(limits: &ResourceLimits) -> u32 {
    limits.memory_mb.unwrap_or(MEMORY_MB)
}

pub(super) fn processes(limits: &ResourceLimits) -> u32 {
    limits.processes.unwrap_or(limits::PROCESSES)
}

pub(super) fn file_size_mb(limits: &ResourceLimits) -> u32 {
    limits.file_size_mb.unwrap_or(FILE_SIZE_MB)
}

/// Scratch space is memory: it never takes more than half of it, so that processes can still run when it is full.
pub(super) fn scratch_mb(limits: &ResourceLimits) -> u32 {
    limits.scratch_mb.unwrap_or(SCRATCH_MB).min(memory_mb(limits) / 2)
}
