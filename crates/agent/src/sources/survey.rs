//! What there is in the directories of a run that the policy sets apart: found once, before the first command runs.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::path::PathBuf;

use fullsend_flow::{Label, PathPattern, Source, SourceRule};
use rustix::fs::{AtFlags, FileType};

use super::{Sources, Stamp};
use crate::workspace::tree::{DEEPEST, Ignoring, Node, TreePlan};
use crate::workspace::{Mount, SandboxPath};

/// More are not covered one by one: each is a mount.
const MOST_MASKS: usize = 512;

/// Something that commands may not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    /// Where commands would see it.
    pub target: String,
    /// Whether it is a directory.
    pub is_directory: bool,
    /// Where it is on the host.
    pub(super) host: PathBuf,
    file: (u64, u64),
    pub(super) label: Label,
}

impl Mask {
    /// What has taken its name, if something has. The kernel then takes the cover away, too.
    pub(super) fn successor(&self) -> Option<Stamp> {
        let stamp = rustix::fs::lstat(&self.host).ok().map(|stat| Stamp::of(&stat))?;
        (stamp.file() != self.file).then_some(stamp)
    }
}

/// What was found.
#[derive(Debug)]
pub(super) struct Survey {
    /// What commands may not read and can be kept from reading, by where they would see it.
    pub(super) masks: Vec<Mask>,
    /// What commands can read that is set apart.
    pub(super) readable: Label,
    secret_files: HashMap<(u64, u64), Label>,
}

impl Survey {
    /// Looks at every name below every mount, ignored ones too.
    pub(super) fn of(sources: &Sources) -> Self {
        let mut search = Search {
            sources,
            masks: BTreeMap::new(),
            readable: Label::bottom(),
            secret_files: HashMap::new(),
            other_names: false,
        };
        for mount in sources.workspace.mounts() {
            search.walk(mount);
        }
        if search.other_names {
            for mount in sources.workspace.mounts() {
                search.find_other_names(mount);
            }
        }
        let Search { masks, readable, secret_files, .. } = search;
        Self { masks: masks.into_values().collect(), readable, secret_files }
    }

    /// The label of a file that may not be seen, by whatever name.
    pub(super) fn secret_file(&self, file: (u64, u64)) -> Option<&Label> {
        self.secret_files.get(&file)
    }
}

struct Search<'a> {
    sources: &'a Sources,
    masks: BTreeMap<String, Mask>,
    readable: Label,
    secret_files: HashMap<(u64, u64), Label>,
    /// Whether a secret file has more than one name.
    other_names: bool,
}

