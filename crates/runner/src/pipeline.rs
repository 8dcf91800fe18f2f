//! A run from beginning to end.
//!
//! The order of steps is [`crate::STEPS`]; this is where it can be read as code. Whatever happens, what the run holds is given
//! back and the record is ended.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fullsend_fetch::service::ServiceClient;
use fullsend_guard::{FindingsLog, SystemClock, TraceId};
use fullsend_resolve::Resolver;
use fullsend_yaml::Diagnostic;
use serde_json::Value;

use crate::event::{Event, Outcome, Sink, Step};
use crate::held::Held;
use crate::home::Home;
use crate::outward::collector::Collector;
use crate::outward::status::Status;
use crate::plan::Plan;
use crate::records::{Beginning, Ended, Records};
use crate::report::{Report, State};
use crate::request::Request;
use crate::run_dir::{RunDir, RunName};
use crate::steps::pre_script::with_cause;
use crate::steps::{agent, check, deliver, introduce, load, pre_script, provision, resolve, scan, upload};
use crate::stop::Stop;
use crate::teller::{Made, Teller};

/// How a run ended.
#[derive(Debug)]
pub struct Finished {
    /// How.
    pub state: State,
    /// What the command exits with.
    pub exit_code: u8,
    /// Why it did not succeed.
    pub stop: Option<Stop>,
    /// The directory of the run, once there was one.
    pub run_dir: Option<PathBuf>,
    /// The report as it was written last.
    pub report: Option<Report>,
    /// What could not be put on record, and why. Then the run has not succeeded, whatever else it did.
    pub unrecorded: Option<String>,
}

/// What a run has found out so far, for its end.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) dir: Option<RunDir>,
    /// Whether the pre-script skipped the run, and why.
    pub(crate) skipped: Option<(bool, Option<String>)>,
    /// The comment on what the run works on.
    pub(crate) status: Option<Status>,
    /// Who collects the trace.
    pub(crate) collector: Option<Collector>,
}

impl Known {
    /// The name of the run.
    pub(crate) fn run_name(&self) -> &str {
        self.dir.as_ref().and_then(|dir| dir.path().file_name()?.to_str()).unwrap_or("run")
    }
}

/// Runs an agent, whose references `resolver` resolves. `sink` is told of everything that happens.
pub async fn run(request: Request, resolver: Resolver, sink: Sink<'_>) -> Finished {
    let teller = Teller::new(sink, request.cancel.clone());
    let (mut held, mut known) =
        (Held { keep: request.options.keep_sandbox, ..Held::default() }, Known::default());
    let client = request.outward.client.clone();
    let ended = go(request, resolver, &teller, &mut held, &mut known).await;
    let directory = known.dir.as_ref().map(|dir| dir.path().to_owned());
    end_record(&teller, held, directory.as_deref()).await;
    let stop = ended.err();
    let (state, exit_code) = stop.as_ref().map_or((State::Success, 0), verdict);
    let reason = stop.as_ref().map(|stop| teller.masked(stop.reason()));
    let skipped =
        known.skipped.take().map(|(skipped, reason)| (skipped, reason.map(|reason| teller.masked(reason))));
    let finished =
        teller.take_records().map(|records| records.finish(state, exit_code.into(), reason, skipped.clone()));
    let (report, unrecorded, batch) = match finished {
        Some(Ended { report, failed, batch }) => (Some(report), failed, batch),
        None => (None, None, None),
    };
    let exit_code = if unrecorded.is_some() { exit_code.max(1) } else { exit_code };
    // Whoever is told that it succeeded must be able to find its record.
    let told = if state == State::Success && exit_code != 0 { State::Failure } else { state };
    let skip_reason = skipped.and_then(|(_, reason)| reason);
    tell_others(&client, &teller, known, batch, told, skip_reason.as_deref()).await;
    Finished { state, exit_code, stop, run_dir: directory, report, unrecorded }
}

/// Hands over the trace, and says how the run ended where somebody waits for that. Takes its time from nobody but itself: a
/// signal that ended the run does not end this.
async fn tell_others(
    client: &ServiceClient,
    teller: &Teller<'_>,
    known: Known,
    batch: Option<Value>,
    state: State,
    reason: Option<&str>,
) {
    let handing_over = async {
        let (Some(collector), Some(batch)) = (known.collector, batch) else { return };
        if let Err(error) = collector.send(client, &batch).await {
            teller.warn(format!("the trace was not sent: {error}"));
        }
    };
    let saying = async {
        let Some(status) = known.status else { return };
        if let Err(error) = status.complete(state, reason, |text| teller.masked(text)).await {
            teller.warn(format!("the status comment was not completed: {error}"));
        }
    };
    tokio::join!(handing_over, saying);
}

