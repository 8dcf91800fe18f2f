//! Limits for a whole process tree, by control groups.
//!
//! Everything is plain reading and writing of files below `/sys/fs/cgroup`. What works is found out by doing it: a
//! probe group is made, its limits are written, and it is removed. Groups are made below this process's own, or beside
//! it where the parent was handed to the caller, so limits that already hold for the caller hold for the sandbox too.

mod leaf;
mod limits;
mod membership;
mod owner;
mod place;

use std::fs;
use std::path::{Path, PathBuf};

pub use leaf::Leaf;
pub use limits::{CgroupLimits, Controller};
use membership::Membership;
use place::Place;

use crate::error::SandboxError;
use crate::layer::Layer;

/// Which versions of control groups the machine has mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One tree for all controllers.
    V2,
    /// A tree for each controller.
    V1,
    /// Controllers as in version 1, and a version 2 tree beside them.
    Hybrid,
    /// None.
    None,
}

/// A version of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// A tree for each controller.
    V1,
    /// One tree for all controllers.
    V2,
}

/// Whether one kind of limit can be enforced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Support {
    /// It can: a group was made and the limit was set on it.
    Enforced {
        /// Through which interface.
        version: Version,
        /// The group below which groups are made.
        parent: PathBuf,
    },
    /// It cannot.
    Missing {
        /// What stands in the way.
        why: String,
        /// What would help.
        fix: String,
    },
}

impl Support {
    /// Whether the limit can be enforced.
    pub fn is_enforced(&self) -> bool {
        matches!(self, Self::Enforced { .. })
    }
}

/// What can be limited here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Availability {
    /// Memory of all processes together.
    pub memory: Support,
    /// Processors that they share.
    pub cpu: Support,
    /// How many there are.
    pub pids: Support,
}

impl Availability {
    /// The answer for one controller.
    pub fn of(&self, controller: Controller) -> &Support {
        match controller {
            Controller::Memory => &self.memory,
            Controller::Cpu => &self.cpu,
            Controller::Pids => &self.pids,
        }
    }

    /// The same as layers of enforcement.
    pub fn layers(&self) -> [Layer; 3] {
        [Controller::Memory, Controller::Cpu, Controller::Pids].map(|controller| match self.of(controller) {
            Support::Enforced { version, parent } => {
                let version = match version {
                    Version::V1 => "version 1",
                    Version::V2 => "version 2",
                };
                Layer::available(
                    controller.limit_name(),
                    format!("{version} control groups in `{}`", parent.display()),
                )
            }
            Support::Missing { why, fix } => Layer::missing(controller.limit_name(), why, fix),
        })
    }
}

/// The control groups that this process can make.
#[derive(Clone, Debug)]
pub struct Cgroups {
    layout: Layout,
    places: Vec<Place>,
    availability: Availability,
}

impl Cgroups {
    /// Finds out by trying; a few files are written and removed again.
    pub fn detect() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        Self::detect_as(&Membership::parse(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup")))
    }

    fn detect_as(membership: &Membership) -> Self {
        let unified = place::unified(membership.unified.as_ref());
        let mut places = Vec::new();
        let mut support = |controller: Controller| {
            if let Ok(place) = &unified
                && place.controllers.contains(&controller)
            {
                return Support::Enforced { version: Version::V2, parent: place.parent.clone() };
            }
            let Some(tree) = membership.controller(controller) else {
                return place::missing_in_unified(controller, &unified);
            };
            match place::single(tree, controller) {
                Ok(place) => {
                    let parent = place.parent.clone();
                    places.push(place);
                    Support::Enforced { version: Version::V1, parent }
                }
                Err(why) => Support::Missing {
                    why,
                    fix: "run fullsend as root, or boot with version 2 control groups \
                          (`systemd.unified_cgroup_hierarchy=1`) and a systemd user session"
                        .to_owned(),
                },
            }
        };
        let availability = Availability {
            memory: support(Controller::Memory),
            cpu: support(Controller::Cpu),
            pids: support(Controller::Pids),
        };
        // Kept without any controller too: `cgroup.kill` reaches a whole tree at once.
        places.extend(unified.ok());
        Self { layout: membership.layout(), places, availability }
    }

    /// What is mounted.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// What can be limited, by which interface, or why not and what would help.
    pub fn available(&self) -> &Availability {
        &self.availability
    }

    /// Makes a group with limits that hold from the first process on. Nothing is left behind when a limit cannot be set.
    ///
    /// The name gets the mark of this process appended, by which [`Cgroups::sweep`] knows whose it was.
    pub fn create(&self, name: &str, limits: &CgroupLimits) -> Result<Leaf, SandboxError> {
        check_name(name)?;
        limits.check()?;
        for controller in limits.controllers() {
            if let Support::Missing { why, fix } = self.availability.of(controller) {
                return Err(SandboxError::Unsupported {
                    backend: "local",
                    operation: controller.limit_name(),
                    reason: format!("{why}; {fix}"),
                });
            }
        }
        let directory = owner::mark(name)?;
        let mut leaf = Leaf::new();
        for place in &self.places {
            let wanted: Vec<Controller> =
                limits.controllers().filter(|controller| place.controllers.contains(controller)).collect();
            if !wanted.is_empty() || place.version == Version::V2 {
                leaf.add(place, &directory, &wanted, limits)?;
            }
        }
        if leaf.is_nowhere() {
            return Err(SandboxError::Unsupported {
                backend: "local",
                operation: "control groups",
                reason: "no limit was asked for, and there is no version 2 tree to make a group in"
                    .to_owned(),
            });
        }
        Ok(leaf)
    }

    /// Removes groups whose names start with `prefix`, which are empty and whose owners are gone; returns which.
    ///
    /// Only groups beside those that this process makes itself are found.
    pub fn sweep(&self, prefix: &str) -> Vec<PathBuf> {
        let mut removed = Vec::new();
        for place in &self.places {
            for name in child_names(&place.parent) {
                let path = place.parent.join(&name);
                // A group with processes in it cannot be removed: the kernel says so.
                if name.starts_with(prefix) && owner::is_gone(&name) && fs::remove_dir(&path).is_ok() {
                    removed.push(path);
                }
            }
        }
        removed
    }
}

fn child_names(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
}

fn check_name(name: &str) -> Result<(), SandboxError> {
    let ordinary = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if name.is_empty() || name.len() > 200 || name.starts_with('.') || !name.bytes().all(ordinary) {
        return Err(SandboxError::InvalidRequest(format!(
            "control group name `{}` is not made of 1 to 200 letters, digits, `-`, `_` and `.`",
            name.escape_debug()
        )));
    }
    Ok(())
}
