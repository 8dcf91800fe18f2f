//! `fetch_skill`: brings a pinned skill into a run that is under way.

use std::fmt;
use std::sync::Arc;

use fullsend_flow::{Deed, Label};
use fullsend_skills::SkillRoot;
use serde_json::{Value, json};

use super::skill_set::SkillSet;
use crate::tool::{
    Effect, Pending, Shown, Sink, Tool, ToolCallContext, ToolFailure, ToolFault, ToolOutput, ToolSpec,
};
use crate::workspace::{SandboxPath, Workspace};

/// Fetches skills for runs. Whoever does it checks the address, the pin and the content.
pub trait SkillFetcher: fmt::Debug + Send + Sync {
    /// Where in the sandbox a skill is, or why there is none: a message for the model.
    fn fetch<'a>(&'a self, url: &'a str) -> Pending<'a, Result<FetchedDirs, String>>;
}

/// Directories in the sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedDirs {
    /// Of the skill that was asked for.
    pub skill: String,
    /// Of the skills that it needs and that came with it.
    pub dependencies: Vec<String>,
}

/// The tool.
#[derive(Debug)]
pub struct FetchSkill {
    fetcher: Arc<dyn SkillFetcher>,
    skills: Arc<SkillSet>,
    workspace: Arc<Workspace>,
    spec: ToolSpec,
}

impl FetchSkill {
    /// Its name.
    pub const NAME: &'static str = "fetch_skill";

    /// Adds what `fetcher` brings to `skills`.
    pub fn new(fetcher: Arc<dyn SkillFetcher>, skills: Arc<SkillSet>, workspace: Arc<Workspace>) -> Self {
        let spec = ToolSpec {
            name: Self::NAME,
            description: "Fetches a skill that the harness allows, by its pinned address \
                          (`https://…/tree/<ref>/<dir>#sha256=<digest>`). Call load_skill with the name that it returns to use \
                          the skill."
                .to_owned(),
            effect: Effect::SideEffect,
            deed: Deed::Look,
            // The harness lists where skills may come from and the address pins what comes, so it does not matter who
            // chose it. What is kept from the model is no part of it all the same.
            sinks: &[Sink::Child("url")],
            parameters: json!({
                "type": "object",
                "properties": {"url": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "The address."}},
                "required": ["url"],
                "additionalProperties": false,
            }),
        };
        Self { fetcher, skills, workspace, spec }
    }

    async fn fetch(&self, context: ToolCallContext<'_>) -> ToolOutput {
        let url = context.input.get("url").and_then(Value::as_str).unwrap_or_default();
        let output_id = context.output_id;
        let FetchedDirs { skill: path, dependencies } = match self.fetcher.fetch(url).await {
            Ok(fetched) => fetched,
            Err(message) => return refused(output_id, "fetch_failed", &message),
        };
        let Some(root) = self.root(&path) else {
            return refused(output_id, "not_in_reach", "the skill was put where this run does not see it");
        };
        let roots = dependencies.iter().filter_map(|path| self.root(path));
        let needed: Vec<String> = roots.filter_map(|root| self.skills.grow(&root)).collect();
        match self.skills.grow(&root) {
            Some(name) => ToolOutput {
                record: json!({
                    "type": "fullsend.fetch-skill-output",
                    "outputId": output_id,
                    "status": "fetched",
                    "skill": name,
                    "path": path,
                    "dependencies": needed,
                }),
                label: self.skills.label(&name, None),
                failure: None,
                shown: Shown { line: format!("fetched {name}"), diff: None },
                ..refused(output_id, "", "")
            },
            None => refused(
                output_id,
                "not_usable",
                "there is no usable skill at this address, or one of the same name is there already",
            ),
        }
    }

    /// The directory on the host, by way of the mount that it is said to be in.
    fn root(&self, path: &str) -> Option<SkillRoot> {
        let place = SandboxPath::absolute(path).ok()?;
        let (mount, below) = self.workspace.mount_of(&place)?;
        // In a directory that the run can change, what was fetched would not stay what was pinned.
        (mount.access() == crate::workspace::Access::ReadOnly && !below.is_empty())
            .then(|| SkillRoot { host: mount.host().join(below), sandbox: place.as_str().into() })
    }
}

fn refused(output_id: &str, code: &str, message: &str) -> ToolOutput {
    ToolOutput {
        record: json!({
            "type": "fullsend.fetch-skill-output",
            "outputId": output_id,
            "status": "error",
            "error": {"code": code, "message": message},
        }),
        model_view: None,
        withheld: false,
        label: Label::bottom(),
        images: Vec::new(),
        failure: Some(ToolFailure {
            kind: "harness_error".to_owned(),
            detail: "the skill was not fetched".to_owned(),
            exit_code: None,
        }),
        shown: Shown { line: "not fetched".to_owned(), diff: None },
        rows: Vec::new(),
    }
}

impl Tool for FetchSkill {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, context: ToolCallContext<'a>) -> Pending<'a, Result<ToolOutput, ToolFault>> {
        Box::pin(async move { Ok(self.fetch(context).await) })
    }
}
