//! Labels of files that are looked at: by path, by handle, and many at a time.

use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};
use std::path::{Path, PathBuf};

use fullsend_flow::{Confidentiality, Label};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use super::{Moment, Sources, Stamp};
use crate::workspace::reach::{Gaps, Links, Reached};
use crate::workspace::tree::Node;
use crate::workspace::{Mount, OpenFile, SandboxPath, Workspace};

/// What the system appends to the name of a file that has none any more.
const DELETED: &str = " (deleted)";

/// A file that is there.
pub(super) struct Found {
    pub(super) stamp: Stamp,
    /// Where it is on the host, however it was reached.
    real: Option<PathBuf>,
    pub(super) is_directory: bool,
}

impl Found {
    /// Where it is on the host.
    pub(super) fn real(&self) -> Option<&Path> {
        self.real.as_deref()
    }

    fn of(handle: BorrowedFd<'_>) -> Option<Self> {
        let stat = rustix::fs::fstat(handle).ok()?;
        let named = std::fs::read_link(format!("/proc/self/fd/{}", handle.as_raw_fd())).ok();
        let real = named.map(|path| match path.to_str().and_then(|text| text.strip_suffix(DELETED)) {
            Some(text) if stat.st_nlink == 0 => PathBuf::from(text),
            Some(_) | None => path,
        });
        let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        Some(Self { stamp: Stamp::of(&stat), real, is_directory })
    }
}

/// What a path leads to, if there is anything.
pub(super) fn find(workspace: &Workspace, path: &SandboxPath) -> Option<Found> {
    match workspace.reach(path, Gaps::Refuse, Links::Follow).ok()? {
        Reached::Directory(handle) => Found::of(handle.as_fd()),
        Reached::Entry { parent, name, .. } => {
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            Found::of(rustix::fs::openat(parent, name, flags, Mode::empty()).ok()?.as_fd())
        }
        Reached::Free { .. } | Reached::Dangling => None,
    }
}

/// The label of what is at a path.
pub(super) fn label_at(sources: &Sources, path: &SandboxPath) -> Label {
    match find(&sources.workspace, path) {
        Some(found) => label_of(sources, path, &found),
        None => absent(sources, path),
    }
}

/// That nothing is there is told by the nearest directory that is.
fn absent(sources: &Sources, path: &SandboxPath) -> Label {
    let mut above = path.clone();
    let told = loop {
        let Ok(next) = above.join("..") else { break None };
        if next == above {
            break None;
        }
        above = next;
        if let Some(found) = find(&sources.workspace, &above) {
            break Some(found.stamp);
        }
    };
    let known = sources.known();
    let label = match told {
        Some(stamp) => known.changed_at(stamp.changed, sources.is_coarse(&stamp)),
        None => known.all_eras(),
    };
    let pending = known.pending(path.as_str()).map(|pending| pending.join(&label));
    sources.usual.join(&pending.unwrap_or(label))
}

fn label_of(sources: &Sources, path: &SandboxPath, found: &Found) -> Label {
    let mut label = said_at(sources, path, found.real.as_deref());
    if found.stamp.shared
        && let Some(held) = sources.survey().secret_file(found.stamp.file())
    {
        label = label.join(held);
    }
    let moved = moved(sources, found.real.as_deref());
    let known = sources.known();
    label = label.join(&known.content(&found.stamp, sources.is_coarse(&found.stamp))).join(&moved);
    known.pending(path.as_str()).map_or_else(|| label.clone(), |pending| label.join(pending))
}

/// What the policy says about a file by the path that was given, and by where it really is.
fn said_at(sources: &Sources, path: &SandboxPath, real: Option<&Path>) -> Label {
    places(&sources.workspace, path, real)
        .iter()
        .map(|(mount, below)| sources.said_of(mount, below))
        .fold(Label::bottom(), |all, label| all.join(&label))
}

/// Each mount that a file can be seen through, with its path below.
fn places<'a>(workspace: &'a Workspace, path: &SandboxPath, real: Option<&Path>) -> Vec<(&'a Mount, String)> {
    let given = workspace.mount_of(path).map(|(mount, below)| (mount, below.to_owned()));
    let mut places: Vec<(&Mount, String)> = given.into_iter().collect();
    for mount in workspace.mounts() {
        let below = real.and_then(|real| real.strip_prefix(mount.host()).ok());
        let Some(below) = below.map(|below| below.to_string_lossy().into_owned()) else { continue };
        if !places.iter().any(|(other, at)| other.name() == mount.name() && *at == below) {
            places.push((mount, below));
        }
    }
    places
}

/// A directory that was renamed takes files away from the rules about its name, and leaves their times alone. Where a
/// rule, or a secret that a command saw, can be escaped that way, the times of the directories above count as well.
fn moved(sources: &Sources, real: Option<&Path>) -> Label {
    let matters = {
        let known = sources.known();
        known.has_eras() && (sources.has_path_rules() || known.has_secret_era())
    };
    let mount = real.and_then(|real| {
        sources.workspace.mounts().iter().find(|mount| real.starts_with(mount.host()) && real != mount.host())
    });
    let (true, Some(real), Some(mount)) = (matters, real, mount) else { return Label::bottom() };
    let above = real.ancestors().skip(1).take_while(|above| *above != mount.host());
    let latest = above.filter_map(|above| {
        let stat = rustix::fs::lstat(above).ok()?;
        Some(Moment::of(&stat))
    });
    let latest = latest.max();
    latest.map_or_else(Label::bottom, |latest| sources.known().changed_at(latest, false))
}

