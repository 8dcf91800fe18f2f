//! The built-in agent as a runtime: its loop runs on the host, and only commands run in the sandbox.
//!
//! The same loop plays scripts: `replay` is this runtime with a model that follows one. Hooks are asked in this process,
//! before every call and about every result, for children too.

mod debug_log;
mod events;
mod hooks;
mod model;
mod stage;
mod tools;
mod wanted;

use std::fmt::Display;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fullsend_agent::budget::Limits;
use fullsend_agent::engine::{Finished, Opening};
use fullsend_agent::event::Event;
use fullsend_agent::execution::{GivenSession, shell_mount};
use fullsend_agent::gate::FlowMode;
use fullsend_agent::hooks::CallHooks;
use fullsend_agent::scene::{ChosenModel, Floor, Prepared, Scene, SceneError, Surroundings};
use fullsend_agent::store::{EndStatus, JOURNAL, KeptMessage, RunStore, TerminalReason};
use fullsend_flow::{Label, Policy};
use fullsend_guard::SystemClock;
use fullsend_guard::hook::Runtime;
use fullsend_model::Replay;
use fullsend_model::replay::ReplayError;
use fullsend_sandbox::FilesystemMount;

use self::debug_log::DebugLog;
use self::events::{Teller, tokens_since};
use self::hooks::AtTheDesk;
use crate::event::{RuntimeEvent, Watch};
use crate::layout::Stage;
use crate::runtime::{AgentRuntime, Bootstrap, Ended, Equipment, Iteration, Pending, Place, RuntimeError};

/// How long the loop may take to notice that its time is over.
const GRACE: Duration = Duration::from_secs(5);
/// The number of the signal for a time that is over.
const ALARM: i32 = 14;

/// What the built-in agent is set up with.
#[derive(Clone, Debug)]
pub struct NativeConfig {
    /// Who answers.
    pub model: ChosenModel,
    /// What an iteration may use; tokens, money and bytes of output hold for all iterations of one conversation.
    pub limits: Limits,
    /// How strictly flows are judged.
    pub mode: FlowMode,
    /// By which rules.
    pub policy: Policy,
    /// Files with certificates of more authorities that pages may have.
    pub extra_roots: Vec<PathBuf>,
}

/// The built-in agent.
#[derive(Debug)]
pub struct Native {
    config: NativeConfig,
    id: Runtime,
    last: Mutex<Option<Last>>,
}

/// What is left of the last iteration.
#[derive(Clone, Debug)]
struct Last {
    run_dir: PathBuf,
    /// What its conversation was made of; what a validator says about its results is made of the same.
    context: Label,
    /// Whether the conversation can be gone on with.
    open: bool,
}

/// A model that follows the script in a file.
pub fn replay_model(script: &Path) -> Result<ChosenModel, ReplayError> {
    let client = Arc::new(Replay::open(script)?);
    Ok(ChosenModel { client, name: "replay".to_owned(), url: script.display().to_string(), auth: "replay" })
}

impl Native {
    /// The built-in agent with a model.
    pub fn new(config: NativeConfig) -> Self {
        Self { config, id: Runtime::Native, last: Mutex::default() }
    }

    /// The same under the name of the runtime that plays scripts; see [`replay_model`].
    pub fn replay(config: NativeConfig) -> Self {
        Self { id: Runtime::Replay, ..Self::new(config) }
    }

