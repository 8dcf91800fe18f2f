//! The tools of a run and of its subagents: made in one place, so that both have the same.

use std::path::PathBuf;
use std::sync::Arc;

use fullsend_fetch::get::visit::{PlainHttp, VisitRules, Visitor};
use fullsend_fetch::get::{ExtraRoots, RulesError};

use super::wanted::TOOLS;
use crate::browser::{Browser, Lease};
use crate::execution::{Execution, Nowhere, Spill};
use crate::files::{EditFile, ListFiles, ReadFile, SearchFiles, ViewImage, WriteFile};
use crate::gate::FlowMode;
use crate::schema::SchemaError;
use crate::sources::Sources;
use crate::store::RunStore;
use crate::subagent::{Outfitter, Unequipped};
use crate::tool::Tool;
use crate::toolbox::Toolbox;
use crate::tools::{Bash, BashLimits, LoadSkill, ReadSkillResource, SkillScript, SkillSet, WebFetch};
use crate::wiring::SharedDirectory;
use crate::workspace::{CurrentDir, Workspace};

/// What all tools of a run and of its subagents share.
#[derive(Debug)]
pub(super) struct Workbench {
    pub(super) workspace: Arc<Workspace>,
    pub(super) execution: Execution,
    /// Where values come from: one for all, so that what one has written is known to the others.
    pub(super) sources: Arc<Sources>,
    /// How strictly flows are judged.
    pub(super) mode: FlowMode,
    /// The browser that subagents may drive.
    pub(super) lease: Option<Lease>,
    /// Files with certificates of more authorities.
    pub(super) extra_roots: Vec<PathBuf>,
    /// Whether results are looked at before they are kept. What is too long to be shown is not, so it is not kept either.
    pub(super) checked: bool,
}

impl Workbench {
    /// Commands and files.
    pub(super) fn tools(&self, store: &RunStore, current: &CurrentDir) -> Vec<Arc<dyn Tool>> {
        let workspace = || self.workspace.clone();
        let sources = || self.sources.clone();
        let artifacts = Arc::new(store.artifacts().clone());
        let place = self.place(current);
        vec![
            Arc::new(Bash::new(
                self.execution.clone(),
                place,
                self.spill(store),
                BashLimits::default(),
                sources(),
            )),
            Arc::new(ReadFile::new(workspace(), current.clone(), sources())),
            Arc::new(ListFiles::new(workspace(), current.clone(), sources())),
            Arc::new(SearchFiles::new(workspace(), current.clone(), sources())),
            Arc::new(ViewImage::new(workspace(), current.clone(), artifacts, sources())),
            Arc::new(EditFile::new(workspace(), current.clone(), sources())),
            Arc::new(WriteFile::new(workspace(), current.clone(), sources())),
        ]
    }

    /// Pages of the web.
    pub(super) fn web_fetch(&self, store: &RunStore) -> Result<Arc<dyn Tool>, RulesError> {
        // Pages of the web are what it is for, also those without TLS; what they say is not trusted either way.
        let rules = VisitRules {
            plain_http: PlainHttp::Allowed,
            extra_roots: self.extra_roots.iter().cloned().map(ExtraRoots::File).collect(),
            ..VisitRules::default()
        };
        Ok(Arc::new(WebFetch::new(Visitor::new(rules)?, self.spill(store), self.sources.clone(), self.mode)))
    }

    /// What makes no sense without skills.
    pub(super) fn of_skills(
        &self,
        store: &RunStore,
        current: &CurrentDir,
        skills: &Arc<SkillSet>,
    ) -> [Arc<dyn Tool>; 3] {
        let scripts = SkillScript::new(
            self.execution.clone(),
            self.place(current),
            self.spill(store),
            skills.clone(),
            self.sources.clone(),
        );
        [
            Arc::new(LoadSkill::new(skills.clone())),
            Arc::new(ReadSkillResource::new(skills.clone())),
            Arc::new(scripts),
        ]
    }

    /// Where output goes as it came.
    fn spill(&self, store: &RunStore) -> Arc<dyn Spill> {
        if self.checked { Arc::new(Nowhere) } else { Arc::new(store.artifacts().clone()) }
    }

    fn place(&self, current: &CurrentDir) -> Arc<SharedDirectory> {
        Arc::new(SharedDirectory::new(self.workspace.clone(), current.clone()))
    }
}

impl Outfitter for Workbench {
    fn toolbox(
        &self,
        names: &[&'static str],
        store: &RunStore,
        current: &CurrentDir,
    ) -> Result<Toolbox, Unequipped> {
        let mut tools = self.tools(store, current);
        if names.contains(&"web_fetch") {
            tools.push(self.web_fetch(store).map_err(|error| Unequipped(error.to_string()))?);
        }
        // Each has a connection of its own, which ends with it.
        if let Some(lease) = self.lease.as_ref().filter(|_| names.contains(&"browser")) {
            tools.push(Arc::new(Browser::new(lease.clone())));
        }
        offer(tools, |name| names.contains(&name)).map_err(|error| Unequipped(error.to_string()))
    }
}

/// Puts tools together. Those that are not offered, and those that are not there, are known by name, so that asking for one
/// can be refused for what it is.
pub(super) fn offer(
    tools: Vec<Arc<dyn Tool>>,
    is_offered: impl Fn(&str) -> bool,
) -> Result<Toolbox, SchemaError> {
    let mut toolbox = Toolbox::default();
    for name in TOOLS.into_iter().filter(|name| !tools.iter().any(|tool| tool.spec().name == *name)) {
        toolbox.forbid(name);
    }
    for tool in tools {
        let offered = is_offered(tool.spec().name);
        toolbox.add(tool, offered)?;
    }
    Ok(toolbox)
}
