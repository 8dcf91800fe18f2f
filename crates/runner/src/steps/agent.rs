//! The agent's attempts: work, extraction, and a check whose words reach the next attempt.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use fullsend_guard::Outcome as Judged;
use fullsend_runtimes::{Ended, Iteration, Metrics, RuntimeEvent};

use crate::event::{AccessKind, Event, Step};
use crate::extract::{self, Base, Compared, GitConfig};
use crate::pipeline::{Known, Scene};
use crate::report::IterationRecord;
use crate::run_dir::{IterationDir, RunDir};
use crate::sanitise::{self, Found, Frozen, Sanitised, Sanitiser};
use crate::steps::pre_script::{variables, with_cause};
use crate::steps::provision::Ground;
use crate::stop::Stop;
use crate::teller::Made;
use crate::validate::{Attempt, Attempts, Budget, Feedback, Next, StopReason, Subject, Validator, Verdict};

/// What the agent is told to do. What that is stands in its definition.
const PROMPT: &str = "Run the agent task";
/// How often it is said that the agent is still at work.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// What the run delivers.
#[derive(Debug)]
pub(crate) struct Delivered {
    /// The attempt that counts.
    pub(crate) iteration: u32,
    /// Whether something checked it.
    pub(crate) validated: bool,
    pub(crate) frozen: Frozen,
    pub(crate) repo: Option<PathBuf>,
}

/// What is asked of git in the operator's repository, once for all attempts.
#[derive(Debug)]
struct HostGit {
    config: GitConfig,
    base: Base,
}

/// What came of one attempt.
#[derive(Debug)]
struct Attempted {
    ended: Ended,
    sanitised: Sanitised,
    repo: Option<PathBuf>,
}

/// Lets the agent work until its result is what was asked for, or it may not try again.
pub(crate) async fn attempts(
    scene: &Scene<'_, '_>,
    ground: &Ground,
    known: &Known,
) -> Result<Delivered, Stop> {
    let Some(dir) = &known.dir else {
        return Err(Stop::Failed { message: "the run has no directory".to_owned() });
    };
    let plan = scene.plan;
    let deadline = Instant::now() + plan.timeout;
    let path = scene.request.environment.get("PATH");
    let (host, cancel) = (&scene.request.target_repo, &scene.request.cancel);
    let (config, base) =
        tokio::join!(GitConfig::of_host(host, path, cancel), Base::of_host(host, path, cancel));
    let git = HostGit { config, base };
    let mut attempts = Attempts::new(plan.iterations);
    let mut made: Vec<Attempted> = Vec::new();
    let (mut number, mut feedback) = (1, None);
    let reason = loop {
        let place =
            dir.create_iteration(number).map_err(|error| Stop::Failed { message: with_cause(&error) })?;
        let ended = work(scene, ground, &place, number, feedback.take(), deadline).await?;
        let attempted = take_out(scene, ground, &place, number, &git, ended).await?;
        let verdict = check(scene, dir, &place, number, &attempted).await?;
        record(scene, number, &attempted, &verdict);
        let timed_out = attempted.ended.timed_out;
        let attempt = Attempt {
            iteration: number,
            agent_succeeded: attempted.ended.succeeded(),
            verdict,
            repo: attempted.repo.is_some(),
        };
        made.push(attempted);
        let left = if Instant::now() < deadline && !timed_out { Budget::Left } else { Budget::UsedUp };
        match attempts.record(attempt, left) {
            Next::Stop(reason) => break reason,
            Next::Again { iteration, said } => {
                number = iteration;
                feedback = match said {
                    Some(said) => told(scene, &said)?,
                    None => None,
                };
            }
        }
    };
    if let Some(signal) = scene.request.cancel.signal() {
        return Err(Stop::Cancelled { signal });
    }
    let winner = attempts.winner();
    dir.keep_repo_of(number, winner.map(|winner| winner.iteration).or(Some(number)))
        .map_err(Stop::io("tidy the run directory up"))?;
    // Where nothing checks the result, the agent's own word is no validation.
    let validated = winner.filter(|_| plan.harness.validation_loop.is_some()).map(|winner| winner.iteration);
    scene.teller.with_records(|records| records.update(|report| report.validated_iteration = validated));
    conclude(scene, &attempts, made, reason, number)
}

