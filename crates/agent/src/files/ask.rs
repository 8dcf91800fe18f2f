//! How a file tool is called: arguments read, path understood, work done away from the loop, answer made.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::failure::{ErrorCode, Failure};
use super::workspace_label;
use crate::tool::{Shown, ToolCallContext, ToolFault, ToolOutput};
use crate::workspace::{CurrentDir, SandboxPath, Workspace};

/// A file system that does not answer must not hang the run.
const LONGEST: Duration = Duration::from_secs(60);
/// Work that can end early ends before that, with what it has.
const LONG: Duration = Duration::from_secs(30);

/// What every file tool has.
#[derive(Clone, Debug)]
pub(super) struct Desk {
    pub(super) workspace: Arc<Workspace>,
    pub(super) current: CurrentDir,
}

/// Arguments that name a path.
pub(super) trait Ask: DeserializeOwned + Send + 'static {
    /// The path as the model wrote it.
    fn path(&self) -> &str;
}

/// What a tool did.
pub(super) struct Done {
    pub(super) path: SandboxPath,
    pub(super) record: Value,
    pub(super) shown: Shown,
}

impl Done {
    pub(super) fn into_output(self) -> ToolOutput {
        ToolOutput {
            record: self.record,
            model_view: None,
            label: workspace_label(&self.path),
            images: Vec::new(),
            failure: None,
            shown: self.shown,
            rows: Vec::new(),
        }
    }
}

/// Says that nobody waits for the result any more, or that it has taken long enough.
#[derive(Clone, Debug)]
pub(super) struct Stop {
    dropped: Arc<AtomicBool>,
    until: Instant,
}

impl Stop {
    fn new() -> Self {
        Self { dropped: Arc::default(), until: Instant::now() + LONG }
    }

    pub(super) fn is_set(&self) -> bool {
        self.dropped.load(Ordering::Relaxed) || Instant::now() >= self.until
    }
}

/// Sets a [`Stop`] when the call is dropped, by the loop or by the limit on its time.
struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.dropped.store(true, Ordering::Relaxed);
    }
}

/// What the work of a tool is given.
pub(super) struct Job<A> {
    pub(super) workspace: Arc<Workspace>,
    pub(super) ask: A,
    /// What the path of the arguments means.
    pub(super) path: SandboxPath,
    pub(super) output_id: String,
    pub(super) stop: Stop,
}

/// What came of the work: done, or why not, or the end of the run.
pub(super) type Worked<T> = Result<T, WorkError>;

/// Why work was not done.
pub(super) enum WorkError {
    Failure(Failure),
    Fault(ToolFault),
}

impl<T: Into<Failure>> From<T> for WorkError {
    fn from(failure: T) -> Self {
        Self::Failure(failure.into())
    }
}

impl Desk {
    /// Removes the draft of a file that a killed process did not finish.
    pub(super) fn clean_up(&self, input: &Map<String, Value>) {
        let given = input.get("path").and_then(Value::as_str);
        if let Some(path) = given.and_then(|given| self.workspace.resolve(given, &self.current.get()).ok()) {
            self.workspace.remove_drafts(&path);
        }
    }

    /// Reads the arguments, runs `work` where it may block, and makes the answer.
    pub(super) async fn run<A: Ask>(
        &self,
        tool: &'static str,
        context: ToolCallContext<'_>,
        work: impl FnOnce(&Job<A>) -> Worked<ToolOutput> + Send + 'static,
    ) -> Result<ToolOutput, ToolFault> {
        let output_id = context.output_id;
        let ask = match A::deserialize(context.input) {
            Ok(ask) => ask,
            Err(error) => {
                let given = context.input.get("path").and_then(Value::as_str).unwrap_or_default();
                let failure = Failure::new(ErrorCode::InvalidArgument, error.to_string());
                return Ok(failure.into_output(tool, output_id, given));
            }
        };
        let given = ask.path().to_owned();
        let path = match self.workspace.resolve(&given, &self.current.get()) {
            Ok(path) => path,
            Err(problem) => return Ok(Failure::from(problem).into_output(tool, output_id, &given)),
        };
        let stop = Stop::new();
        let _guard = StopOnDrop(stop.clone());
        let job =
            Job { workspace: Arc::clone(&self.workspace), ask, path, output_id: output_id.to_owned(), stop };
        let task = tokio::task::spawn_blocking(move || {
            let done = work(&job);
            (done, job.path)
        });
        let failed = match tokio::time::timeout(LONGEST, task).await {
            Ok(Ok((Ok(output), _))) => return Ok(output),
            Ok(Ok((Err(WorkError::Fault(fault)), _))) => return Err(fault),
            Ok(Ok((Err(WorkError::Failure(failure)), path))) => match failure.path {
                Some(_) => failure,
                None => failure.at(&path),
            },
            Ok(Err(error)) => Failure::new(ErrorCode::Unknown, format!("the work ended early: {error}")),
            Err(_) => Failure::new(
                ErrorCode::Timeout,
                format!("the file system did not answer within {} s", LONGEST.as_secs()),
            ),
        };
        Ok(failed.into_output(tool, output_id, &given))
    }
}
