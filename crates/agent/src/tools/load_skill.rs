//! `load_skill`: brings the text of a skill into the conversation.

use std::sync::Arc;

use fullsend_flow::{Deed, Label};
use fullsend_skills::ModelInvocation;
use fullsend_skills::record::ActivationSource;
use serde_json::{Value, json};

use super::skill_set::SkillSet;
use crate::tool::{
    Effect, Pending, Shown, Sink, Tool, ToolCallContext, ToolFailure, ToolFault, ToolOutput, ToolSpec,
};

/// The tool.
#[derive(Debug)]
pub struct LoadSkill {
    skills: Arc<SkillSet>,
    spec: ToolSpec,
}

impl LoadSkill {
    /// Loads skills of this set; its schema names them.
    pub fn new(skills: Arc<SkillSet>) -> Self {
        let registry = skills.registry();
        let offered = registry.skills().iter();
        let offered = offered.filter(|skill| skill.manifest.model_invocation == ModelInvocation::Allowed);
        let names: Vec<&str> = offered.map(fullsend_skills::Skill::name).collect();
        let mut name = json!({"type": "string", "enum": names, "description": "The name of the skill."});
        if let Some(members) = name.as_object_mut().filter(|_| skills.is_growing()) {
            members.remove("enum");
        }
        let parameters = json!({
            "type": "object",
            "properties": {"name": name},
            "required": ["name"],
            "additionalProperties": false,
        });
        let spec = ToolSpec {
            name: "load_skill",
            description:
                "Loads the instructions of a skill. Call it before you begin a task that matches the \
                          description of the skill."
                    .to_owned(),
            effect: Effect::Read,
            deed: Deed::Look,
            sinks: &[Sink::Selector("name")],
            parameters,
        };
        Self { skills, spec }
    }

    fn load(&self, context: &ToolCallContext<'_>) -> ToolOutput {
        let name = context.input.get("name").and_then(Value::as_str).unwrap_or_default();
        let output_id = context.output_id;
        let registry = self.skills.registry();
        // Where the schema names no skills, those that are not for models are refused here.
        let skill = registry.skill(name);
        let Some(skill) = skill.filter(|skill| skill.manifest.model_invocation == ModelInvocation::Allowed)
        else {
            return missing(output_id);
        };
        let row = self.skills.activate(skill, ActivationSource::ModelTool);
        let again = row.is_none();
        let content = if again { String::new() } else { skill.prompt_block() };
        ToolOutput {
            record: json!({
                "type": "fullsend.load-skill-output",
                "outputId": output_id,
                "skill": skill.name(),
                "digest": skill.digest,
                "status": if again { "already-loaded" } else { "loaded" },
                "cfcPromptRole": "context",
                "content": content,
            }),
            model_view: None,
            withheld: false,
            label: self.skills.label(name, None),
            images: Vec::new(),
            failure: None,
            shown: Shown { line: if again { "in use already" } else { "loaded" }.to_owned(), diff: None },
            rows: row.into_iter().collect(),
        }
    }
}

fn missing(output_id: &str) -> ToolOutput {
    let detail = "there is no such skill in this run";
    ToolOutput {
        record: json!({
            "type": "fullsend.load-skill-output",
            "outputId": output_id,
            "status": "error",
            "error": {"code": "skill_not_found", "message": detail},
        }),
        model_view: None,
        withheld: false,
        label: Label::bottom(),
        images: Vec::new(),
        failure: Some(ToolFailure {
            kind: "harness_error".to_owned(),
            detail: detail.to_owned(),
            exit_code: None,
        }),
        shown: Shown { line: detail.to_owned(), diff: None },
        rows: Vec::new(),
    }
}

impl Tool for LoadSkill {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, context: ToolCallContext<'a>) -> Pending<'a, Result<ToolOutput, ToolFault>> {
        Box::pin(async move { Ok(self.load(&context)) })
    }
}