/// Which attempt counts, or why none does.
fn conclude(
    scene: &Scene<'_, '_>,
    attempts: &Attempts,
    mut made: Vec<Attempted>,
    reason: StopReason,
    last: u32,
) -> Result<Delivered, Stop> {
    let checked = scene.plan.harness.validation_loop.is_some();
    let counts = attempts.winner().map_or(last, |winner| winner.iteration);
    let index = usize::try_from(counts).unwrap_or(1).saturating_sub(1).min(made.len().saturating_sub(1));
    if made.is_empty() {
        return Err(Stop::Failed { message: "the agent made no attempt".to_owned() });
    }
    let attempted = made.swap_remove(index);
    if attempts.winner().is_none() || !checked {
        failure(scene, &attempted, reason, checked)?;
    }
    let Attempted { sanitised, repo, .. } = attempted;
    Ok(Delivered { iteration: counts, validated: checked, frozen: sanitised.frozen, repo })
}

/// What is wrong with an attempt that nothing has accepted. Without a validation loop the agent's own word counts.
fn failure(
    scene: &Scene<'_, '_>,
    attempted: &Attempted,
    reason: StopReason,
    checked: bool,
) -> Result<(), Stop> {
    let ended = &attempted.ended;
    if ended.timed_out {
        return Err(Stop::TimedOut { limit: scene.plan.timeout });
    }
    if attempted.sanitised.outcome == Judged::Blocked {
        let problems = attempted.sanitised.problems().join("; ");
        return Err(Stop::Blocked {
            message: format!("what the agent delivers is blocked: {problems}"),
            help: "look at the findings in the run directory".to_owned(),
        });
    }
    if !ended.succeeded() {
        let why = ended.error.as_deref().map(|error| format!(": {}", fullsend_runtimes::harmless(error)));
        let message =
            format!("the agent failed with exit code {}{}", ended.exit_code, why.unwrap_or_default());
        return Err(Stop::Failed { message });
    }
    if checked {
        let why = match reason {
            StopReason::Budget => "and no time is left for another attempt",
            StopReason::Iterations | StopReason::Valid | StopReason::AgentFailed | StopReason::Cancelled => {
                "in the last attempt it may make"
            }
        };
        return Err(Stop::Failed { message: format!("the result was not accepted, {why}") });
    }
    Ok(())
}

async fn work(
    scene: &Scene<'_, '_>,
    ground: &Ground,
    place: &IterationDir,
    number: u32,
    feedback: Option<String>,
    deadline: Instant,
) -> Result<Ended, Stop> {
    let (plan, request, teller) = (scene.plan, scene.request, scene.teller);
    let runtime = &request.runtime;
    if number > 1 {
        crate::home::empty(&ground.place.stage.output()).map_err(Stop::io("empty the output directory"))?;
        if let Err(error) = runtime.clear_iteration(&ground.place.stage) {
            teller.warn(format!("what the last attempt left could not be removed: {error}"));
        }
    }
    let debug_log = place.debug_log(runtime.debug_log_name());
    let iteration = Iteration {
        number,
        agent: &plan.agent,
        prompt: PROMPT.to_owned(),
        feedback,
        wanted: &plan.wanted,
        result: plan.result.as_ref().map(|result| (&result.value, plan.scripts.result_file.as_str())),
        timeout: deadline.saturating_duration_since(Instant::now()),
        cancel: request.cancel.clone(),
        stream: &place.stream(),
        debug_log: &debug_log,
    };
    let working = async {
        let pass = ground.events.lock().await.teller();
        let mut watch = |event| pass.pass(of_runtime(number, event));
        let running = runtime.run(&ground.place, &iteration, &mut watch);
        let ended = beside(scene, ground, number, deadline, running).await?;
        if let Some(signal) = request.cancel.signal() {
            return Err(Stop::Cancelled { signal });
        }
        let detail = summary(&ended);
        Ok(if ended.succeeded() { Made::done(ended, detail) } else { Made::failed(ended, detail) })
    };
    teller.unhurried(Step::Agent, Some(number), working).await
}

