//! The part of the view that a session asks for.

use std::sync::Arc;

use fullsend_sandbox_init::wire::{Blob, OverlayStep, Step};

use super::{NO_DEVICES, NO_EXECUTE, NO_SETUID, Programs, READ_ONLY, View, Wanted};
use crate::error::SandboxError;
use crate::local::mounts::Pinned;
use crate::spec::{FilesystemAccess, MEMORY_MOUNT, WriteMode, is_at_or_below};

/// The layers of an overlaid mount, as paths below the directory that holds all layers of the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layered {
    /// Where it is mounted.
    pub(crate) target: String,
    /// Sealed layers, the uppermost first.
    pub(crate) sealed: Vec<String>,
    /// Takes the changes; has the directories `upper` and `work`.
    pub(crate) top: String,
}

/// Where the parts of overlays are attached until they are stacked.
const STAGING: &str = "/.staging";

impl<'a> View<'a> {
    pub(super) fn user_mounts(&mut self, wanted: &Wanted<'a>) -> Result<(), SandboxError> {
        self.stage_layers(wanted);
        for mount in wanted.mounts {
            self.make_target(mount)?;
            self.pin_parents(mount, wanted.mounts);
            let noexec = if wanted.programs == Programs::All { 0 } else { NO_EXECUTE };
            let read_only = if mount.access == FilesystemAccess::ReadOnly { READ_ONLY } else { 0 };
            let attributes = NO_SETUID | NO_DEVICES | noexec | read_only;
            match (mount.write_mode, wanted.layers.iter().find(|layered| layered.target == mount.target)) {
                (WriteMode::Overlay, Some(layered)) => self.overlay(mount, layered, attributes),
                (WriteMode::Overlay, None) | (WriteMode::Direct, _) => {
                    let source = self.held_source(&mount.source, attributes);
                    self.attach(source, &mount.target);
                }
            }
        }
        if wanted.layers_root.is_some() {
            self.steps.push(Step::Detach { path: Blob::from(&format!("{STAGING}/layers")) });
        }
        if !wanted.has_memory {
            self.steps.push(Step::Empty { path: Blob::from(MEMORY_MOUNT) });
        }
        Ok(())
    }

    fn stage_layers(&mut self, wanted: &Wanted<'a>) {
        let Some(root) = wanted.layers_root else { return };
        self.directory(STAGING, 0o700);
        let place = format!("{STAGING}/layers");
        self.directory(&place, 0o700);
        let source = self.held_source(root, NO_SETUID | NO_DEVICES);
        self.attach(source, &place);
    }

    fn overlay(&mut self, mount: &'a Pinned, layered: &Layered, attributes: u64) {
        let source = self.held_source(&mount.source, READ_ONLY | NO_SETUID | NO_DEVICES);
        let bottom = format!("{STAGING}/{source}");
        self.directory(&bottom, 0o700);
        self.attach(source, &bottom);
        let layer = |name: &str, part: &str| Blob::from(&format!("{STAGING}/layers/{name}/{part}"));
        let sealed = layered.sealed.iter().map(|name| layer(name, "upper"));
        let overlay = OverlayStep {
            lower: sealed.chain([Blob::from(&bottom)]).collect(),
            upper: layer(&layered.top, "upper"),
            work: layer(&layered.top, "work"),
            path: Blob::from(&mount.target),
            attributes,
        };
        self.steps.push(Step::Overlay { overlay });
        self.steps.push(Step::Detach { path: Blob::from(&bottom) });
        self.mounted.push(mount.target.clone());
    }

    /// Targets in memory are made; inside another mount they must exist, because making them would change its source.
    fn make_target(&mut self, mount: &Pinned) -> Result<(), SandboxError> {
        let inside =
            self.mounted.iter().any(|path| is_at_or_below(&mount.target, path) && *path != mount.target);
        if inside {
            return Ok(());
        }
        if self.mounted.contains(&mount.target) {
            return Err(SandboxError::InvalidRequest(format!(
                "mount target `{}` would hide a directory of the system",
                mount.target
            )));
        }
        let mut path = String::new();
        let mut components = mount.target.split('/').filter(|component| !component.is_empty()).peekable();
        while let Some(component) = components.next() {
            path = format!("{path}/{component}");
            if components.peek().is_some() || mount.source.is_directory {
                self.directory(&path, 0o755);
            } else {
                self.file(&path, b"");
            }
        }
        Ok(())
    }

    /// A read-only part of a writable mount stays where it is only if no directory above it can be renamed, and a
    /// directory that is a mount cannot.
    fn pin_parents(&mut self, mount: &Pinned, mounts: &[Arc<Pinned>]) {
        let around = mounts
            .iter()
            .filter(|other| other.target != mount.target && is_at_or_below(&mount.target, &other.target))
            .max_by_key(|other| other.target.len());
        let Some(around) = around.filter(|around| around.access == FilesystemAccess::ReadWrite) else {
            return;
        };
        let between: Vec<&str> = mount
            .target
            .get(around.target.len()..)
            .unwrap_or_default()
            .split('/')
            .filter(|part| !part.is_empty())
            .collect();
        let mut path = around.target.clone();
        for component in between.iter().take(between.len().saturating_sub(1)) {
            path = format!("{path}/{component}");
            if !self.mounted.contains(&path) {
                self.steps.push(Step::Pin { path: Blob::from(&path) });
                self.mounted.push(path.clone());
            }
        }
    }
}
