//! `fullsend hook serve`: decides for hooks that run in a sandbox.

use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use fullsend_guard::hook::{Hook, HookFile};
use fullsend_guard::service::{Limits, Service, ServiceConfig};
use fullsend_guard::{FindingsLog, SystemClock, TraceId};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

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
    let (mut interrupt, mut terminate) = runtime.block_on(async {
        Ok::<_, std::io::Error>((signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?))
    })?;
    let log = FindingsLog::create(&args.findings, trace_id, Arc::new(SystemClock))?;
    let directory = std::path::absolute(&args.directory)?;
    let decide = Arc::new(move |phase, input: &[u8]| hook.decide(phase, input));
    let service =
        Service::start(ServiceConfig { directory, limits: Limits::default() }, decide, log.clone())?;
    output.line(&json!({ "event": "listening", "socket": service.socket(), "mount": service.mount() }))?;
    runtime.block_on(async {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    });
    let counts = service.stop();
    let head = log.seal().context("the findings log has no end")?;
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