/// Waits for the agent, telling meanwhile of what hooks decide and that it is still at work.
async fn beside(
    scene: &Scene<'_, '_>,
    ground: &Ground,
    number: u32,
    deadline: Instant,
    running: fullsend_runtimes::Pending<'_, Ended>,
) -> Result<Ended, Stop> {
    let mut events = ground.events.lock().await;
    let start = Instant::now();
    let mut beat = tokio::time::interval_at(tokio::time::Instant::now() + HEARTBEAT, HEARTBEAT);
    let mut running = running;
    let ended = loop {
        tokio::select! {
            ended = &mut running => break ended,
            event = events.next() => scene.teller.tell(event),
            _ = beat.tick() => scene.teller.tell(Event::Waiting {
                iteration: number,
                elapsed: start.elapsed(),
                left: deadline.saturating_duration_since(Instant::now()),
            }),
        }
    };
    while let Some(event) = events.ready() {
        scene.teller.tell(event);
    }
    Ok(ended?)
}

/// What a runtime did, or what was not permitted to it.
fn of_runtime(iteration: u32, event: RuntimeEvent) -> Event {
    if let RuntimeEvent::Denied { name, by, reason } = event {
        return Event::Access {
            kind: AccessKind::of_runtime(by),
            target: name,
            allowed: false,
            detail: reason,
        };
    }
    Event::Runtime { iteration, event }
}

fn summary(ended: &Ended) -> String {
    let Metrics { num_turns, tool_calls, total_cost_usd, token_usage, .. } = &ended.metrics;
    let tokens = token_usage.input + token_usage.output;
    let cost = if *total_cost_usd > 0.0 { format!(", ${total_cost_usd:.4}") } else { String::new() };
    let end = match (ended.timed_out, ended.exit_code) {
        (true, _) => ", out of time".to_owned(),
        (false, 0) => String::new(),
        (false, code) => format!(", exit code {code}"),
    };
    format!("{num_turns} turns, {tool_calls} tool calls, {tokens} tokens{cost}{end}")
}

/// Copies what the agent left, and makes what it delivers harmless.
async fn take_out(
    scene: &Scene<'_, '_>,
    ground: &Ground,
    place: &IterationDir,
    number: u32,
    git: &HostGit,
    ended: Ended,
) -> Result<Attempted, Stop> {
    let (plan, teller) = (scene.plan, scene.teller);
    let stage = &ground.place.stage;
    let is_over = || scene.request.cancel.signal().is_some();
    let taking = async {
        if let Some(show) = ground.withheld.git_request(stage, false) {
            // Git in the copy then shows them as they are again; nothing depends on it.
            let _shown_as_deleted = ground.place.backend.exec(&ground.place.session, show).await;
        }
        let failed = |error: extract::ExtractError| Stop::Failed { message: with_cause(&error) };
        let output = extract::output(&stage.output(), &place.output(), extract::Limits::OUTPUT, &is_over);
        let output = output.map_err(failed)?;
        warn(scene, output.warnings);
        keep_transcripts(scene, ground, place);
        let sanitiser = Sanitiser {
            checks: &plan.security.checks,
            policy: plan.security.policy,
            log: Some(scene.log),
            largest: sanitise::LARGEST,
            is_over: &is_over,
        };
        let repo = take_repo(scene, ground, place, git, &sanitiser).await?;
        let sanitised =
            sanitiser.run(&place.output()).map_err(|error| Stop::Failed { message: with_cause(&error) })?;
        tell_found(scene, "output", &sanitised.found);
        let detail = match output.files.len() {
            1 => "1 file".to_owned(),
            many => format!("{many} files"),
        };
        Ok(Made::done(Attempted { ended, sanitised, repo }, detail))
    };
    let taken = teller.step(Step::Extract, Some(number), taking).await;
    if let Err(Stop::Cancelled { .. }) = &taken {
        // Half a copy, of which not everything was made harmless, is worse than none.
        for half in [place.output(), place.repo()] {
            let _not_begun = crate::home::remove(&half);
        }
    }
    taken
}

