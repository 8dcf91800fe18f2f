//! `fullsend hook serve`: decides for hooks that run in a sandbox.

use std::io;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use fullsend_guard::hook::{Hook, HookFile};
use fullsend_guard::log::LogError;
use fullsend_guard::service::{Limits, Service, ServiceConfig};
use fullsend_guard::{FindingsLog, SystemClock, TraceId};
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::answer;
use crate::cli::HookServeArgs;
use crate::exit::Exit;
use crate::output::{Advice, Output};

pub(super) fn run(args: &HookServeArgs, output: &mut Output) -> Result<Exit> {
    let config = match answer::read_config(&args.config) {
        Ok(HookFile::Decide(config)) => config,
        Ok(HookFile::Ask(_)) => {
            let message = format!("`{}` names a service instead of checks", args.config.display());
            return Err(Advice::new(message, "give the service a configuration with `checks`").into());
        }
        Err(problem) => bail!(problem),
    };
    if config.findings.is_some() {
        let message = format!("`{}` names a findings log of its own", args.config.display());
        return Err(Advice::new(message, "remove `findings`; the service writes to `--findings`").into());
    }
    let trace_id = match config.trace_id.as_deref() {
        Some(id) => id.parse()?,
        None => TraceId::generate(),
    };
    let hook = Hook::new(*config)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Heard from here on, so that no signal leaves a log without its end.
    let mut signals = {
        let _entered = runtime.enter();
        Signals::new()?
    };
    let log = new_log(&args.findings, trace_id)?;
    let directory = std::path::absolute(&args.directory)?;
    let decide = Arc::new(move |phase, input: &[u8]| hook.decide(phase, input));
    let config = ServiceConfig { directory, limits: Limits::default() };
    let service = Service::start(config, decide, log.clone()).inspect_err(|_| {
        // Nothing is in it, and it would be in the way of the next try.
        let _left_behind = std::fs::remove_file(&args.findings);
    })?;
    let announced =
        output.line(&json!({ "event": "listening", "socket": service.socket(), "mount": service.mount() }));
    if announced.is_ok() {
        runtime.block_on(signals.recv());
    }
    let counts = service.stop();
    let head = log.seal().context("the findings log has no end")?;
    announced?;
    output.line(&json!({
        "event": "sealed",
        "head": head,
        "answered": counts.answered,
        "denied": counts.denied,
        "unheard": counts.unheard,
        "misused": counts.misused,
        "entries": counts.entries,
    }))?;
    Ok(Exit::Done)
}

/// What asks the service to end.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    async fn recv(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}

/// A log belongs to one run, so what is there is not continued.
fn new_log(path: &Path, trace_id: TraceId) -> Result<FindingsLog> {
    let exists = |error: &LogError| matches!(error, LogError::Io { source, .. } if source.kind() == io::ErrorKind::AlreadyExists);
    FindingsLog::create(path, trace_id, Arc::new(SystemClock)).map_err(|error| {
        if !exists(&error) {
            return error.into();
        }
        let message = format!("there is something at `{}` already", path.display());
        let help = "name a new file for `--findings`; every start of the service has a log of its own";
        Advice::new(message, help).into()
    })
}
