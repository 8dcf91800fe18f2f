//! How a file tool is called: arguments read, path understood, work done away from the loop, answer made.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fullsend_flow::Label;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::failure::{ErrorCode, Failure};
use crate::sources::{Sources, Stamp};
use crate::tool::{Shown, ToolCallContext, ToolFault, ToolOutput};
use crate::workspace::{CurrentDir, FileProblem, Place, SandboxPath, Workspace};

/// A file system that does not answer must not hang the run.
const LONGEST: Duration = Duration::from_secs(60);
/// Work that can end early ends before that, with what it has.
const LONG: Duration = Duration::from_secs(30);

/// What every file tool has.
#[derive(Clone, Debug)]
pub(super) struct Desk {
    pub(super) workspace: Arc<Workspace>,
    pub(super) current: CurrentDir,
    pub(super) sources: Arc<Sources>,
}

/// Arguments that name a path.
pub(super) trait Ask: DeserializeOwned + Send + 'static {
    /// The path as the model wrote it.
    fn path(&self) -> &str;
}

/// What a tool did.
pub(super) struct Done {
    /// What the answer is made of.
    pub(super) label: Label,
    pub(super) record: Value,
    pub(super) shown: Shown,
}

impl Done {
    pub(super) fn into_output(self) -> ToolOutput {
        ToolOutput {
            record: self.record,
            model_view: None,
            withheld: false,
            label: self.label,
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
    /// What the arguments are made of.
    pub(super) label: Label,
    pub(super) sources: Arc<Sources>,
    pub(super) stop: Stop,
}

impl<A> Job<A> {
    /// Puts a file of this label in its place. The label is known before the file is there.
    pub(super) fn put(
        &self,
        place: Place,
        bytes: &[u8],
        expected: Option<&[u8]>,
        label: &Label,
    ) -> Result<(), FileProblem> {
        self.sources.will_write(&self.path, label);
        let put = place.put(bytes, expected)?;
        self.sources.wrote_as(&self.path, &Stamp::of(&put.new), put.old.as_ref().map(Stamp::of), label);
        Ok(())
    }
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
                return Ok(failure.into_output(tool, output_id, given, Label::bottom()));
            }
        };
        let given = ask.path().to_owned();
        let path = match self.workspace.resolve(&given, &self.current.get()) {
            Ok(path) => path,
            Err(problem) => {
                return Ok(Failure::from(problem).into_output(tool, output_id, &given, Label::bottom()));
            }
        };
        let stop = Stop::new();
        let _guard = StopOnDrop(stop.clone());
        let job = Job {
            workspace: Arc::clone(&self.workspace),
            ask,
            path,
            output_id: output_id.to_owned(),
            label: context.label.clone(),
            sources: Arc::clone(&self.sources),
            stop,
        };
        let task = tokio::task::spawn_blocking(move || {
            let done = work(&job);
            if done.is_err() {
                job.sources.did_not_write(&job.path);
            }
            // Why something failed tells about the file as much as its content does.
            let label = if done.is_err() { job.sources.file(&job.path) } else { Label::bottom() };
            (done, job.path, label)
        });
        let mut label = self.sources.usual().clone();
        let failed = match tokio::time::timeout(LONGEST, task).await {
            Ok(Ok((Ok(output), ..))) => return Ok(output),
            Ok(Ok((Err(WorkError::Fault(fault)), ..))) => return Err(fault),
            Ok(Ok((Err(WorkError::Failure(failure)), path, told))) => {
                label = told;
                match failure.path {
                    Some(_) => failure,
                    None => failure.at(&path),
                }
            }
            Ok(Err(error)) => Failure::new(ErrorCode::Unknown, format!("the work ended early: {error}")),
            Err(_) => Failure::new(
                ErrorCode::Timeout,
                format!("the file system did not answer within {} s", LONGEST.as_secs()),
            ),
        };
        Ok(failed.into_output(tool, output_id, &given, label))
    }
}