/// Tells of what was found in files that the agent left.
fn tell_found(scene: &Scene<'_, '_>, below: &str, found: &[Found]) {
    for Found { path, finding, action } in found {
        scene.teller.tell(Event::Finding {
            step: Step::Extract,
            rule: format!("{}/{}", finding.rule.scanner, finding.rule.id),
            severity: finding.severity.as_str().to_owned(),
            place: format!("{below}/{}", path.display()),
            detail: finding.detail().to_owned(),
            action: action.as_str().to_owned(),
        });
    }
}

/// Keeps what the runtime wrote about its own work: a record, without which the result is the same.
fn keep_transcripts(scene: &Scene<'_, '_>, ground: &Ground, place: &IterationDir) {
    let runtime = &scene.request.runtime;
    let paths = runtime.transcripts(&ground.place.stage);
    // Written from within the sandbox, or by a runtime that works on the host.
    let (inside, own): (Vec<PathBuf>, Vec<PathBuf>) =
        paths.into_iter().partition(|path| path.starts_with(ground.place.stage.root()));
    for (root, paths) in [(ground.place.stage.config(), inside), (ground.place.records.clone(), own)] {
        if paths.is_empty() {
            continue;
        }
        let name = &scene.plan.agent.name;
        match extract::transcripts(&root, &paths, &place.transcripts(), name, extract::Limits::OUTPUT) {
            Ok(kept) => warn(scene, kept.warnings),
            Err(error) => scene.teller.warn(format!("transcripts are left out: {}", with_cause(&error))),
        }
    }
}

/// The repository as the agent left it, and what it changed.
async fn take_repo(
    scene: &Scene<'_, '_>,
    ground: &Ground,
    place: &IterationDir,
    git: &HostGit,
    sanitiser: &Sanitiser<'_>,
) -> Result<Option<PathBuf>, Stop> {
    let (request, teller) = (scene.request, scene.teller);
    let repo = place.repo();
    let copied = extract::repo(
        &ground.place.stage.repo(),
        &repo,
        extract::Limits::REPO,
        &git.config,
        sanitiser.is_over,
    );
    let left_out_links = match copied {
        Ok(extracted) => {
            warn(scene, extracted.warnings);
            extracted.left_out_links
        }
        // The result may still be what was asked for, and a half copy is worse than none.
        Err(error) if scene.plan.harness.validation_loop.is_some() && !(sanitiser.is_over)() => {
            teller.warn(with_cause(&error));
            let _nothing_to_use = crate::home::remove(&repo);
            return Ok(None);
        }
        Err(error) => return Err(Stop::Failed { message: with_cause(&error) }),
    };
    let replaced = ground.withheld.restore(&repo).map_err(Stop::io("put settings of the repository back"))?;
    for path in replaced {
        teller.warn(format!("what the agent wrote to `{}` is not delivered", path.display()));
    }
    let changed = ground.injected.take_back(&repo).map_err(Stop::io("take instructions out of the copy"))?;
    for name in changed {
        teller.warn(format!("what the agent wrote to `{name}` is not delivered: the repository has none"));
    }
    if scene.plan.token.is_some() {
        let found = sanitiser.repository(&repo, &request.target_repo);
        let found = found.map_err(|error| Stop::Failed { message: with_cause(&error) })?;
        tell_found(scene, "repo", &found);
    }
    let path = request.environment.get("PATH");
    let (host, scratch) = (&request.target_repo, ground.place.stage.root());
    let compared = Compared { host, base: &git.base, copy: &repo, left_out_links: &left_out_links, scratch };
    match extract::changes(compared, &place.changes(), path, &request.cancel).await {
        Ok(()) => {}
        Err(error) => teller.warn(with_cause(&error)),
    }
    Ok(Some(repo))
}

