//! A group with limits, in as many trees as it needs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

use super::limits::write;
use super::place::Place;
use super::{CgroupLimits, Controller, Version};
use crate::error::SandboxError;

/// How often removal is tried while processes are on their way out.
const REMOVAL_ATTEMPTS: u32 = 400;
/// How long between two attempts.
const REMOVAL_PAUSE: Duration = Duration::from_millis(5);
/// How often the list of processes is read again for ones that were started meanwhile.
const KILL_ROUNDS: u32 = 200;

/// A control group of ours. Dropping it removes it if it is empty.
#[derive(Debug)]
#[must_use = "a group is removed when it is dropped"]
pub struct Leaf {
    groups: Vec<Group>,
}

/// The part of a leaf in one tree.
#[derive(Debug)]
struct Group {
    version: Version,
    path: PathBuf,
    controllers: Vec<Controller>,
}

impl Leaf {
    pub(super) fn new() -> Self {
        Self { groups: Vec::new() }
    }

    pub(super) fn is_nowhere(&self) -> bool {
        self.groups.is_empty()
    }

    /// Makes the group in one more tree and sets its limits.
    pub(super) fn add(
        &mut self,
        place: &Place,
        directory: &str,
        controllers: &[Controller],
        limits: &CgroupLimits,
    ) -> Result<(), SandboxError> {
        let path = place.parent.join(directory);
        fs::create_dir(&path)
            .map_err(SandboxError::io(format!("making the control group `{}`", path.display())))?;
        self.groups.push(Group {
            version: place.version,
            path: path.clone(),
            controllers: controllers.to_vec(),
        });
        for controller in controllers {
            limits.write(&path, place.version, *controller).map_err(|error| {
                SandboxError::Lifecycle(format!(
                    "cannot set {} on `{}`: {error}",
                    controller.limit_name(),
                    path.display()
                ))
            })?;
        }
        Ok(())
    }

    /// Puts a process, and whatever it starts from then on, into the group.
    pub fn attach(&self, pid: u32) -> Result<(), SandboxError> {
        for group in &self.groups {
            write(&group.path, "cgroup.procs", &pid.to_string()).map_err(|error| {
                let hint = if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) {
                    "; a process with real-time priority cannot be in a group with processor limits"
                } else {
                    ""
                };
                SandboxError::Lifecycle(format!(
                    "cannot put process {pid} into the control group `{}`: {error}{hint}",
                    group.path.display()
                ))
            })?;
        }
        Ok(())
    }

    /// How many processes were killed because the memory was used up.
    pub fn oom_kills(&self) -> u64 {
        self.group_of(Controller::Memory).map_or(0, |group| match group.version {
            Version::V2 => counter(&group.path, "memory.events", "oom_kill"),
            Version::V1 => counter(&group.path, "memory.oom_control", "oom_kill"),
        })
    }

    /// How often a process could not be started because there were too many.
    pub fn process_limit_hits(&self) -> u64 {
        self.group_of(Controller::Pids).map_or(0, |group| counter(&group.path, "pids.events", "max"))
    }

    /// Kills everything in the group.
    pub fn kill(&self) -> Result<(), SandboxError> {
        let unified = self.groups.iter().find(|group| group.version == Version::V2);
        match unified.map(|group| write(&group.path, "cgroup.kill", "1")) {
            Some(Ok(())) => Ok(()),
            // Before Linux 5.14 there is no such file.
            Some(Err(_)) | None => self.groups.first().map_or(Ok(()), |group| kill_each(&group.path)),
        }
    }

    /// Removes the group. Waits up to two seconds for processes that are on their way out.
    pub fn remove(mut self) -> Result<(), SandboxError> {
        let groups = std::mem::take(&mut self.groups);
        groups.iter().try_for_each(|group| {
            remove_within(&group.path, REMOVAL_ATTEMPTS).map_err(|error| {
                SandboxError::Lifecycle(format!(
                    "cannot remove the control group `{}`: {error}; processes in it are still alive",
                    group.path.display()
                ))
            })
        })
    }

    fn group_of(&self, controller: Controller) -> Option<&Group> {
        self.groups.iter().find(|group| group.controllers.contains(&controller))
    }
}

impl Drop for Leaf {
    fn drop(&mut self) {
        for group in &self.groups {
            // What is left has a dead owner one day, and is swept then.
            let _ = remove_within(&group.path, 4);
        }
    }
}

fn remove_within(path: &Path, attempts: u32) -> io::Result<()> {
    let mut attempt = 1;
    loop {
        match fs::remove_dir(path) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && attempt < attempts => {
                attempt += 1;
                sleep(REMOVAL_PAUSE);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Kills what is listed until nothing is; new processes may appear between reading and killing.
fn kill_each(group: &Path) -> Result<(), SandboxError> {
    for _ in 0..KILL_ROUNDS {
        let text = fs::read_to_string(group.join("cgroup.procs"))
            .map_err(SandboxError::io(format!("reading the processes of `{}`", group.display())))?;
        // Zero stands for a process that has no number here, and for our own group in the call.
        let listed: Vec<Pid> = text.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)).collect();
        if listed.is_empty() {
            return Ok(());
        }
        for pid in listed {
            // It may have ended meanwhile.
            let _ = kill_process(pid, Signal::KILL);
        }
        sleep(Duration::from_millis(1));
    }
    Err(SandboxError::Lifecycle(format!("processes in the control group `{}` do not die", group.display())))
}

/// A counter in a file of `name value` lines; 0 where the kernel does not count.
fn counter(group: &Path, file: &str, name: &str) -> u64 {
    let text = fs::read_to_string(group.join(file)).unwrap_or_default();
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok()).unwrap_or_default()
}