    async fn work(
        &self,
        place: &Place,
        iteration: &Iteration<'_>,
        watch: Watch<'_>,
    ) -> Result<Ended, RuntimeError> {
        let start = Instant::now();
        let model = self.model(iteration.wanted)?;
        let name = model.name.clone();
        let prepared = self.prepare(place, iteration, &model)?;
        let (turns, before) = (prepared.budget().turns(), prepared.budget().usage());
        let run_dir = prepared.store().run_dir().to_owned();
        // Whatever happens from here on, there is a journal.
        *self.last() = Some(Last { run_dir, context: Label::untrusted(), open: false });
        let mut log = DebugLog::open(self.id, iteration.wanted, iteration.debug_log)?;
        let mut teller = Teller::new(self.id, iteration.stream, before, watch)?;
        teller.tell(RuntimeEvent::Init {
            model: Some(name),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        });
        let finished = {
            let mut hear = |event: Event<'_>| {
                log.iter_mut().for_each(|log| log.hear(&event));
                teller.hear(&event);
            };
            prepared.run(stop(iteration), &mut hear).await
        };
        let finished = match finished {
            Ok(finished) => finished,
            Err(error) => {
                log.into_iter().for_each(|log| log.end("scene"));
                teller.tell(RuntimeEvent::Error { kind: "scene".to_owned(), message: error.to_string() });
                teller.end();
                return Err(scene_error(error));
            }
        };
        if let Some(error) = &finished.unrecorded {
            return Err(agent_error(error));
        }
        let end = End::of(&finished, iteration, start.elapsed());
        log.into_iter().for_each(|log| log.end(&end.word));
        if let Some(last) = self.last().as_mut() {
            last.context = finished.context.clone();
            last.open = end.timed_out
                || finished.ending.status == EndStatus::Completed
                || finished.ending.terminal_reason == TerminalReason::MaxModelTurns;
        }
        let cost = |usage: &fullsend_model::Usage| usage.cost_usd.unwrap_or_default();
        if let Some(message) = end.problem.clone() {
            teller.tell(RuntimeEvent::Error { kind: end.word.clone(), message });
        }
        teller.tell(RuntimeEvent::Result {
            num_turns: u64::from(finished.turns.saturating_sub(turns)),
            total_cost_usd: (cost(&finished.usage) - cost(&before)).max(0.0),
            is_error: end.exit_code != 0,
            message: end.problem.clone().unwrap_or_default(),
            subtype: end.word,
            usage: tokens_since(&finished.usage, &before),
        });
        let metrics = teller.end();
        Ok(Ended { exit_code: end.exit_code, metrics, error: None, timed_out: end.timed_out })
    }

    /// The conversation of the last iteration where that can be gone on with, or a new one.
    fn prepare(
        &self,
        place: &Place,
        iteration: &Iteration<'_>,
        model: &ChosenModel,
    ) -> Result<Prepared, RuntimeError> {
        let last = self.last().clone().filter(|_| iteration.number > 1);
        if let Some(last) = last.as_ref().filter(|last| last.open)
            && let Some(feedback) = &iteration.feedback
            // A record that is damaged, or a repository whose skills have changed: then it begins anew.
            && let Ok(prepared) = self.go_on(place, iteration, model, last, feedback)
        {
            return Ok(prepared);
        }
        let limits = self.limits(iteration);
        let wanted = self.wanted(place, iteration, None)?;
        let scene = Scene::new(wanted, model.clone(), &limits, place.stage.root(), surroundings(self, place));
        let scene = scene.map_err(scene_error)?;
        let seen = last.map_or_else(Label::bottom, |last| last.context);
        let said = iteration.feedback.as_ref().map(|feedback| corrected(&scene, feedback, &seen));
        let mut prepared =
            Prepared::new(scene, limits, iteration.prompt.clone(), &[]).map_err(scene_error)?;
        said.into_iter().for_each(|said| prepared.also_say(said));
        Ok(prepared)
    }

    fn go_on(
        &self,
        place: &Place,
        iteration: &Iteration<'_>,
        model: &ChosenModel,
        last: &Last,
        feedback: &str,
    ) -> Result<Prepared, RuntimeError> {
        let (store, recorded) =
            RunStore::reopen(&last.run_dir, Arc::new(SystemClock)).map_err(agent_error)?;
        let usual = self.limits(iteration);
        let turns = u32::try_from(recorded.turns).unwrap_or(u32::MAX);
        let limits = Limits {
            turns: usual.turns.saturating_add(turns),
            time: usual.time.saturating_add(recorded.active),
            ..usual
        };
        let wanted = self.wanted(place, iteration, Some(&recorded))?;
        let given = surroundings(self, place);
        let scene = Scene::resumed(wanted, &recorded, model.clone(), &limits, place.stage.root(), given);
        let scene = scene.map_err(scene_error)?;
        let said = corrected(&scene, feedback, &last.context);
        Ok(Prepared::resumed(scene, limits, store, recorded, vec![said]))
    }

    /// What this iteration may use.
    fn limits(&self, iteration: &Iteration<'_>) -> Limits {
        let usual = self.config.limits;
        Limits {
            turns: iteration.agent.max_turns.unwrap_or(usual.turns),
            time: usual.time.min(iteration.timeout),
            ..usual
        }
    }

    fn last(&self) -> MutexGuard<'_, Option<Last>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AgentRuntime for Native {
    fn id(&self) -> Runtime {
        self.id
    }

    fn system(&self) -> &'static str {
        self.config.model.client.provider()
    }

    fn bootstrap(&self, input: &Bootstrap<'_>) -> Result<Equipment, RuntimeError> {
        tools::allowed(input.agent, self.id)?;
        self.model(input.wanted)?;
        debug_log::check(self.id, input.wanted)?;
        if !input.plugins.is_empty() {
            return Err(RuntimeError::Unsupported {
                runtime: self.id.as_str(),
                problem: "has no plugins; leave `plugins` out, or use the runtime `claude`".to_owned(),
            });
        }
        stage::fill(input, self.id)?;
        let config = input.stage.config();
        let fixed = [stage::AGENTS, stage::SKILLS].map(|name| {
            FilesystemMount::read_only(config.join(name), format!("{}/{name}", self.config_dir()))
        });
        let mounts = fixed.into_iter().chain([shell_mount()]).collect();
        Ok(Equipment { mounts, warnings: self.in_vain(input.wanted), ..Equipment::default() })
    }

    fn run<'a>(
        &'a self,
        place: &'a Place,
        iteration: &'a Iteration<'a>,
        watch: Watch<'a>,
    ) -> Pending<'a, Ended> {
        Box::pin(self.work(place, iteration, watch))
    }

    fn transcripts(&self, _stage: &Stage) -> Vec<PathBuf> {
        self.last().as_ref().map(|last| journals(&last.run_dir)).unwrap_or_default()
    }

    fn clear_iteration(&self, _stage: &Stage) -> io::Result<()> {
        // Nothing of it is in the stage: the journal is the record of the whole conversation.
        Ok(())
    }
}

