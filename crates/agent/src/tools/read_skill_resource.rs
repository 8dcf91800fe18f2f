//! `read_skill_resource`: a file of a skill.

use std::sync::Arc;

use fullsend_flow::Deed;
use fullsend_skills::record::ResourceReadRecord;
use fullsend_skills::{DEFAULT_READ_BYTES, MAX_READ_BYTES, ReadStatus};
use serde_json::{Value, json};

use super::skill_set::{SkillSet, members};
use crate::store::Row;
use crate::tool::{
    Effect, Pending, Shown, Sink, Tool, ToolCallContext, ToolFailure, ToolFault, ToolOutput, ToolSpec,
};

/// The tool.
#[derive(Debug)]
pub struct ReadSkillResource {
    skills: Arc<SkillSet>,
    spec: ToolSpec,
}

impl ReadSkillResource {
    /// Reads files of these skills.
    pub fn new(skills: Arc<SkillSet>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "skill": {"type": "string", "description": "The name of the skill."},
                "path": {"type": "string", "description": "The file, relative to the directory of the skill."},
                "maxBytes": {
                    "type": "integer", "minimum": 0, "maximum": MAX_READ_BYTES,
                    "description": format!("How much of it; {DEFAULT_READ_BYTES} bytes if absent."),
                },
            },
            "required": ["skill", "path"],
            "additionalProperties": false,
        });
        let spec = ToolSpec {
            name: "read_skill_resource",
            description: "Reads a file that belongs to a skill.".to_owned(),
            effect: Effect::Read,
            deed: Deed::Look,
            sinks: &[Sink::Selector("path")],
            parameters,
        };
        Self { skills, spec }
    }

    fn read(&self, context: &ToolCallContext<'_>) -> ToolOutput {
        let text = |key: &str| context.input.get(key).and_then(Value::as_str).unwrap_or_default();
        let most = context.input.get("maxBytes").and_then(Value::as_u64);
        let most = most.and_then(|most| usize::try_from(most).ok()).unwrap_or(DEFAULT_READ_BYTES);
        let read = self.skills.registry().read_resource(text("skill"), text("path"), most);
        let run_id = self.skills.run_id().as_str();
        let kept = ResourceReadRecord::new(&read, context.output_id, run_id, &self.skills.now());
        let mut record = members(&read);
        // Where on the host it lies is nothing that a model can use.
        record.remove("resourcePath");
        record.insert("type".to_owned(), Value::from("fullsend.read-skill-resource-output"));
        record.insert("outputId".to_owned(), Value::from(context.output_id));
        let line = match read.status {
            ReadStatus::Read => format!("{} bytes", read.content.as_ref().map_or(0, String::len)),
            ReadStatus::Binary => "not text".to_owned(),
            ReadStatus::Error => read.error.as_ref().map(|error| error.message.clone()).unwrap_or_default(),
        };
        let failure = read.error.as_ref().map(|error| ToolFailure {
            kind: "harness_error".to_owned(),
            detail: error.message.clone(),
            exit_code: None,
        });
        ToolOutput {
            record: Value::Object(record),
            model_view: None,
            withheld: false,
            label: self.skills.label(text("skill"), Some(text("path"))),
            images: Vec::new(),
            failure,
            shown: Shown { line, diff: None },
            rows: vec![Row::SkillRead { read: members(&kept) }],
        }
    }
}

impl Tool for ReadSkillResource {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, context: ToolCallContext<'a>) -> Pending<'a, Result<ToolOutput, ToolFault>> {
        Box::pin(async move { Ok(self.read(&context)) })
    }
}