/// Gives everything back, and puts what there is to say about that on record.
async fn end_record(teller: &Teller<'_>, held: Held, directory: Option<&Path>) {
    let start = std::time::Instant::now();
    teller.with_records(Records::use_reserve);
    let Some(directory) = directory else {
        // There is no record to be ended, and nothing has been begun without one.
        held.give_back(teller.cancel()).await.warnings.into_iter().for_each(|warning| teller.warn(warning));
        return;
    };
    teller.tell(Event::StepBegan { step: Step::Report, iteration: None });
    let given_back = held.give_back(teller.cancel()).await;
    for warning in given_back.warnings {
        teller.warn(warning);
    }
    teller.with_records(|records| records.update(|report| report.findings.log_head = given_back.head));
    let (outcome, detail, took) = (Outcome::Done, directory.display().to_string(), start.elapsed());
    teller.tell(Event::StepEnded { step: Step::Report, iteration: None, outcome, detail, took });
}

/// What an end means to whoever started the run.
fn verdict(stop: &Stop) -> (State, u8) {
    match stop {
        Stop::Skipped { .. } => (State::Skipped, 0),
        Stop::Blocked { .. } | Stop::KillSwitch { .. } => (State::Blocked, 3),
        Stop::TimedOut { .. } => (State::Timeout, 124),
        Stop::Cancelled { signal } => (State::Cancelled, u8::try_from(128 + signal).unwrap_or(130)),
        // What a harness names and cannot have is as much a matter of configuration as for `fullsend fetch`.
        Stop::Agent(_)
        | Stop::Broken { .. }
        | Stop::Lock { .. }
        | Stop::Refused { .. }
        | Stop::Resolve(_)
        | Stop::Stage(_) => (State::Failure, 2),
        Stop::Failed { .. } | Stop::Mint(_) | Stop::Sandbox(_) | Stop::Runtime(_) | Stop::Io { .. } => {
            (State::Failure, 1)
        }
    }
}

async fn go(
    mut request: Request,
    resolver: Resolver,
    teller: &Teller<'_>,
    held: &mut Held,
    known: &mut Known,
) -> Result<(), Stop> {
    let root = request.library.root().canonicalize().map_err(Stop::io("find the fullsend directory"))?;
    let found = teller
        .step(Step::Load, None, async {
            let path = load::find(&request.configuration, &root, &request.agent)?;
            let shown = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
            Ok(Made::done(path, shown))
        })
        .await?;
    let name = resolve::lock_name(&found);
    let log = begin(&request, &name, teller, known)?;
    held.log = Some(log.clone());
    let role = teller.step(Step::Compose, None, async { compose(&mut request, &found) }).await?;
    teller
        .step(Step::Check, None, async {
            // Before variables are checked: some are there only then.
            let minted = introduce::mint(&mut request, role.as_deref(), teller).await?;
            introduce::comment(&mut request, &name, teller, known);
            let warnings = check::lint_harness(&root, &found, &request.environment)?;
            let detail = match warnings.len() {
                0 => "no problems".to_owned(),
                many => format!("{many} warnings"),
            };
            warnings.into_iter().for_each(|warning| teller.warn(warning));
            let minted = minted.map(|minted| format!("; {minted}")).unwrap_or_default();
            Ok(Made::done((), format!("{detail}{minted}")))
        })
        .await?;
    let plan = teller
        .step(Step::Resolve, None, resolve::plan(&mut request, resolver, &found, &name, teller))
        .await?;
    if let Some(token) = &plan.token {
        teller.mask(std::slice::from_ref(token));
    }
    let scene = Scene { root: &root, log: &log, plan: &plan, request: &request, teller };
    pre_script::run(&scene, known).await?;
    let home = Home::make(&request.stages, known.run_name()).map_err(|error| {
        let message = format!("no directory can be made in `{}`: {error}", request.stages.display());
        Stop::refused(message, "set `XDG_STATE_HOME` to a directory that can be written")
    })?;
    let place = home.root().to_owned();
    held.home = Some(home);
    let inputs = teller.step(Step::ScanInput, None, scan::inputs(&scene, &place)).await?;
    let uploaded = teller.step(Step::Upload, None, upload::upload(&scene, inputs, &place, held)).await?;
    let ground =
        teller.step(Step::Provision, None, provision::provision(&scene, uploaded, held, known)).await?;
    teller.step(Step::ScanContext, None, scan::context(&scene, &ground)).await?;
    let delivered = agent::attempts(&scene, &ground, known).await;
    for warning in held.end_session().await {
        teller.warn(warning);
    }
    deliver::connections(&scene, &ground.egress_log);
    // Whatever came of the work: what is kept of it goes to more people than saw it.
    let masked = known.dir.as_ref().map_or(Ok(0), |dir| deliver::mask_records(&scene, dir));
    match (delivered, masked) {
        (Ok(delivered), masked) => deliver::post_script(&scene, &delivered, masked?, known).await,
        (Err(stop), Ok(_)) => Err(stop),
        (Err(stop), Err(unmasked)) => {
            teller.warn(format!("records may hold secrets: {unmasked}"));
            Err(stop)
        }
    }
}

