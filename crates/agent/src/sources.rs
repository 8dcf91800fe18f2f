//! Where values come from: the label of a file, of what a command can read, of a prompt, a page and a skill.
//!
//! The policy says what a path is. What a run does to files is added to that. A file that a tool wrote has the label of
//! what it was made of. A command may change any file, and nobody can say which: so from the moment on at which one of a
//! worse label than the workspace's ran, every file that changes has its label too. When a file was changed is told by
//! the time of its inode, which no process can set: neither `touch` nor a rename, a link or a copy brings an old one.

mod known;
mod looking;
mod provenance;
mod stamp;
mod survey;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use fullsend_flow::{Atom, Bound, CANARY, Confidentiality, Deed, Label, Policy, Source};
use fullsend_guard::{CanaryScanner, CanaryToken, Scanner as _};
use serde_json::{Map, Value};

use self::known::{Known, joined};
pub(crate) use self::looking::Looking;
pub use self::provenance::Provenance;
pub use self::stamp::Moment;
pub(crate) use self::stamp::Stamp;
pub use self::survey::Mask;
use self::survey::Survey;
use crate::gate::PromptRole;
use crate::store::Row;
use crate::tool::ToolSpec;
use crate::workspace::{Access, Mount, SandboxPath, Workspace};

/// Where the values of a run come from. Shared by its tools, its loop and its sandbox.
#[derive(Debug)]
pub struct Sources {
    policy: Arc<Policy>,
    workspace: Arc<Workspace>,
    /// The label of a file of which nothing in particular is known.
    usual: Label,
    /// What speaks of directories that are not the workspace.
    elsewhere: Policy,
    /// What a label must be for the model to see the value.
    clearance: Bound,
    /// What can be reached over the network by commands.
    network: Option<Label>,
    known: Mutex<Known>,
    survey: OnceLock<Survey>,
    /// Whether whoever runs commands covers what they may not read.
    masking: AtomicBool,
    /// Finds tokens that were planted.
    canaries: Option<CanaryScanner>,
}

impl Sources {
    /// Of a run that has done nothing yet.
    pub fn new(policy: Arc<Policy>, workspace: Arc<Workspace>) -> Self {
        let usual = policy.label_of(Source::File(""));
        let clearance = policy.clearance_bound();
        Self {
            policy,
            workspace,
            usual,
            elsewhere: Policy::default(),
            clearance,
            network: None,
            known: Mutex::default(),
            survey: OnceLock::new(),
            masking: AtomicBool::new(false),
            canaries: None,
        }
    }

    /// Tokens that were planted: what holds one, whole or in disguise, was taken from where nobody had business.
    #[must_use]
    pub fn with_canaries(self, tokens: impl IntoIterator<Item = CanaryToken>) -> Self {
        Self { canaries: Some(CanaryScanner::new(tokens)), ..self }
    }

    /// The label of a result for what stands in it, wherever it came from: one that holds a planted token is for nobody, so that
    /// it reaches neither the model nor a network unless the policy says so.
    pub fn planted_in(&self, result: &Value) -> Label {
        let found = self.canaries.as_ref().is_some_and(|scanner| {
            let scan = scanner.scan(&result.to_string());
            !scan.findings.is_empty()
        });
        if found {
            Label { confidentiality: Confidentiality::only(Atom::named(CANARY)), ..Label::bottom() }
        } else {
            Label::bottom()
        }
    }

    /// The hosts that commands can reach: what comes from there is in their output.
    #[must_use]
    pub fn with_hosts(mut self, hosts: &BTreeSet<String>) -> Self {
        let labels = hosts.iter().map(|host| self.policy.label_of(Source::Web(host)));
        self.network = labels.reduce(|all, label| all.join(&label));
        self
    }

    /// Takes up what is on record. A file that may have been written by a process that was killed counts as written.
    #[must_use]
    pub fn recalling(self, facts: &[Provenance]) -> Self {
        let mut known = Known::default();
        for fact in facts {
            known.recall(fact, |name| self.device(name));
        }
        for (path, label) in known.all_pending() {
            let stamp = SandboxPath::absolute(&path).ok().and_then(|path| self.stamp_of(&path));
            if let Some(stamp) = stamp {
                // Whether it was written is not known, so it may still be what it was.
                let label = label.join(&known.content(&stamp, self.is_coarse(&stamp)));
                let name = self.device_name(stamp.device);
                known.end_write(&path, &stamp, &name, &label, false);
            }
        }
        Self { known: Mutex::new(known), ..self }
    }

