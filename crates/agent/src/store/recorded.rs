//! What a journal says about its run.

mod calls;
mod reminders;

use std::path::{Path, PathBuf};
use std::time::Duration;

use fullsend_flow::{LabelId, LabelTable};
use fullsend_model::Usage;
use jiff::Timestamp;
use serde_json::{Map, Value};

pub use calls::{CallState, DanglingCall};
pub use reminders::Reminders;

use self::calls::Asked;
use super::error::StoreError;
use super::journal::{self, Entry};
use super::message::KeptMessage;
use super::row::{Ending, Row};
use super::run_id::RunId;
use super::settings::RecordedSettings;
use super::subagent::{SubagentRun, SubagentStatus};
use super::usage;
use super::{open_run, run_dir_of};
use crate::flow::FlowState;
use crate::sources::Provenance;
use crate::tool::Effect;

/// A message with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptTurn {
    /// In which turn.
    pub turn: u64,
    /// Where it came from.
    pub label: LabelId,
    /// What was said.
    pub message: KeptMessage,
}

/// What is known about a run from its journal, up to where the journal ends.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The name of the run.
    pub run_id: RunId,
    /// What the run may do, after every narrowing.
    pub settings: RecordedSettings,
    /// What it might do when it began.
    pub begun: RecordedSettings,
    /// Whether all that the run begins with is on record.
    pub opened: bool,
    /// The conversation.
    pub messages: Vec<KeptTurn>,
    /// The labels of its messages.
    pub labels: LabelTable,
    /// How often the model answered.
    pub turns: u64,
    /// What is known about its flows: the label of the conversation, handles, exceptions that were used.
    pub flow: FlowState,
    /// What the answers used.
    pub usage: Usage,
    /// What the answers cost whose cost is known, in US dollars: a limit counts these, also where others are unknown.
    pub spent_usd: Option<f64>,
    /// How many bytes of answers, results and pictures entered the conversation.
    pub output_bytes: u64,
    /// How long processes were at it, up to the last row of each.
    pub active: Duration,
    /// The number for the next output.
    pub next_output: u64,
    /// How many calls were begun.
    pub calls: u64,
    /// Where commands start, in the sandbox.
    pub current_dir: String,
    /// What the model was told about its last answers.
    pub reminders: Reminders,
    /// Calls that the model asked for and has no answer to.
    pub dangling: Vec<DanglingCall>,
    /// The skills in use: entries of `skill-activations.json`.
    pub skill_activations: Vec<Map<String, Value>>,
    /// The runs that this one started, each as it stands.
    pub subagents: Vec<SubagentRun>,
    /// Those of them that were under way when a process was killed, and are not on record as interrupted yet. Only known when a
    /// run is opened to go on with it: nobody else can tell a run that is under way from one that was killed.
    pub killed: Vec<SubagentRun>,
    /// How many calls that start one were begun.
    pub delegated: u64,
    /// Where the content of files comes from.
    pub provenance: Vec<Provenance>,
    /// How the run ended, if it did.
    pub ended: Option<Ending>,
    /// How often it was resumed.
    pub resumed: u64,
    /// How many bytes of an unfinished row were cut off.
    pub cut_bytes: u64,
}

impl Recorded {
    /// Reads the journal of a run, which somebody else may be writing, without changing anything.
    pub fn read(run: &Path) -> Result<Self, StoreError> {
        let mut fold = Fold::default();
        let (torn, run_dir) = each_row(run, |entry| fold.add(entry))?;
        fold.finish(torn).ok_or(StoreError::NeverBegan { run_dir })
    }

    /// Lets what comes next have all that the run began with, also where a part of it had less: for a conversation, in which
    /// each turn is held to what was agreed on at its start.
    pub fn hold_to_beginning(&mut self) {
        self.settings.clone_from(&self.begun);
    }

    /// Makes nothing of what was asked for before and did not begin: whoever stopped the run did not want it.
    pub fn abandon_calls(&mut self) {
        for dangling in &mut self.dangling {
            if let CallState::NeverStarted | CallState::Interrupted { effect: Effect::Read, .. } =
                dangling.state
            {
                dangling.state = CallState::Abandoned;
            }
        }
    }
}

