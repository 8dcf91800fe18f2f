//! Keeps commands from changing what runs, or is believed, by itself.
//!
//! The tools for files ask before they change such a path. A command cannot be asked, so what is there is mounted
//! read-only for it where a sandbox can do that, and afterwards the workspace is compared with what it was: what a
//! command has added or changed is taken out into the directory of the run, and what was there is put back.

mod change;
mod item;
mod quarantine;
mod realm;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fullsend_flow::{Act, Label, Policy, Trust};
use fullsend_sandbox::SandboxError;

pub use self::change::{Change, Compared, Deed};
use self::change::{differences, is_below};
use self::item::{Item, What};
use self::realm::Judge;
use self::tree::{Ground, Tree};
use crate::gate::FlowMode;
use crate::workspace::{Access, Mount, Workspace};

/// In the directory of a run: what commands have left where they may not write.
pub const QUARANTINE: &str = "quarantine";

/// More are not mounted one by one; what a command does to the others is undone afterwards.
const MOST_MOUNTS: usize = 256;

/// Where tools put what they download or make. A mount there would keep them from replacing a directory.
const MADE: [&str; 5] = ["node_modules", "site-packages", "target", ".venv", "venv"];

/// Commands that nobody waited for have no name any more.
const UNATTENDED: &str = "unattended";

/// How often it is looked whether everything is as it was. What is left then cannot be undone.
const ROUNDS: usize = 4;

/// Keeps commands from changing what they may not change. Shared by a run and its subagents.
#[derive(Debug)]
pub struct Protection {
    mode: FlowMode,
    policy: Arc<Policy>,
    workspace: Arc<Workspace>,
    run_dir: PathBuf,
    levels: Mutex<BTreeMap<Trust, Level>>,
    /// Who may change protected paths does so alone: nobody could tell whose change it was.
    turn: Arc<tokio::sync::RwLock<()>>,
}

/// What commands of one level of trust may not change.
#[derive(Debug, Default)]
struct Level {
    tree: Tree,
    /// What was there before the commands that are under way, or that nobody has looked after yet.
    before: Option<BTreeMap<String, Item>>,
    under_way: usize,
    /// What commands have done that nobody waited for.
    late: Vec<Change>,
}

/// Something that is to be read-only for commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOnly {
    /// Where commands see it.
    pub target: String,
    /// Where it is on the host.
    pub host: PathBuf,
    /// Which file it is. The kernel takes a mount away when another takes its name.
    file: (u64, u64),
}

/// A command under way. Dropping it leaves the comparison to whoever comes next.
#[derive(Debug)]
pub(crate) struct Watch {
    protection: Arc<Protection>,
    have: Trust,
    is_over: bool,
    _turn: tokio::sync::OwnedRwLockReadGuard<()>,
}

/// A turn of a command.
#[derive(Debug)]
pub(crate) enum Turn {
    /// It may change everything, and nobody else runs meanwhile.
    Free { _alone: tokio::sync::OwnedRwLockWriteGuard<()> },
    /// It is watched.
    Watched(Watch),
}

impl Protection {
    /// For commands in a workspace. What they leave where they may not write goes to the directory of the run.
    pub fn new(mode: FlowMode, policy: Arc<Policy>, workspace: Arc<Workspace>, run_dir: PathBuf) -> Self {
        Self { mode, policy, workspace, run_dir, levels: Mutex::default(), turn: Arc::default() }
    }

    /// Waits for the turn of a command with this label, and looks at what is there before it.
    pub(crate) async fn begin(self: Arc<Self>, label: &Label) -> Result<Turn, SandboxError> {
        let have = Trust::of(&label.integrity);
        if have == Trust::Commanded {
            return Ok(Turn::Free { _alone: Arc::clone(&self.turn).write_owned().await });
        }
        let turn = Arc::clone(&self.turn).read_owned().await;
        let watch = Watch { protection: Arc::clone(&self), have, is_over: false, _turn: turn };
        // Looks at many files the first time.
        let begun = tokio::task::spawn_blocking(move || {
            self.look(have);
            watch
        });
        begun.await.map(Turn::Watched).map_err(|error| {
            SandboxError::Lifecycle(format!("protected files of the workspace were not looked at: {error}"))
        })
    }

    fn look(&self, have: Trust) {
        let Some(mount) = self.mount() else { return };
        let ground = self.ground(mount, have);
        let mut levels = self.levels();
        let level = levels.entry(have).or_default();
        if level.under_way == 0 {
            let late = self.settle(level, &ground, UNATTENDED);
            level.late.extend(late);
            level.tree.refresh(&ground);
            level.before = Some(level.tree.items.clone());
        }
        level.under_way += 1;
    }

    /// Undoes what a command that nobody waited for has done. For the end of a run, when nothing runs any more.
    pub(crate) fn finish(&self) -> Vec<Change> {
        let Some(mount) = self.mount() else { return Vec::new() };
        let mut levels = self.levels();
        let left = levels.iter_mut().filter(|(_, level)| level.under_way == 0);
        left.flat_map(|(have, level)| self.settle(level, &self.ground(mount, *have), UNATTENDED)).collect()
    }

