//! The model of an iteration: who was chosen, by the name and with the effort that the harness asks for.

use std::sync::Arc;

use fullsend_agent::scene::ChosenModel;
use fullsend_guard::hook::Runtime;
use fullsend_model::{Completion, ModelClient, ModelError, ModelRequest, Pending, Progress, ReasoningEffort};

use super::Native;
use crate::runtime::{AgentRuntime as _, RuntimeError, Wanted};

/// A model that is asked to think as much as it is told, by whoever asks: children as well.
#[derive(Debug)]
struct WithEffort {
    client: Arc<dyn ModelClient>,
    effort: ReasoningEffort,
}

impl ModelClient for WithEffort {
    fn complete<'a>(
        &'a self,
        request: ModelRequest<'a>,
        progress: &'a mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Pending<'a, Result<Completion, ModelError>> {
        self.client.complete(ModelRequest { reasoning_effort: Some(self.effort), ..request }, progress)
    }

    fn provider(&self) -> &'static str {
        self.client.provider()
    }
}

impl Native {
    /// The model as the harness wants it.
    pub(super) fn model(&self, wanted: &Wanted) -> Result<ChosenModel, RuntimeError> {
        let mut model = self.config.model.clone();
        // A script is what it is, whatever the harness calls its model.
        if self.id() == Runtime::Replay {
            return Ok(model);
        }
        if let Some(name) = &wanted.model {
            model.name.clone_from(name);
        }
        let refuse = |problem: String| RuntimeError::Unsupported { runtime: self.id().as_str(), problem };
        if model.name.is_empty() {
            return Err(refuse(
                "needs to be told which model to use; use `--model NAME`, or add `model` to the harness"
                    .to_owned(),
            ));
        }
        if let Some(word) = &wanted.effort {
            let effort = ReasoningEffort::from_word(word)
                .ok_or_else(|| refuse(format!("knows no effort `{}`", word.escape_debug())))?;
            model.client = Arc::new(WithEffort { client: model.client, effort });
        }
        Ok(model)
    }

    /// What the harness asks for in vain, for a person to know.
    pub(super) fn in_vain(&self, wanted: &Wanted) -> Vec<String> {
        let ignored = wanted.effort.as_ref().filter(|_| self.id() == Runtime::Replay);
        let warning = |effort: &String| {
            format!("`effort: {effort}` is of no effect: the answers of a script are written already")
        };
        ignored.map(warning).into_iter().collect()
    }
}
