//! What a person and a machine read about a run when it is over: files made from its journal.
//!
//! They are made at every ending and when a run is resumed, from all rows, so that the report of a resumed run covers all of
//! its parts. Credentials in them are masked; the journal and the outputs of tools are kept as they were, for the owner only.

mod account;
mod activity;
mod digest;
mod failures;
mod manifest;
mod snapshot;
mod state;
mod timeline;

use fullsend_guard::Checks;
use fullsend_origin::Sha256Digest;
use serde::Serialize;
use serde_json::{Map, Value};

pub(crate) use digest::of_child;
pub use manifest::{Difference, FileEntry, Manifest};
pub use snapshot::PolicySnapshot;
pub(crate) use snapshot::write as write_policy_snapshot;

use self::account::Account;
use crate::gate::{FlowMode, Verdict};
use crate::store::{Entry, KeptMessage, RUN_STATE, RunId, RunStore, StoreError, time};

/// The conversation.
pub const TRANSCRIPT: &str = "transcript.json";
/// What the run is judged by.
pub const POLICY_SNAPSHOT: &str = "policy-snapshot.json";
/// The decisions about calls.
pub const POLICY_TRACE: &str = "policy-trace.json";
/// The report.
pub const RUN_REPORT: &str = "run-report.json";

/// Makes every file that is made from the journal. Takes time linear in the length of the run.
pub(crate) fn render(store: &RunStore) -> Result<(), StoreError> {
    let entries = store.entries()?;
    let generated_at = time::now(store.clock());
    let Some(account) = Account::of(&entries) else { return Ok(()) };
    let files = Files { store, generated_at: &generated_at, account: &account };
    files.transcript()?;
    files.policy_trace()?;
    files.skills(&entries)?;
    files.write(RUN_REPORT, &account.report(&generated_at, store.run_dir()))?;
    // The state comes after what it speaks of: who sees a run that is over finds its report.
    files.write(RUN_STATE, &account.state(store.run_dir()))?;
    manifest::write(store, &generated_at)
}

/// Writes how a run stands that has just begun.
pub(crate) fn render_state(store: &RunStore) -> Result<(), StoreError> {
    let entries = store.entries()?;
    let Some(account) = Account::of(&entries) else { return Ok(()) };
    write_masked(store, RUN_STATE, &account.state(store.run_dir()))
}

struct Files<'a> {
    store: &'a RunStore,
    generated_at: &'a str,
    account: &'a Account<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Transcript<'a> {
    r#type: &'static str,
    version: u32,
    run_id: &'a RunId,
    generated_at: &'a str,
    messages: &'a [&'a KeptMessage],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PolicyTrace<'a> {
    r#type: &'static str,
    version: u32,
    generated_at: &'a str,
    run_id: &'a RunId,
    cfc_enforcement_mode: FlowMode,
    #[serde(skip_serializing_if = "Option::is_none")]
    cfc_policy_snapshot_path: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cfc_policy_snapshot_digest: Option<String>,
    decision_counts: DecisionCounts,
    decisions: &'a [Value],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    cfc_invocation_contexts: &'a [&'a Map<String, Value>],
}

/// How many calls were allowed, and how many not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct DecisionCounts {
    total: u64,
    allowed: u64,
    warned: u64,
    denied: u64,
}

impl DecisionCounts {
    fn add(&mut self, verdict: Verdict) {
        self.total += 1;
        match verdict {
            Verdict::Allowed => self.allowed += 1,
            Verdict::Warned => self.warned += 1,
            Verdict::Denied => self.denied += 1,
        }
    }
}

impl Files<'_> {
    fn transcript(&self) -> Result<(), StoreError> {
        let transcript = Transcript {
            r#type: "fullsend.transcript",
            version: 1,
            run_id: self.account.run_id,
            generated_at: self.generated_at,
            messages: &self.account.messages,
        };
        self.write(TRANSCRIPT, &transcript)
    }

    /// Writes what the run is judged by, and returns its digest.
    fn policy_snapshot(&self) -> Result<Option<String>, StoreError> {
        let Some(document) = self.account.snapshot else { return Ok(None) };
        let text = snapshot::text(document)?;
        self.store.artifacts().write_text(POLICY_SNAPSHOT, &text)?;
        Ok(Some(format!("sha256:{}", Sha256Digest::of(text.as_bytes()))))
    }

    fn policy_trace(&self) -> Result<(), StoreError> {
        let snapshot_digest = self.policy_snapshot()?;
        let trace = PolicyTrace {
            r#type: "fullsend.policy-trace",
            version: 1,
            generated_at: self.generated_at,
            run_id: self.account.run_id,
            cfc_enforcement_mode: self.account.settings.flow_mode,
            cfc_policy_snapshot_path: snapshot_digest.as_ref().map(|_| POLICY_SNAPSHOT),
            cfc_policy_snapshot_digest: snapshot_digest,
            decision_counts: self.account.decision_counts,
            decisions: &self.account.decisions,
            cfc_invocation_contexts: &self.account.invocation_contexts,
        };
        self.write(POLICY_TRACE, &trace)
    }

    /// The logs about skills; a run without any has none.
    fn skills(&self, entries: &[Entry]) -> Result<(), StoreError> {
        use crate::store::Row::{SkillActivated, SkillExecuted, SkillRead};
        let of = |pick: fn(&Entry) -> Option<&Map<String, Value>>| entries.iter().filter_map(pick).collect();
        let activations =
            of(|entry| if let SkillActivated { activation } = &entry.row { Some(activation) } else { None });
        let reads = of(|entry| if let SkillRead { read } = &entry.row { Some(read) } else { None });
        let executions =
            of(|entry| if let SkillExecuted { execution } = &entry.row { Some(execution) } else { None });
        self.skill_log("skill-activations", "activations", activations)?;
        self.skill_log("skill-resource-reads", "reads", reads)?;
        self.skill_log("skill-script-executions", "executions", executions)
    }

    fn skill_log(&self, name: &str, list: &str, log: Vec<&Map<String, Value>>) -> Result<(), StoreError> {
        if log.is_empty() {
            return Ok(());
        }
        let mut document = Map::new();
        document.insert("type".to_owned(), format!("fullsend.{name}").into());
        document.insert("version".to_owned(), 1.into());
        document.insert("generatedAt".to_owned(), self.generated_at.into());
        document.insert(list.to_owned(), log.into_iter().cloned().map(Value::Object).collect());
        self.write(&format!("{name}.json"), &document)
    }

    fn write(&self, name: &str, document: &impl Serialize) -> Result<(), StoreError> {
        write_masked(self.store, name, document)
    }
}

/// Writes a document whose credentials are masked. What was masked is still JSON: only strings change, each in its place.
fn write_masked(store: &RunStore, name: &str, document: &impl Serialize) -> Result<(), StoreError> {
    store.artifacts().write_text(name, &masked(name, document)?)?;
    Ok(())
}

/// The text of a document, with credentials masked.
fn masked(name: &str, document: &impl Serialize) -> Result<String, StoreError> {
    let unwritable = |source| StoreError::Unwritable { what: name.to_owned(), source };
    let mut text = serde_json::to_string_pretty(document).map_err(unwritable)?;
    text.push('\n');
    let edits = Checks::default().masks(&text);
    Ok(if edits.is_empty() { text } else { edits.apply(&text) })
}
