//! The answer to one hook call: whatever happens, there is one, and without a decision it is no.

use std::io::{self, Read as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fullsend_guard::hook::{Decision, Hook, HookConfig, HookFile, HookPhase, MAX_INPUT_BYTES, failure};
use fullsend_guard::log::{LogError, Place};
use fullsend_guard::{FindingsLog, SystemClock, TraceId, service};

use crate::exit::Exit;

/// What is read and thrown away of input that is too long, so that whoever writes it can finish.
const DRAINED: u64 = 64 * 1024 * 1024;

/// How long to wait for a service or a log. Well below the time after which runtimes go on without an answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long to wait before another try.
const PAUSE: Duration = Duration::from_millis(3);

/// Reads the call from standard input and prints the decision.
pub(super) fn answer(phase: HookPhase, config: Result<&Path, &str>) -> Exit {
    // What a panic says could quote the input, which is not to be trusted.
    std::panic::set_hook(Box::new(|_| {}));
    let decided = catch_unwind(AssertUnwindSafe(|| decide(phase, config)));
    let decision = match decided {
        Ok(Ok(decision)) => decision,
        Ok(Err(problem)) => failure(phase, &problem),
        Err(_) => failure(phase, "the hook failed"),
    };
    let written = print(&decision);
    match (decision.exit, written) {
        (0, Ok(())) => Exit::Done,
        // What was to be said could not be said, so that the call must not go on as if it had been.
        (0, Err(_)) | (1.., _) => Exit::Command(2),
    }
}

fn print(decision: &Decision) -> io::Result<()> {
    let _reason_is_in_the_reply = io::stderr().lock().write_all(decision.stderr.as_bytes());
    let mut stdout = io::stdout().lock();
    stdout.write_all(decision.stdout.as_bytes())?;
    stdout.flush()
}

fn decide(phase: HookPhase, config: Result<&Path, &str>) -> Result<Decision, String> {
    let file = config.map_err(str::to_owned).and_then(read_config);
    let limit = match &file {
        Ok(HookFile::Decide(config)) => config.limits.max_input_bytes,
        Ok(HookFile::Ask(ask)) => ask.limits.max_input_bytes,
        Err(_) => MAX_INPUT_BYTES,
    };
    let input = read_input(limit)?;
    match file? {
        HookFile::Decide(config) => {
            let hook = Hook::new(*config).map_err(|error| error.to_string())?;
            let decision = hook.decide(phase, &input);
            record(hook.config(), phase, &input, &decision)?;
            Ok(decision)
        }
        HookFile::Ask(ask) => {
            let answer =
                service::ask(&ask.service, phase, &input, PATIENCE).map_err(|error| error.to_string())?;
            Ok(Decision {
                exit: answer.exit,
                stdout: answer.stdout,
                stderr: answer.stderr,
                recorded: Vec::new(),
            })
        }
    }
}

/// Writes what was found into the log. Without its record a decision does not count.
fn record(config: &HookConfig, phase: HookPhase, input: &[u8], decision: &Decision) -> Result<(), String> {
    let Some(path) = config.findings.as_deref().filter(|_| !decision.recorded.is_empty()) else {
        return Ok(());
    };
    let tool = service::tool_name(input);
    let place = Place { phase: phase.into(), tool: tool.as_deref(), path: None };
    open_log(path, config.trace_id.as_deref())
        .and_then(|log| log.append_all(place, &decision.recorded))
        .map_err(|error| format!("the findings of this call cannot be recorded: {error}"))
}

/// Opens the log, waiting for hooks of other calls that write to it.
fn open_log(path: &Path, trace_id: Option<&str>) -> Result<FindingsLog, LogError> {
    let trace_id = trace_id.and_then(|id| id.parse().ok()).unwrap_or_else(TraceId::generate);
    let give_up = Instant::now() + PATIENCE;
    loop {
        let clock = Arc::new(SystemClock);
        let opened = match FindingsLog::create(path, trace_id.clone(), clock.clone()) {
            Err(LogError::Io { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => {
                FindingsLog::open_existing(path, trace_id.clone(), clock)
            }
            other => other,
        };
        match opened {
            Err(LogError::InUse { .. }) if Instant::now() < give_up => std::thread::sleep(PAUSE),
            other => return other,
        }
    }
}

pub(super) fn read_config(path: &Path) -> Result<HookFile, String> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("the hook's configuration `{shown}` cannot be read: {error}"))?;
    HookFile::parse(&text).map_err(|error| format!("the hook's configuration is wrong: {shown}:{error}"))
}

/// Standard input, up to one byte more than the limit.
fn read_input(limit: usize) -> Result<Vec<u8>, String> {
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let mut input = Vec::new();
    let mut stdin = io::stdin().lock();
    stdin
        .by_ref()
        .take(most)
        .read_to_end(&mut input)
        .map_err(|error| format!("the hook's input cannot be read: {error}"))?;
    if input.len() > limit {
        let _too_long_anyway = io::copy(&mut stdin.take(DRAINED), &mut io::sink());
    }
    Ok(input)
}