/// The journal of a run, and those of its children, which lie beside it.
fn journals(run_dir: &Path) -> Vec<PathBuf> {
    let name = run_dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let children = format!("{name}.subagent.");
    let beside = run_dir.parent().map(std::fs::read_dir).into_iter().flatten().flatten().flatten();
    let mut directories: Vec<PathBuf> = beside
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&children))
        .map(|entry| entry.path())
        .collect();
    directories.sort_unstable();
    directories.insert(0, run_dir.to_owned());
    directories.into_iter().map(|directory| directory.join(JOURNAL)).collect()
}

fn surroundings(native: &Native, place: &Place) -> Surroundings {
    let session =
        GivenSession { id: place.session.clone(), spec: place.spec.clone(), env: place.env.clone() };
    let hooks = place.hooks.clone().map(|desk| Arc::new(AtTheDesk(desk)) as Arc<dyn CallHooks>);
    Surroundings {
        extra_roots: native.config.extra_roots.clone(),
        floor: Floor::Given { backend: place.backend.clone(), session: Box::new(session) },
        hooks,
        fetcher: place.fetcher.clone(),
    }
}

/// Ready when the iteration is to end, or should have ended.
fn stop(iteration: &Iteration<'_>) -> impl Future<Output = i32> {
    let (cancel, longest) = (iteration.cancel.clone(), iteration.timeout.saturating_add(GRACE));
    async move {
        tokio::select! {
            biased;
            signal = cancel.cancelled() => signal,
            () = tokio::time::sleep(longest) => ALARM,
        }
    }
}

/// What the agent is told after an attempt that was not accepted. What a check says about a result is made of the result.
fn corrected(scene: &Scene, feedback: &str, seen: &Label) -> Opening {
    let content = format!(
        "The result was not accepted. This is what the check of it said:\n\n{}\n\nCorrect what is wrong, and deliver the result \
         again.",
        feedback.trim()
    );
    let kept = KeptMessage::User { content, image_attachments: Vec::new() };
    Opening { kept, label: seen.join(scene.sources().usual()), rows: Vec::new() }
}

/// How an iteration ended, in the terms of a process.
struct End {
    exit_code: i32,
    timed_out: bool,
    /// The kind of end.
    word: String,
    /// What went wrong.
    problem: Option<String>,
}

impl End {
    fn of(finished: &Finished, iteration: &Iteration<'_>, took: Duration) -> Self {
        let ending = &finished.ending;
        let over = took >= iteration.timeout;
        let signal = iteration.cancel.signal();
        let cancelled = ending.status == EndStatus::Cancelled && signal.is_some();
        let timed_out = over
            && !cancelled
            && (ending.status == EndStatus::Cancelled
                || ending.terminal_reason == TerminalReason::BudgetExhausted);
        let exit_code = match (ending.status, signal) {
            _ if timed_out => 124,
            (EndStatus::Completed, _) => 0,
            (EndStatus::Cancelled, Some(signal)) => 128_i32.saturating_add(signal),
            (EndStatus::Cancelled | EndStatus::Failed, _) => 1,
        };
        let word = serde_json::to_value(ending.terminal_reason).unwrap_or_default();
        let detail = ending.detail.clone().filter(|_| exit_code != 0);
        Self { exit_code, timed_out, word: word.as_str().unwrap_or_default().to_owned(), problem: detail }
    }
}

fn scene_error(error: SceneError) -> RuntimeError {
    if let SceneError::Sandbox(error) = error {
        return RuntimeError::Sandbox(error);
    }
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        text.push_str(&format!(": {inner}"));
        cause = inner.source();
    }
    RuntimeError::Agent(text)
}

fn agent_error(error: impl Display) -> RuntimeError {
    RuntimeError::Agent(error.to_string())
}
