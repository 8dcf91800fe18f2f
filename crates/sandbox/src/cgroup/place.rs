//! Where groups can be made: found by making one.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::limits::write;
use super::membership::Tree;
use super::{CgroupLimits, Controller, Support, Version, owner};

/// A group below which groups of ours can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) version: Version,
    pub(super) parent: PathBuf,
    /// The controllers whose limits can be set there.
    pub(super) controllers: Vec<Controller>,
}

/// The place for one controller in a version 1 tree: below our own group.
pub(super) fn single(tree: &Tree, controller: Controller) -> Result<Place, String> {
    let parent = tree.own.as_ref().ok_or_else(|| outside(tree))?;
    probe(parent, Version::V1, &[controller])?;
    Ok(Place { version: Version::V1, parent: parent.clone(), controllers: vec![controller] })
}

/// The place in the version 2 tree with the most controllers: our own group, or one above it that was handed to us.
pub(super) fn unified(tree: Option<&Tree>) -> Result<Place, String> {
    let tree = tree.ok_or_else(|| "no version 2 control groups are mounted".to_owned())?;
    let own = tree.own.as_ref().ok_or_else(|| outside(tree))?;
    let mut candidates: Vec<&Path> =
        own.ancestors().take_while(|path| path.starts_with(&tree.mount)).collect();
    // A process may be moved from here to below an ancestor by whoever may write to the ancestor's list of processes.
    let writable = candidates.iter().take_while(|path| can_take_processes(path)).count();
    if writable == 0 {
        return Err(format!("the group `{}` belongs to someone else", own.display()));
    }
    candidates.truncate(writable);
    let mut best = best_of(&candidates);
    if best.as_ref().map_or(0, |place| place.controllers.len()) < Controller::ALL.len() {
        for candidate in &candidates {
            enable(candidate);
        }
        best = best_of(&candidates);
    }
    best.ok_or_else(|| format!("no group can be made in `{}` or above it", own.display()))
}

/// Why the version 2 tree does not offer a controller.
pub(super) fn missing_in_unified(controller: Controller, unified: &Result<Place, String>) -> Support {
    let name = controller.name();
    match unified {
        Ok(place) => Support::Missing {
            why: format!("the `{name}` controller is not enabled for groups in `{}`", place.parent.display()),
            fix: format!(
                "run fullsend in a group that has it, such as `systemd-run --user --scope fullsend …`, \
                 with `Delegate={name}` in `user@.service`"
            ),
        },
        Err(why) => Support::Missing {
            why: why.clone(),
            fix: "run fullsend in a group of the caller's own, such as `systemd-run --user --scope fullsend …`, \
                  or as root"
                .to_owned(),
        },
    }
}

fn outside(tree: &Tree) -> String {
    format!("this process's group lies outside of what is mounted on `{}`", tree.mount.display())
}

fn can_take_processes(group: &Path) -> bool {
    fs::OpenOptions::new().write(true).open(group.join("cgroup.procs")).is_ok()
}

/// The first of the candidates that has the most controllers.
fn best_of(candidates: &[&Path]) -> Option<Place> {
    let mut best: Option<Place> = None;
    for candidate in candidates {
        let controllers = listed(candidate, "cgroup.subtree_control");
        let is_better = best.as_ref().is_none_or(|best| controllers.len() > best.controllers.len());
        if is_better && probe(candidate, Version::V2, &controllers).is_ok() {
            best = Some(Place { version: Version::V2, parent: candidate.to_path_buf(), controllers });
        }
    }
    best
}

/// Asks for the missing controllers. The kernel refuses where a group has processes of its own.
fn enable(group: &Path) {
    let enabled = listed(group, "cgroup.subtree_control");
    for controller in listed(group, "cgroup.controllers") {
        if !enabled.contains(&controller) {
            // Whether it worked is read from the file afterwards.
            let _ = write(group, "cgroup.subtree_control", &format!("+{}", controller.name()));
        }
    }
}

fn listed(group: &Path, file: &str) -> Vec<Controller> {
    let text = fs::read_to_string(group.join(file)).unwrap_or_default();
    text.split_whitespace().filter_map(Controller::from_name).collect()
}

/// Makes a group, sets its limits and removes it.
fn probe(parent: &Path, version: Version, controllers: &[Controller]) -> Result<(), String> {
    let group = make_probe(parent)?;
    let limited = controllers.iter().try_for_each(|controller| {
        CgroupLimits::PROBE
            .write(&group, version, *controller)
            .map_err(|error| format!("no {} in `{}`: {error}", controller.limit_name(), parent.display()))
    });
    let removed =
        fs::remove_dir(&group).map_err(|error| format!("cannot remove `{}`: {error}", group.display()));
    limited.and(removed)
}

fn make_probe(parent: &Path) -> Result<PathBuf, String> {
    // Other threads may be probing as well.
    for attempt in 0..64 {
        let name = owner::mark(&format!("fullsend-probe-{attempt}")).map_err(|error| error.to_string())?;
        let path = parent.join(name);
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(format!("no group can be made in `{}`: {error}", parent.display())),
        }
    }
    Err(format!("`{}` is full of probes", parent.display()))
}