/// What steps share.
#[derive(Clone, Copy)]
pub(crate) struct Scene<'a, 's> {
    /// The fullsend directory.
    pub(crate) root: &'a Path,
    pub(crate) log: &'a FindingsLog,
    pub(crate) plan: &'a Plan,
    pub(crate) request: &'a Request,
    pub(crate) teller: &'a Teller<'s>,
}

/// Makes the directory of the run and begins its record: from here on every end leaves a report.
fn begin(
    request: &Request,
    agent: &str,
    teller: &Teller<'_>,
    known: &mut Known,
) -> Result<FindingsLog, Stop> {
    let name = RunName::generate(agent);
    let dir = RunDir::create(&request.output_dir, &name).map_err(|error| {
        Stop::refused(with_cause(&error), "name a directory that can be written with `--output-dir DIR`")
    })?;
    // A directory without a record would claim a run that never was, as on a disk that is full.
    let (collector, wrong) = match Collector::named(&request.environment) {
        Ok(collector) => (collector, None),
        Err(error) => (None, Some(format!("no trace is sent: {error}"))),
    };
    let (records, log) = record(request, agent, &dir, &name, collector.is_some())
        .inspect_err(|_| drop(std::fs::remove_dir_all(dir.path())))?;
    teller.record(records);
    teller.with_records(|records| {
        records.update(|report| report.runtime = Some(request.runtime.id().as_str().to_owned()));
    });
    wrong.into_iter().for_each(|wrong| teller.warn(wrong));
    known.dir = Some(dir);
    known.collector = collector;
    Ok(log)
}

/// Everything that the record of a run is made of.
fn record(
    request: &Request,
    agent: &str,
    dir: &RunDir,
    name: &RunName,
    collect: bool,
) -> Result<(Records, FindingsLog), Stop> {
    let (trace_id, clock) = (TraceId::generate(), Arc::new(SystemClock));
    let records = Records::begin(&Beginning {
        dir,
        name: name.as_str(),
        agent,
        system: request.runtime.system(),
        trace_id: &trace_id,
        environment: &request.environment,
        clock: clock.clone(),
        collect,
    })?;
    let log = FindingsLog::create(&dir.findings(), trace_id, clock)
        .map_err(|error| Stop::Failed { message: format!("the findings log cannot be begun: {error}") })?;
    Ok((records, log))
}

/// The harness with its local bases; those that have to be fetched come with resolution. Says the agent's role.
fn compose(request: &mut Request, path: &Path) -> Result<Made<Option<String>>, Stop> {
    let mut problems = Vec::new();
    let composed = request.library.compose(path, &mut problems);
    let Some(composed) = composed.filter(|_| !problems.iter().any(Diagnostic::is_error)) else {
        let sources = Box::new(request.library.sources().clone());
        return Err(Stop::Broken { sources, problems });
    };
    let detail = match composed.chain.len() {
        0 | 1 => "no bases".to_owned(),
        2 => "1 base".to_owned(),
        many => format!("{} bases", many - 1),
    };
    let role = composed.harness.role.as_ref().map(|role| role.as_str().to_owned());
    Ok(Made::done(role, detail))
}
