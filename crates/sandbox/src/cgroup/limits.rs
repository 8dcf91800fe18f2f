//! Limits and the files that they are written to.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use super::Version;
use crate::error::SandboxError;

/// The time over which processor use is counted, in microseconds.
const CPU_PERIOD: u64 = 100_000;

/// What a group limits; what is not set is not limited by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CgroupLimits {
    /// Memory of all processes together, swap included.
    pub memory_bytes: Option<u64>,
    /// Processors that they share.
    pub cpu_count: Option<u32>,
    /// Processes and threads at a time.
    pub processes: Option<u32>,
}

/// A part of the kernel that limits one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    /// Memory.
    Memory,
    /// Processor time.
    Cpu,
    /// The number of processes.
    Pids,
}

impl Controller {
    pub(super) const ALL: [Self; 3] = [Self::Memory, Self::Cpu, Self::Pids];

    /// As the kernel spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Cpu => "cpu",
            Self::Pids => "pids",
        }
    }

    pub(super) fn limit_name(self) -> &'static str {
        match self {
            Self::Memory => "memory limits",
            Self::Cpu => "processor limits",
            Self::Pids => "process limits",
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|controller| controller.name() == name)
    }
}

impl CgroupLimits {
    /// Small enough to be set anywhere; for finding out whether limits can be set at all.
    pub(super) const PROBE: Self =
        Self { memory_bytes: Some(1 << 30), cpu_count: Some(1), processes: Some(1024) };

    /// The controllers that the limits need.
    pub(super) fn controllers(&self) -> impl Iterator<Item = Controller> + use<> {
        let set = [
            (Controller::Memory, self.memory_bytes.is_some()),
            (Controller::Cpu, self.cpu_count.is_some()),
            (Controller::Pids, self.processes.is_some()),
        ];
        set.into_iter().filter_map(|(controller, is_set)| is_set.then_some(controller))
    }

    pub(super) fn check(&self) -> Result<(), SandboxError> {
        for (name, is_zero) in [
            ("memory", self.memory_bytes == Some(0)),
            ("processor", self.cpu_count == Some(0)),
            ("process", self.processes == Some(0)),
        ] {
            if is_zero {
                return Err(SandboxError::InvalidRequest(format!(
                    "a {name} limit of 0 lets nothing run; leave the limit out or give a larger one"
                )));
            }
        }
        Ok(())
    }

    /// Writes the limit of one controller into a group.
    pub(super) fn write(&self, group: &Path, version: Version, controller: Controller) -> io::Result<()> {
        match controller {
            Controller::Memory => {
                self.memory_bytes.map_or(Ok(()), |bytes| write_memory(group, version, bytes))
            }
            Controller::Cpu => self.cpu_count.map_or(Ok(()), |count| write_cpu(group, version, count)),
            Controller::Pids => {
                self.processes.map_or(Ok(()), |count| write(group, "pids.max", &count.to_string()))
            }
        }
    }
}

fn write_memory(group: &Path, version: Version, bytes: u64) -> io::Result<()> {
    let bytes = bytes.to_string();
    match version {
        Version::V2 => {
            write(group, "memory.max", &bytes)?;
            write_if_there(group, "memory.swap.max", "0")?;
            // One process is enough: the first of a session is among them, and should outlive its commands.
            write_if_there(group, "memory.oom.group", "0")
        }
        Version::V1 => {
            write(group, "memory.limit_in_bytes", &bytes)?;
            // Where swap is not counted, at least none is used by choice.
            write_if_there(group, "memory.swappiness", "0")?;
            write_if_there(group, "memory.memsw.limit_in_bytes", &bytes)
        }
    }
}

fn write_cpu(group: &Path, version: Version, count: u32) -> io::Result<()> {
    let quota = u64::from(count) * CPU_PERIOD;
    match version {
        Version::V2 => write(group, "cpu.max", &format!("{quota} {CPU_PERIOD}")),
        Version::V1 => {
            write(group, "cpu.cfs_period_us", &CPU_PERIOD.to_string())?;
            write(group, "cpu.cfs_quota_us", &quota.to_string())
        }
    }
}

/// Writes to a file of the kernel's; unlike a file of ours it is never created.
pub(super) fn write(group: &Path, file: &str, value: &str) -> io::Result<()> {
    use std::io::Write as _;
    let path = group.join(file);
    let mut file = fs::OpenOptions::new().write(true).open(&path)?;
    file.write_all(value.as_bytes())
}

fn write_if_there(group: &Path, file: &str, value: &str) -> io::Result<()> {
    match write(group, file, value) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