    /// What can be made read-only for commands of this trust: all that is there.
    pub(crate) fn read_only(&self, have: Trust) -> Vec<ReadOnly> {
        let Some(mount) = self.mount().filter(|_| self.mode.act() == Act::Deny) else { return Vec::new() };
        let mut levels = self.levels();
        let level = levels.entry(have).or_default();
        if level.before.is_none() {
            level.tree.refresh(&self.ground(mount, have));
        }
        // Where a rule allows something in a directory, the directory itself cannot be read-only.
        let whole = !self.policy.lifts_paths();
        let mut covered: Vec<ReadOnly> = Vec::new();
        let mut directories: BTreeSet<&str> = BTreeSet::new();
        for (path, item) in &level.tree.items {
            let mountable = match item.what {
                What::Directory => whole,
                What::File { .. } | What::Large(..) => true,
                What::Link(_) | What::Other => false,
            };
            let is_nameable = !path.chars().any(char::is_control);
            let is_made = path.split('/').any(|name| MADE.contains(&name));
            if !mountable
                || !is_nameable
                || is_made
                || is_below(&directories, path)
                || covered.len() >= MOST_MOUNTS
            {
                continue;
            }
            if item.what == What::Directory {
                directories.insert(path);
            }
            let target = format!("{}/{path}", mount.target().as_str().trim_end_matches('/'));
            covered.push(ReadOnly { target, host: mount.host().join(path), file: item.stamp.file });
        }
        covered
    }

    /// Compares the workspace with what it was. Where rules are enforced, everything is made as it was.
    fn settle(&self, level: &mut Level, ground: &Ground<'_>, output_id: &str) -> Vec<Change> {
        let before = if level.under_way == 0 { level.before.take() } else { level.before.clone() };
        let Some(before) = before else { return Vec::new() };
        let mut changes: BTreeMap<String, Change> = BTreeMap::new();
        let relative = format!("{QUARANTINE}/{}", output_id.replace([':', '/'], "-"));
        for _ in 0..ROUNDS {
            level.tree.refresh(ground);
            let found = differences(&before, &level.tree.items);
            if found.is_empty() {
                break;
            }
            for (path, deed, needs) in found {
                let made = if self.mode.act() == Act::Deny {
                    self.undo(ground, &path, deed, before.get(&path), &relative)
                } else {
                    Undone::default()
                };
                let change = changes.entry(path.clone()).or_insert(Change {
                    path,
                    deed,
                    needs,
                    kept: None,
                    undone: false,
                    problem: None,
                });
                change.kept = made.kept.or(change.kept.take());
                change.problem = made.problem;
                change.undone = made.undone;
            }
            if self.mode.act() != Act::Deny {
                break;
            }
        }
        changes.into_values().collect()
    }

    fn undo(
        &self,
        ground: &Ground<'_>,
        path: &str,
        deed: Deed,
        before: Option<&Item>,
        relative: &str,
    ) -> Undone {
        let mut undone = Undone::default();
        let aside = self.run_dir.join(relative);
        if deed != Deed::Removed {
            let place = quarantine::place_for(&aside, path);
            match quarantine::take_out(ground, path, &place) {
                Ok(()) => {
                    let kept = place.strip_prefix(&self.run_dir).unwrap_or(&place);
                    undone.kept = Some(kept.to_string_lossy().into_owned());
                }
                Err(error) => {
                    undone.problem = Some(format!("it could not be taken away: {error}"));
                    return undone;
                }
            }
        }
        if let Some(item) = before
            && let Err(error) = quarantine::put_back(ground, path, item, &aside)
        {
            undone.problem = Some(format!("what was there could not be put back: {error}"));
            return undone;
        }
        undone.undone = true;
        undone
    }

    fn mount(&self) -> Option<&Mount> {
        self.workspace.mounts().first().filter(|mount| mount.access() == Access::Writable)
    }

    fn ground<'a>(&'a self, mount: &'a Mount, have: Trust) -> Ground<'a> {
        Ground { workspace: &self.workspace, mount, judge: Judge { policy: &self.policy, have } }
    }

    fn levels(&self) -> MutexGuard<'_, BTreeMap<Trust, Level>> {
        self.levels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How strictly.
    pub(crate) fn mode(&self) -> FlowMode {
        self.mode
    }
}

/// What came of undoing a change.
#[derive(Debug, Default)]
struct Undone {
    kept: Option<String>,
    undone: bool,
    problem: Option<String>,
}

impl Watch {
    /// How far the command is trusted.
    pub(crate) fn have(&self) -> Trust {
        self.have
    }

    /// Compares the workspace with what it was before the command, which is over.
    pub(crate) async fn end(mut self, output_id: String) -> Compared {
        let ended = tokio::task::spawn_blocking(move || {
            let protection = Arc::clone(&self.protection);
            let mut levels = protection.levels();
            let level = levels.entry(self.have).or_default();
            level.under_way = level.under_way.saturating_sub(1);
            self.is_over = true;
            let Some(mount) = protection.mount() else { return Compared::default() };
            let changes = protection.settle(level, &protection.ground(mount, self.have), &output_id);
            let late = std::mem::take(&mut level.late);
            Compared { changes: late.into_iter().chain(changes).collect(), incomplete: level.tree.incomplete }
        });
        // Whoever did not look has seen nothing.
        ended.await.unwrap_or(Compared { changes: Vec::new(), incomplete: true })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        if let Some(level) = self.protection.levels().get_mut(&self.have) {
            level.under_way = level.under_way.saturating_sub(1);
        }
    }
}