impl SubagentRun {
    /// What can be said of a run that was ended with the one that started it: its own record tells what it has used.
    pub(crate) fn interrupted(&self, artifact_root: &Path) -> Self {
        let mut run = Self { status: SubagentStatus::Interrupted, ..self.clone() };
        // A directory that is gone, or was never made, has nothing to say.
        if let Ok(recorded) = Recorded::read(&artifact_root.join(self.child_run_id.as_str())) {
            run.model_turns = recorded.turns;
            run.usage = Usage { cost_usd: recorded.spent_usd, ..recorded.usage };
            run.output_bytes = recorded.output_bytes;
            run.terminal_reason = recorded.ended.map(|ending| ending.terminal_reason);
        }
        run
    }
}

/// The rows of a run, which somebody else may be writing.
pub fn rows(run: &Path) -> Result<Vec<Row>, StoreError> {
    let mut rows = Vec::new();
    each_row(run, |entry| {
        rows.push(entry.row);
        Ok(())
    })?;
    Ok(rows)
}

/// How many bytes of an unfinished row there are, and the directory of the run.
fn each_row(run: &Path, take: impl FnMut(Entry) -> Result<(), String>) -> Result<(u64, PathBuf), StoreError> {
    let run_dir = run_dir_of(run)?;
    let directory = open_run(&run_dir)?;
    let path = run_dir.join(journal::JOURNAL);
    let file = journal::open_to_read(directory, &path)?;
    let read = journal::read(&file, &path, take)?;
    Ok((read.torn, run_dir))
}

/// A journal as it is read.
#[derive(Debug, Default)]
pub(super) struct Fold {
    /// Where the runs are that this one started, if they are to be asked what they have used.
    artifact_root: Option<PathBuf>,
    so_far: Option<Recorded>,
    usages: Vec<Usage>,
    asked: Asked,
    /// When the process of the last row began, and when it wrote that row.
    part: (String, String),
}

impl Fold {
    /// For a run whose children, if there are any, are not under way.
    pub(super) fn beside(artifact_root: Option<&Path>) -> Self {
        Self { artifact_root: artifact_root.map(Path::to_owned), ..Self::default() }
    }

    /// Adds a row; the error says what is wrong with it in its place.
    pub(super) fn add(&mut self, entry: Entry) -> Result<(), String> {
        match (&mut self.so_far, entry.row) {
            (None, Row::Started { run_id, settings, .. }) => {
                self.so_far = Some(begin(run_id, *settings));
                self.part = (entry.at.clone(), entry.at);
                Ok(())
            }
            (None, _) => Err("the first row must say what the run may do".to_owned()),
            (Some(_), Row::Started { .. }) => Err("a run begins only once".to_owned()),
            (Some(recorded), row) => {
                self.asked.see(&row);
                if matches!(row, Row::Resumed { .. }) {
                    recorded.active += between(&self.part);
                    self.part.0.clone_from(&entry.at);
                }
                self.part.1 = entry.at;
                if let Row::Usage { usage, .. } = &row {
                    self.usages.push(*usage);
                }
                apply(recorded, row)
            }
        }
    }

    /// What the rows say together; none when there were none.
    pub(super) fn finish(self, cut_bytes: u64) -> Option<Recorded> {
        let mut recorded = self.so_far?;
        if let Some(root) = &self.artifact_root {
            let under_way = |run: &&mut SubagentRun| run.status == SubagentStatus::Running;
            for run in recorded.subagents.iter_mut().filter(under_way) {
                *run = run.interrupted(root);
                recorded.killed.push(run.clone());
            }
        }
        let usages: Vec<Usage> =
            self.usages.into_iter().chain(recorded.subagents.iter().map(|run| run.usage)).collect();
        let usage = usage::sum(&usages);
        let costs = usages.iter().filter_map(|usage| usage.cost_usd);
        let spent_usd = costs.fold(None, |sum: Option<f64>, cost| Some(sum.unwrap_or_default() + cost));
        let active = recorded.active + between(&self.part);
        let of_children = recorded.subagents.iter().map(|run| run.output_bytes);
        let output_bytes = of_children.fold(recorded.output_bytes, u64::saturating_add);
        Some(Recorded {
            usage,
            spent_usd,
            output_bytes,
            active,
            dangling: self.asked.dangling(),
            cut_bytes,
            ..recorded
        })
    }
}