impl Sources {
    /// The label of a file that was opened.
    pub(crate) fn opened(&self, path: &SandboxPath, handle: BorrowedFd<'_>) -> Label {
        Found::of(handle).map_or_else(|| self.file(path), |found| label_of(self, path, &found))
    }
}

/// What is shown of many files, and what that is made of.
#[derive(Debug)]
pub(crate) struct Looking<'a> {
    sources: &'a Sources,
    start: SandboxPath,
    real: Option<PathBuf>,
    /// Whether anything but the policy has to be asked.
    plain: bool,
    /// Directories on the way to where the walk is: their paths with a slash, and what their names are made of.
    trail: Vec<(String, Label)>,
    label: Label,
    hidden: bool,
}

impl<'a> Looking<'a> {
    /// Below a directory.
    pub(crate) fn below(sources: &'a Sources, start: &SandboxPath) -> Self {
        let found = find(&sources.workspace, start);
        let real = found.as_ref().and_then(|found| found.real.clone());
        let label = match &found {
            // What is not there was not put there: the directory itself tells that much.
            Some(found) => {
                let stamp = &found.stamp;
                let told = sources.known().changed_at(stamp.changed, sources.is_coarse(stamp));
                sources.usual.join(&told).join(&moved(sources, real.as_deref()))
            }
            None => sources.usual.clone(),
        };
        let plain = sources.known().is_empty();
        Self { sources, start: start.clone(), real, plain, trail: Vec::new(), label, hidden: false }
    }

    /// Whether the name of something may be shown; it is then part of what is shown.
    pub(crate) fn name(&mut self, node: &Node<'_>) -> bool {
        let label = self.label_of_name(node);
        self.show(label)
    }

    /// Whether the size of a file says something about what may not be seen.
    pub(crate) fn is_secret(&self, node: &Node<'_>) -> bool {
        self.sources.is_secret(&self.said(node.path))
    }

    /// Goes into a directory, whether or not it is shown.
    pub(crate) fn enter(&mut self, node: &Node<'_>) {
        if !self.plain && node.kind == FileType::Directory {
            let label = self.label_of_name(node);
            self.trail.push((format!("{}/", node.path), label));
        }
    }

    /// Whether lines of a file may be shown; what it is made of.
    pub(crate) fn content(&mut self, path: &str, file: &OpenFile) -> Option<Label> {
        let stamp = Stamp::of(file.stat());
        let mut label = self.said(path).join(&self.on_the_way(path));
        if stamp.shared
            && let Some(held) = self.sources.survey().secret_file(stamp.file())
        {
            label = label.join(held);
        }
        if !self.plain {
            label = label.join(&self.sources.known().content(&stamp, self.sources.is_coarse(&stamp)));
        }
        let cleared = self.sources.is_cleared(&label);
        self.hidden |= !cleared;
        cleared.then_some(label)
    }

    /// Something with this label is shown.
    pub(crate) fn shown(&mut self, label: &Label) {
        if !label.flows_to(&self.label) {
            self.label = self.label.join(label);
        }
    }

    /// What all that is shown is made of, and whether something is not shown.
    pub(crate) fn end(self) -> (Label, bool) {
        (self.label, self.hidden)
    }

    fn show(&mut self, label: Label) -> bool {
        let cleared = self.sources.is_cleared(&label);
        self.hidden |= !cleared;
        if cleared {
            self.shown(&label);
        }
        cleared
    }

    /// Who may read a file may be few; that it is there is no secret, unless whoever named it knew one.
    fn label_of_name(&mut self, node: &Node<'_>) -> Label {
        let said = Label { confidentiality: Confidentiality::public(), ..self.said(node.path) };
        if self.plain {
            return said;
        }
        let way = self.on_the_way(node.path);
        let known = self.sources.known();
        let stat = rustix::fs::statat(node.parent, node.name, AtFlags::SYMLINK_NOFOLLOW);
        let put = match stat {
            Ok(stat) => {
                let stamp = Stamp::of(&stat);
                known.content(&stamp, self.sources.is_coarse(&stamp))
            }
            Err(_) => known.all_eras(),
        };
        said.join(&way).join(&put)
    }

    fn on_the_way(&mut self, path: &str) -> Label {
        while self.trail.last().is_some_and(|(directory, _)| !path.starts_with(directory.as_str())) {
            self.trail.pop();
        }
        self.trail.iter().fold(Label::bottom(), |all, (_, label)| all.join(label))
    }

    fn said(&self, path: &str) -> Label {
        let given = self.start.join(path);
        let real = self.real.as_ref().map(|real| real.join(path));
        given.map_or_else(
            |_| self.sources.usual.clone(),
            |given| said_at(self.sources, &given, real.as_deref()),
        )
    }
}
