//! What is known about files besides what the policy says: who wrote them, and since when anybody may have.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use fullsend_flow::Label;

use super::provenance::Provenance;
use super::stamp::{Moment, Stamp};

/// Everything that was learned in a run.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Files that a tool wrote, by device and inode.
    written: HashMap<(u64, u64), Written>,
    /// From these moments on commands may have changed any file. The earliest first; each adds something.
    eras: Vec<Era>,
    /// Files that are being written, or were when a process was killed, by their paths in the sandbox.
    pending: BTreeMap<String, Label>,
    /// What is new since the run was begun or taken up, in order.
    log: Vec<Provenance>,
}

/// A file that a tool wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Written {
    changed: Moment,
    label: Label,
}

/// A time in which commands of a label may have changed any file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Era {
    since: Moment,
    label: Label,
}

impl Known {
    /// Whether it says anything about any file.
    pub(super) fn is_empty(&self) -> bool {
        self.written.is_empty() && self.eras.is_empty() && self.pending.is_empty()
    }

    /// What the content of a file was made of. `coarse` is for file systems whose clock was not asked.
    pub(super) fn content(&self, stamp: &Stamp, coarse: bool) -> Label {
        match self.written.get(&stamp.file()) {
            // Nobody has touched it since a tool wrote it.
            Some(written) if written.changed == stamp.changed => written.label.clone(),
            Some(written) => written.label.join(&self.changed_at(stamp.changed, coarse)),
            None => self.changed_at(stamp.changed, coarse),
        }
    }

    /// What may have been put anywhere at a moment.
    pub(super) fn changed_at(&self, moment: Moment, coarse: bool) -> Label {
        let moment = if coarse { moment.rounded_up() } else { moment };
        joined(self.eras.iter().filter(|era| era.since <= moment).map(|era| &era.label))
    }

    /// What all commands so far may have put anywhere.
    pub(super) fn all_eras(&self) -> Label {
        joined(self.eras.iter().map(|era| &era.label))
    }

    /// Whether commands have seen what not everybody may see.
    pub(super) fn has_secret_era(&self) -> bool {
        self.eras.iter().any(|era| !era.label.confidentiality.is_public())
    }

    pub(super) fn has_eras(&self) -> bool {
        !self.eras.is_empty()
    }

    pub(super) fn pending(&self, path: &str) -> Option<&Label> {
        self.pending.get(path)
    }

    /// The paths of files that may have been written by a process that was killed.
    pub(super) fn all_pending(&self) -> Vec<(String, Label)> {
        self.pending.iter().map(|(path, label)| (path.clone(), label.clone())).collect()
    }

    /// What a command finds that is not as good as `usual`.
    pub(super) fn readable(&self, usual: &Label) -> Label {
        let written = self.written.values().map(|written| &written.label);
        let worse = written.chain(self.pending.values()).filter(|label| !label.flows_to(usual));
        let distinct: BTreeSet<&Label> = worse.chain(self.eras.iter().map(|era| &era.label)).collect();
        joined(distinct.into_iter())
    }

    /// Begins an era, unless those that have begun say as much.
    pub(super) fn begin_era(&mut self, since: Moment, label: &Label) {
        if !label.flows_to(&self.all_eras()) || self.eras.is_empty() {
            self.log.push(Provenance::Era { since, label: label.clone() });
            self.eras.push(Era { since, label: label.clone() });
        }
    }

    /// A file is about to be written.
    pub(super) fn begin_write(&mut self, path: &str, label: &Label) {
        let known = self.pending.get(path);
        let label = known.map_or_else(|| label.clone(), |known| known.join(label));
        if known != Some(&label) {
            self.log.push(Provenance::Pending { path: path.to_owned(), label: label.clone() });
            self.pending.insert(path.to_owned(), label);
        }
    }

    /// A file was not written after all.
    pub(super) fn cancel_write(&mut self, path: &str) {
        if self.pending.remove(path).is_some() {
            self.log.push(Provenance::Unwritten { path: path.to_owned() });
        }
    }

    /// Whether a file is exactly what a tool wrote.
    pub(super) fn is_as_written(&self, stamp: &Stamp) -> bool {
        self.written.get(&stamp.file()).is_some_and(|written| written.changed == stamp.changed)
    }

    /// A file was written. `name` is what its device is called on record. It says nothing to know of a file that is as
    /// good as any, unless it would be taken for something else.
    pub(super) fn end_write(&mut self, path: &str, stamp: &Stamp, name: &str, label: &Label, plain: bool) {
        let was_pending = self.pending.remove(path).is_some();
        let says_something =
            was_pending || !self.eras.is_empty() || self.written.contains_key(&stamp.file()) || !plain;
        if says_something {
            self.log.push(Provenance::Written {
                path: path.to_owned(),
                device: name.to_owned(),
                inode: stamp.inode,
                changed: stamp.changed,
                label: label.clone(),
            });
            self.written.insert(stamp.file(), Written { changed: stamp.changed, label: label.clone() });
        }
    }

    /// A file that has no name any more says nothing about what commands find.
    pub(super) fn forget(&mut self, file: (u64, u64)) {
        self.written.remove(&file);
    }

    /// Takes over a fact of an earlier process. `device` finds a device by what it is called on record.
    pub(super) fn recall(&mut self, fact: &Provenance, device: impl Fn(&str) -> Option<u64>) {
        match fact {
            Provenance::Era { since, label } => self.eras.push(Era { since: *since, label: label.clone() }),
            Provenance::Pending { path, label } => drop(self.pending.insert(path.clone(), label.clone())),
            Provenance::Unwritten { path } => drop(self.pending.remove(path)),
            Provenance::Written { path, device: name, inode, changed, label } => {
                self.pending.remove(path);
                if let Some(device) = device(name) {
                    let written = Written { changed: *changed, label: label.clone() };
                    self.written.insert((device, *inode), written);
                }
            }
        }
    }

    /// What is new after the first `seen` facts.
    pub(super) fn log_after(&self, seen: usize) -> &[Provenance] {
        self.log.get(seen..).unwrap_or_default()
    }
}

/// The join of labels; that of nothing is bottom.
pub(super) fn joined<'a>(labels: impl Iterator<Item = &'a Label>) -> Label {
    labels.fold(Label::bottom(), |all, label| all.join(label))
}