impl Search<'_> {
    fn walk(&mut self, mount: &Mount) {
        let plan = TreePlan { start: mount.target(), depth: DEEPEST, ignoring: Ignoring::Nothing };
        let (sources, usual) = (self.sources, self.sources.said_of(mount, ""));
        let policy = sources.policy_of(mount);
        let end = sources.workspace.walk(plan, &mut |node| {
            if !policy.mentions(node.path) {
                return ControlFlow::Continue(());
            }
            let label = sources.said_of(mount, node.path);
            if sources.is_secret(&label) {
                self.secret(mount, node, &label);
            } else if label != usual {
                self.join(&label);
            }
            ControlFlow::Continue(())
        });
        // What could not be looked at may be anything that the policy speaks of.
        if !end.is_ok_and(|end| !end.stopped && end.unread == 0) {
            for label in everything_said(sources) {
                self.join(&label);
            }
        }
    }

    fn secret(&mut self, mount: &Mount, node: &Node<'_>, label: &Label) {
        let Ok(stat) = rustix::fs::statat(node.parent, node.name, AtFlags::SYMLINK_NOFOLLOW) else { return };
        match node.kind {
            FileType::Directory => self.mask(mount, node.path, Stamp::of(&stat), true, label),
            FileType::Symlink => self.target(mount, node, label),
            FileType::RegularFile => {
                let stamp = Stamp::of(&stat);
                self.other_names |= stamp.shared;
                self.secret_files.insert(stamp.file(), label.clone());
                self.mask(mount, node.path, stamp, false, label);
            }
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => {}
        }
    }

    /// A link with a secret name: what it leads to is the secret.
    fn target(&mut self, mount: &Mount, node: &Node<'_>, label: &Label) {
        let path = mount.target().join(node.path).ok();
        let found = path.and_then(|path| super::looking::find(&self.sources.workspace, &path));
        let real = found.as_ref().and_then(super::looking::Found::real);
        let below = real.and_then(|real| Some(real.strip_prefix(mount.host()).ok()?.to_str()?.to_owned()));
        match (found, below) {
            (Some(found), Some(below)) => {
                self.other_names |= found.stamp.shared;
                self.secret_files.insert(found.stamp.file(), label.clone());
                self.mask(mount, &below, found.stamp, found.is_directory, label);
            }
            (Some(_), None) => self.join(label),
            // It may lead somewhere in the sandbox, by an absolute path that means something else here.
            (None, _) => {
                let target = rustix::fs::readlinkat(node.parent, node.name, Vec::new());
                let text = target.ok().map(|target| target.to_string_lossy().into_owned());
                let inside =
                    text.and_then(|text| SandboxPath::absolute(&text).ok().filter(|_| text.starts_with('/')));
                if inside.is_some_and(|path| self.sources.workspace.mount_of(&path).is_some()) {
                    self.join(label);
                }
            }
        }
    }

    fn mask(&mut self, mount: &Mount, below: &str, stamp: Stamp, is_directory: bool, label: &Label) {
        let target = format!("{}/{below}", mount.target().as_str().trim_end_matches('/'));
        if self.is_covered(&target) {
            return;
        }
        // Odd bytes were replaced in the path, and a place with control characters cannot be named.
        let nameable = !target.chars().any(|c| c.is_control() || c == char::REPLACEMENT_CHARACTER);
        if !nameable || below.is_empty() || self.masks.len() >= MOST_MASKS {
            self.join(label);
            return;
        }
        let host = mount.host().join(below);
        let mask =
            Mask { target: target.clone(), is_directory, host, file: stamp.file(), label: label.clone() };
        self.masks.insert(target, mask);
    }

    /// Whether a directory above it is covered, or it itself is.
    fn is_covered(&self, target: &str) -> bool {
        let ends = target.match_indices('/').map(|(end, _)| end).chain([target.len()]);
        ends.filter_map(|end| target.get(..end)).any(|part| self.masks.contains_key(part))
    }

    fn find_other_names(&mut self, mount: &Mount) {
        let plan = TreePlan { start: mount.target(), depth: DEEPEST, ignoring: Ignoring::Nothing };
        // It was walked before; what could not be read then is accounted for.
        let _walked = self.sources.workspace.walk(plan, &mut |node| {
            if node.kind == FileType::RegularFile
                && let Ok(stat) = rustix::fs::statat(node.parent, node.name, AtFlags::SYMLINK_NOFOLLOW)
                && let Some(label) = self.secret_files.get(&Stamp::of(&stat).file()).cloned()
            {
                self.mask(mount, node.path, Stamp::of(&stat), false, &label);
            }
            ControlFlow::Continue(())
        });
    }

    fn join(&mut self, label: &Label) {
        if !label.flows_to(&self.readable) {
            self.readable = self.readable.join(label);
        }
    }
}

/// Every label that the policy can give to a file.
fn everything_said(sources: &Sources) -> Vec<Label> {
    let policy = &sources.policy;
    let rules = policy.sources.iter().filter(|rule| rule.paths.is_some());
    let of_rules = rules.map(|rule| {
        let mut only = (**policy).clone();
        let paths = PathPattern::new("**").ok().map(|all| vec![all]);
        only.sources = vec![SourceRule { paths, ..rule.clone() }];
        only.label_of(Source::File("x"))
    });
    let mut labels: Vec<Label> = of_rules.collect();
    labels.push(policy.label_of(Source::File(".env")));
    labels
}