    /// By which rules.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The label of files of which nothing in particular is known.
    pub fn usual(&self) -> &Label {
        &self.usual
    }

    /// The label of the operator's words.
    pub fn prompt(&self, role: PromptRole) -> Label {
        self.policy.label_of(Source::Prompt { commanded: role == PromptRole::DirectCommand })
    }

    /// The label of what a host of the web says.
    pub fn web(&self, host: &str) -> Label {
        self.policy.label_of(Source::Web(host))
    }

    /// The label of a skill that lies at a path of the sandbox. Who chose it vouches for it; else it is as good as the
    /// directory that it was found in. Files of the workspace can be changed by the run, so they are never better than
    /// their label, whoever chose them.
    pub fn skill(&self, name: &str, chosen: bool, place: &SandboxPath) -> Label {
        let in_workspace = self.workspace.mount_of(place).is_none_or(|(mount, _)| self.is_first(mount));
        let said = self.policy.label_of(Source::Skill { name, chosen: chosen || !in_workspace });
        match (in_workspace, chosen) {
            (false, _) => said,
            (true, true) => said.join(&self.written(place)),
            (true, false) => said.join(&self.file(place)),
        }
    }

    /// Whether the model may see a value with this label.
    pub fn is_cleared(&self, label: &Label) -> bool {
        self.clearance.missed_by(label).is_none()
    }

    /// The label of a file: what the policy says about its path, and what it was made of. Where there is no file, that of
    /// the directory that tells so.
    pub fn file(&self, path: &SandboxPath) -> Label {
        looking::label_at(self, path)
    }

    /// What a command can read.
    pub fn command_inputs(&self) -> Label {
        let survey = self.survey();
        let masked = self.masking.load(Ordering::Relaxed);
        let known = self.known();
        let readable = known.readable(&self.usual);
        // What a tool has put in the place of something that was covered is known for what it is.
        let uncovered =
            |mask: &&Mask| !masked || mask.successor().is_some_and(|stamp| !known.is_as_written(&stamp));
        let uncovered = joined(survey.masks.iter().filter(uncovered).map(|mask| &mask.label));
        self.usual.join(&readable).join(&survey.readable).join(&uncovered)
    }

    /// The label of what a command prints and does whose arguments have this label.
    pub fn command(&self, arguments: &Label) -> Label {
        let label = arguments.join(&self.command_inputs());
        self.network.as_ref().map_or_else(|| label.clone(), |network| label.join(network))
    }

    /// Whether commands can reach a network.
    pub fn has_network(&self) -> bool {
        self.network.is_some()
    }

    /// A command of this label is about to run, and may change any file from now on.
    pub fn will_run(&self, label: &Label) {
        if label.flows_to(&self.usual) {
            return;
        }
        let mut known = self.known();
        if known.has_eras() && label.flows_to(&known.all_eras()) {
            return;
        }
        let since = self.clock();
        known.begin_era(since, label);
    }

    /// A command of this label ran. Says nothing new after [`will_run`](Self::will_run).
    pub fn ran(&self, label: &Label) {
        if !label.flows_to(&self.usual) && !label.flows_to(&self.known().all_eras()) {
            // Nobody said when it began.
            self.known().begin_era(Moment::BEGINNING, label);
        }
    }

    /// A file is about to be written, of content with this label.
    pub fn will_write(&self, path: &SandboxPath, label: &Label) {
        if !label.flows_to(&self.usual) {
            self.known().begin_write(path.as_str(), label);
        }
    }

    /// A file was not written.
    pub fn did_not_write(&self, path: &SandboxPath) {
        self.known().cancel_write(path.as_str());
    }

    /// A file was written, and is what is there now.
    pub fn wrote(&self, path: &SandboxPath, label: &Label) {
        if let Some(stamp) = self.stamp_of(path) {
            self.wrote_as(path, &stamp, None, label);
        }
    }

    /// A file was written, in place of another one.
    pub(crate) fn wrote_as(&self, path: &SandboxPath, stamp: &Stamp, replaced: Option<Stamp>, label: &Label) {
        let name = self.device_name(stamp.device);
        let said = self.workspace.mount_of(path).map(|(mount, below)| self.said_of(mount, below));
        let plain = label.flows_to(&self.usual) && !said.is_some_and(|said| self.is_secret(&said));
        let mut known = self.known();
        if let Some(old) = replaced.filter(|old| !old.shared && old.file() != stamp.file()) {
            known.forget(old.file());
        }
        known.end_write(path.as_str(), stamp, &name, label, plain);
    }

