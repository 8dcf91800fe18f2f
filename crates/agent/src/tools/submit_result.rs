//! `submit_result`: hands over the result of the task, held against its schema on the spot, and ends the work.

use std::sync::Arc;

use fullsend_flow::Deed;
use serde_json::{Value, json};

use crate::schema::{Mismatch, Schema, SchemaError};
use crate::sources::Sources;
use crate::tool::{
    Effect, Pending, Shown, Sink, Tool, ToolCallContext, ToolFailure, ToolFault, ToolOutput, ToolSpec,
};
use crate::workspace::{FileProblem, Parents, SandboxPath, Workspace};

/// The tool.
#[derive(Debug)]
pub struct SubmitResult {
    workspace: Arc<Workspace>,
    sources: Arc<Sources>,
    place: SandboxPath,
    schema: Schema,
    spec: ToolSpec,
}

impl SubmitResult {
    /// Its name.
    pub const NAME: &'static str = "submit_result";

    /// Writes results that fit `schema` to `place`.
    pub fn new(
        workspace: Arc<Workspace>,
        sources: Arc<Sources>,
        place: SandboxPath,
        schema: &Value,
    ) -> Result<Self, SchemaError> {
        let compiled = Schema::compile(schema)?;
        let spec = ToolSpec {
            name: Self::NAME,
            description: format!(
                "Hands over the result of the task and ends the work. Call it once, when everything else is done. `result` must \
                 be valid under this JSON Schema: {schema}"
            ),
            effect: Effect::Write,
            deed: Deed::Change,
            // It leaves the run: what is kept from the model is no part of it.
            sinks: &[Sink::Child("result")],
            // References of the schema start at its own root, so it cannot stand inside another one.
            parameters: json!({
                "type": "object",
                "properties": {"result": {"description": "The result, as the schema in the description says."}},
                "required": ["result"],
                "additionalProperties": false,
            }),
        };
        Ok(Self { workspace, sources, place, schema: compiled, spec })
    }

    fn submit(&self, context: &ToolCallContext<'_>) -> ToolOutput {
        let given = context.input.get("result").unwrap_or(&Value::Null);
        let mismatches = self.schema.mismatches(given);
        // Some models send JSON as a text.
        let read = given.as_str().filter(|_| !mismatches.is_empty());
        let read: Option<Value> = read.and_then(|text| serde_json::from_str(text).ok());
        let read = read.filter(|value| self.schema.mismatches(value).is_empty());
        match (&read, mismatches.is_empty()) {
            (None, false) => refused(context.output_id, &mismatches),
            (Some(value), _) => self.written(context, value),
            (None, true) => self.written(context, given),
        }
    }

    fn written(&self, context: &ToolCallContext<'_>, value: &Value) -> ToolOutput {
        let mut text = format!("{value:#}");
        text.push('\n');
        self.sources.will_write(&self.place, context.label);
        let put = self
            .workspace
            .place(&self.place, Parents::Create)
            .and_then(|place| place.put(text.as_bytes(), None));
        match put {
            Ok(_) => {
                self.sources.wrote(&self.place, context.label);
                let record = json!({
                    "type": "fullsend.submit-result-output",
                    "outputId": context.output_id,
                    "status": "accepted",
                    "path": self.place.as_str(),
                    "sizeBytes": text.len(),
                });
                output(record, "accepted", None)
            }
            Err(problem) => {
                self.sources.did_not_write(&self.place);
                self.unwritable(context.output_id, &problem)
            }
        }
    }

    fn unwritable(&self, output_id: &str, problem: &FileProblem) -> ToolOutput {
        let detail = format!("`{}` cannot be written: {problem}", self.place.as_str());
        let record = json!({
            "type": "fullsend.submit-result-output",
            "outputId": output_id,
            "status": "error",
            "detail": detail,
        });
        output(record, "not written", Some(("harness_error", detail)))
    }
}

fn refused(output_id: &str, mismatches: &[Mismatch]) -> ToolOutput {
    let place = |one: &Mismatch| if one.place.is_empty() { "/".to_owned() } else { one.place.clone() };
    let problems: Vec<Value> =
        mismatches.iter().map(|one| json!({"path": place(one), "problem": one.expected})).collect();
    let record = json!({
        "type": "fullsend.submit-result-output",
        "outputId": output_id,
        "status": "invalid",
        "problems": problems,
        "detail": "the result does not fit the schema; correct these places and submit it again",
    });
    output(
        record,
        "does not fit the schema",
        Some(("invalid_tool_call", "the result does not fit the schema".to_owned())),
    )
}

fn output(record: Value, line: &str, failure: Option<(&str, String)>) -> ToolOutput {
    ToolOutput {
        record,
        model_view: None,
        withheld: false,
        label: fullsend_flow::Label::bottom(),
        images: Vec::new(),
        failure: failure.map(|(kind, detail)| ToolFailure { kind: kind.to_owned(), detail, exit_code: None }),
        shown: Shown { line: line.to_owned(), diff: None },
        rows: Vec::new(),
    }
}

impl Tool for SubmitResult {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, context: ToolCallContext<'a>) -> Pending<'a, Result<ToolOutput, ToolFault>> {
        Box::pin(async move { Ok(self.submit(&context)) })
    }

    fn concludes(&self, output: &ToolOutput) -> bool {
        output.failure.is_none()
    }
}