fn warn(scene: &Scene<'_, '_>, warnings: Vec<String>) {
    warnings.into_iter().for_each(|warning| scene.teller.warn(warning));
}

/// Whether the attempt is what was asked for.
async fn check(
    scene: &Scene<'_, '_>,
    dir: &RunDir,
    place: &IterationDir,
    number: u32,
    attempted: &Attempted,
) -> Result<Verdict, Stop> {
    let (plan, request, teller) = (scene.plan, scene.request, scene.teller);
    let schema = plan.result.as_ref();
    let env = variables(scene);
    let checking = async {
        if attempted.sanitised.outcome == Judged::Blocked {
            let said = attempted.sanitised.problems().join("\n");
            return Ok(Made::failed(Verdict::Invalid { said }, "blocked by findings"));
        }
        let validator = Validator {
            schema: schema.map(|result| &result.schema),
            script: plan.scripts.validation.as_deref(),
            env: &env,
            timeout: plan.timeout,
            cancel: &request.cancel,
        };
        let subject = Subject {
            run: dir.path(),
            iteration: place.path(),
            repo: attempted.repo.as_deref(),
            schema: schema.map(|result| result.path.as_path()),
        };
        let mut told =
            |_stream, line: &str| teller.tell(Event::Script { step: Step::Validate, line: line.to_owned() });
        let verdict = validator.check(&subject, &mut told).await;
        let verdict = verdict.map_err(|error| Stop::Failed { message: with_cause(&error) })?;
        Ok(match verdict {
            Verdict::Valid => Made::done(Verdict::Valid, "accepted"),
            Verdict::NothingToCheck => Made::nothing(Verdict::NothingToCheck, "nothing checks the result"),
            Verdict::Cancelled => Made::failed(Verdict::Cancelled, "ended with the run"),
            Verdict::Unchecked { reason } => Made::failed(unchecked(&reason), reason),
            Verdict::Invalid { said } => {
                let first = said.lines().next().unwrap_or_default().to_owned();
                Made::failed(Verdict::Invalid { said }, format!("not accepted: {first}"))
            }
        })
    };
    teller.unhurried(Step::Validate, Some(number), checking).await
}

fn unchecked(reason: &str) -> Verdict {
    Verdict::Unchecked { reason: reason.to_owned() }
}

/// What the next attempt is told.
fn told(scene: &Scene<'_, '_>, said: &str) -> Result<Option<String>, Stop> {
    let plan = scene.plan;
    let feedback =
        Feedback::of(said, plan.feedback, &plan.security.checks, plan.security.policy, Some(scene.log));
    let feedback = feedback.map_err(|error| Stop::Failed { message: with_cause(&error) })?;
    Ok(feedback.map(|feedback| feedback.text))
}

fn record(scene: &Scene<'_, '_>, number: u32, attempted: &Attempted, verdict: &Verdict) {
    let checked = scene.plan.harness.validation_loop.is_some();
    let validation = match verdict {
        _ if !checked => "none",
        Verdict::Valid => "valid",
        Verdict::NothingToCheck => "none",
        Verdict::Invalid { .. } => "invalid",
        Verdict::Unchecked { .. } | Verdict::Cancelled => "unchecked",
    };
    scene.teller.with_records(|records| {
        records.update(|report| {
            report.metrics.add(&attempted.ended.metrics);
            report.iterations.push(IterationRecord {
                number,
                exit_code: attempted.ended.exit_code,
                validation,
                metrics: attempted.ended.metrics.clone(),
                files: attempted.sanitised.frozen.files(),
                repo: attempted.repo.is_some(),
            });
        });
    });
}