    /// What has to be on record before a call is made: see [`rows_after`](Self::rows_after).
    pub fn before(&self, spec: &ToolSpec, input: &Map<String, Value>, current: &SandboxPath, label: &Label) {
        match spec.deed {
            Deed::Execute { .. } => self.will_run(&self.command(label)),
            Deed::Change => {
                let given = input.get("path").and_then(Value::as_str);
                let path = given.and_then(|given| self.workspace.resolve(given, current).ok());
                if let Some(path) = path {
                    self.will_write(&path, label);
                }
            }
            Deed::Look | Deed::Send | Deed::Delegate => {}
        }
    }

    /// What has to be on record, without the first `seen` rows. Each record that it goes to keeps its own count.
    pub fn rows_after(&self, seen: usize) -> Vec<Row> {
        self.known().log_after(seen).iter().cloned().map(Row::Provenance).collect()
    }

    /// What must be covered so that commands cannot read it. The first call looks at every file of the workspace.
    pub fn masks(&self) -> &[Mask] {
        &self.survey().masks
    }

    /// Who runs commands covers all [`masks`](Self::masks) or runs none. Without this, commands count as able to read them.
    pub fn mask(&self) {
        self.masking.store(true, Ordering::Relaxed);
    }

    fn survey(&self) -> &Survey {
        self.survey.get_or_init(|| Survey::of(self))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the policy says about a path below a mount. Its rules are about the workspace; other mounts are the
    /// operator's choice, and only what holds credentials is set apart there.
    fn said_of(&self, mount: &Mount, below: &str) -> Label {
        self.policy_of(mount).label_of(Source::File(below))
    }

    fn policy_of(&self, mount: &Mount) -> &Policy {
        if self.is_first(mount) { &self.policy } else { &self.elsewhere }
    }

    fn is_first(&self, mount: &Mount) -> bool {
        self.workspace.mounts().first().is_some_and(|first| first.name() == mount.name())
    }

    fn has_path_rules(&self) -> bool {
        self.policy.sources.iter().any(|rule| rule.paths.is_some())
    }

    /// Whether somebody may not see it as whom the model acts.
    fn is_secret(&self, label: &Label) -> bool {
        let readers = self.clearance.readers.as_ref();
        readers.is_some_and(|readers| !label.confidentiality.flows_to(readers))
    }

    /// What a file was made of, whatever its path.
    fn written(&self, path: &SandboxPath) -> Label {
        let stamp = self.stamp_of(path);
        let known = self.known();
        let content = stamp.map(|stamp| known.content(&stamp, self.is_coarse(&stamp)));
        let label = content.unwrap_or_else(|| known.all_eras());
        known.pending(path.as_str()).map_or_else(|| label.clone(), |pending| label.join(pending))
    }

    fn stamp_of(&self, path: &SandboxPath) -> Option<Stamp> {
        looking::find(&self.workspace, path).map(|found| found.stamp)
    }

    /// Whether the clock of the file system of a file was never asked.
    fn is_coarse(&self, stamp: &Stamp) -> bool {
        !self.workspace.mounts().iter().any(|mount| mount.device() == stamp.device)
    }

    /// The earliest time that a file changed from now on can have. Where there is none, all files count as changed.
    fn clock(&self) -> Moment {
        let writable = self.workspace.mounts().iter().filter(|mount| mount.access() == Access::Writable);
        let times = writable.map(|mount| {
            let stat = crate::workspace::newest_file(mount.handle());
            stat.map_or(Moment::BEGINNING, |stat| Moment::of(&stat))
        });
        times.min().unwrap_or(Moment::BEGINNING)
    }

    /// Numbers of devices change when a machine starts anew; names of mounts do not.
    fn device_name(&self, device: u64) -> String {
        let mount = self.workspace.mounts().iter().find(|mount| mount.device() == device);
        mount.map_or_else(|| format!("#{device}"), |mount| mount.name().to_owned())
    }

    fn device(&self, name: &str) -> Option<u64> {
        if let Some(number) = name.strip_prefix('#') {
            return number.parse().ok();
        }
        self.workspace.mounts().iter().find(|mount| mount.name() == name).map(Mount::device)
    }
}
