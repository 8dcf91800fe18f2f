//! Calls of the browser tool.

use std::sync::atomic::{AtomicUsize, Ordering};

use fullsend_agent::browser::{Browser, Lease};
use fullsend_agent::{Tool as _, ToolCallContext, ToolOutput};
use fullsend_flow::Label;
use serde_json::Value;
use tokio::runtime::Runtime;

/// A tool, and the runtime in which its conversation goes on between calls.
pub(crate) struct Driver {
    tool: Option<Browser>,
    runtime: Runtime,
}

impl Driver {
    pub(crate) fn new(lease: Lease) -> Self {
        Self::of(Browser::new(lease))
    }

    pub(crate) fn of(tool: Browser) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        Self { tool: Some(tool), runtime }
    }

    pub(crate) fn call(&self, input: &Value) -> ToolOutput {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        let output_id = format!("run-1:browser:{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let label = Label::bottom();
        let context = ToolCallContext {
            call_id: "call",
            output_id: &output_id,
            input: input.as_object().unwrap(),
            label: &label,
        };
        let output = self.runtime.block_on(self.tool.as_ref().unwrap().call(context)).unwrap();
        assert_eq!(output.record["outputId"], output_id.as_str());
        assert_eq!(output.label, Label::untrusted(), "pages are nobody's word");
        output
    }

    /// The output of a call that works.
    pub(crate) fn ok(&self, input: Value) -> String {
        let record = self.call(&input).record;
        assert_eq!(record["status"], "ok", "{input}: {record}");
        record["output"].as_str().unwrap().to_owned()
    }

    /// The code and the message of a call that does not.
    pub(crate) fn error(&self, input: Value) -> (String, String) {
        let record = self.call(&input).record;
        assert_eq!(record["status"], "error", "{input}: {record}");
        (record["code"].as_str().unwrap().to_owned(), record["message"].as_str().unwrap().to_owned())
    }

    /// Lets go of the tool while its runtime goes on.
    pub(crate) fn let_go(&mut self) {
        let tool = self.tool.take();
        self.runtime.block_on(async move { drop(tool) });
    }
}