fn begin(run_id: RunId, settings: RecordedSettings) -> Recorded {
    Recorded {
        run_id,
        current_dir: settings.start_dir.clone(),
        begun: settings.clone(),
        settings,
        opened: false,
        messages: Vec::new(),
        labels: LabelTable::default(),
        turns: 0,
        flow: FlowState::default(),
        usage: Usage::default(),
        spent_usd: None,
        output_bytes: 0,
        active: Duration::ZERO,
        next_output: 1,
        calls: 0,
        reminders: Reminders::default(),
        dangling: Vec::new(),
        skill_activations: Vec::new(),
        subagents: Vec::new(),
        killed: Vec::new(),
        delegated: 0,
        provenance: Vec::new(),
        ended: None,
        resumed: 0,
        cut_bytes: 0,
    }
}

fn apply(recorded: &mut Recorded, row: Row) -> Result<(), String> {
    recorded.flow.see(&row, &recorded.labels);
    match row {
        Row::Started { .. } => {}
        Row::Resumed { settings, .. } => {
            recorded.settings = *settings;
            recorded.ended = None;
            recorded.resumed += 1;
        }
        Row::Label { id, label } => {
            let (number, is_new) = recorded.labels.number(&label);
            if number != id || !is_new {
                return Err(format!("label {} is not the next one", id.number()));
            }
        }
        Row::Message { turn, label, message } => {
            recorded.labels.get(label).map_err(|unknown| unknown.to_string())?;
            recorded.turns += u64::from(matches!(message, KeptMessage::Assistant { .. }));
            recorded.output_bytes = recorded.output_bytes.saturating_add(grown(turn, &message));
            recorded.reminders.see(turn, &message);
            recorded.messages.push(KeptTurn { turn, label, message });
        }
        Row::Hidden { label, .. } => {
            recorded.labels.get(label).map_err(|unknown| unknown.to_string())?;
        }
        Row::Opened => recorded.opened = true,
        Row::CallStarted { output_id, tool, .. } => {
            recorded.calls += 1;
            recorded.delegated += u64::from(tool == crate::subagent::NAME);
            used(recorded, &output_id);
        }
        Row::CallFinished(finished) => {
            if let Some(output_id) = finished.output_id {
                used(recorded, &output_id);
            }
        }
        Row::Cwd { path } => recorded.current_dir = path,
        Row::SkillActivated { activation } => recorded.skill_activations.push(activation),
        Row::Subagent(run) => {
            recorded.subagents.retain(|known| known.child_run_id != run.child_run_id);
            recorded.subagents.push(*run);
        }
        Row::Provenance(fact) => recorded.provenance.push(fact),
        Row::Ended(ending) => recorded.ended = Some(ending),
        Row::ModelAttempt { .. }
        | Row::PolicySnapshot { .. }
        | Row::Usage { .. }
        | Row::Decision(_)
        | Row::Inspected { .. }
        | Row::PolicyEvent(_)
        | Row::InvocationContext { .. }
        | Row::Failure(_)
        | Row::SkillRead { .. }
        | Row::SkillExecuted { .. } => {}
    }
    Ok(())
}

/// The time between two moments of the record; none when a clock was set back, or was never one.
fn between((from, to): &(String, String)) -> Duration {
    let (Ok(from), Ok(to)) = (from.parse::<Timestamp>(), to.parse::<Timestamp>()) else {
        return Duration::ZERO;
    };
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}

/// A number that was given to a call is never given to another, whether or not the call came to an end.
fn used(recorded: &mut Recorded, output_id: &str) {
    let number = output_id.rsplit(':').next().and_then(|number| number.parse::<u64>().ok());
    if let Some(number) = number {
        recorded.next_output = recorded.next_output.max(number.saturating_add(1));
    }
}

/// What a message counts against the budget of output. What the operator gives is free.
fn grown(turn: u64, message: &KeptMessage) -> u64 {
    match message {
        KeptMessage::Assistant { content, tool_calls, .. } => {
            let arguments: usize = tool_calls.iter().map(|call| call.arguments.len()).sum();
            (content.len() as u64).saturating_add(arguments as u64)
        }
        KeptMessage::Tool { content, result_ref: Some(_), .. } => content.len() as u64,
        KeptMessage::User { image_attachments, .. } if turn > 0 => {
            image_attachments.iter().map(|image| image.bytes).sum()
        }
        KeptMessage::System { .. } | KeptMessage::User { .. } | KeptMessage::Tool { .. } => 0,
    }
}
