//! `fullsend sandbox`.

pub(super) mod backend;
mod denials;
mod input;
mod policy_file;
mod relay;
mod request;
pub(super) mod signals;
mod terminal;
mod writer;

use std::io::ErrorKind;

use anyhow::Result;
use fullsend_sandbox::policy::{explain, explain_on};
use fullsend_sandbox::{SandboxBackend, SandboxError, SandboxSession};
use serde_json::json;

use self::backend::Choice;
use self::relay::{Ended, Relay};
use self::request::Wanted;
use self::signals::Signals;
use self::terminal::RawTerminal;
use self::writer::Writer;
use crate::cli::{ExecFormat, SandboxExecArgs, SandboxPolicyArgs, ShowFormat};
use crate::environment;
use crate::exit::Exit;
use crate::output::{Output, is_closed_pipe};

/// The sandbox could not be set up.
const NO_SANDBOX: u8 = 125;
/// The time limit ended the command.
const TIMED_OUT: u8 = 124;
/// The command is nothing that can be run, as shells say it.
const NOT_RUNNABLE: u8 = 126;
/// There is no such command, as shells say it.
const NO_COMMAND: u8 = 127;

/// Why a command did not come to its own end.
#[derive(Debug)]
enum Failure {
    /// No sandbox, or no command in it.
    Sandbox(SandboxError),
    /// A signal came before the command was started.
    Interrupted(i32),
    /// Our own input or output.
    Own(anyhow::Error),
}

impl From<SandboxError> for Failure {
    fn from(error: SandboxError) -> Self {
        Self::Sandbox(error)
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Own(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Own(error.into())
    }
}

/// Shows what a policy file grants.
pub(super) fn show_policy(args: &SandboxPolicyArgs, output: &mut Output) -> Result<Exit> {
    let current = std::env::current_dir()?;
    let policy = policy_file::read(&args.file, &current, output)?;
    // That there is a key is all that is shown of it.
    let spec = request::from_policy(&policy, &current, |_| Some(String::new()))?;
    let explanation = explain(&spec);
    match args.format {
        ShowFormat::Text => output.text(&explanation.to_string())?,
        ShowFormat::Json => output.json(&serde_json::to_value(&explanation)?)?,
    }
    Ok(Exit::Done)
}

/// Runs a command in a sandbox of its own.
pub(super) fn exec(args: &SandboxExecArgs, output: &mut Output) -> Result<Exit> {
    let current = std::env::current_dir()?;
    let policy = args.policy.as_ref().map(|path| policy_file::read(path, &current, output)).transpose()?;
    let choice = Choice::of(args)?;
    let wanted = request::build(args, policy.as_ref(), &current, environment::key_variable)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ran = runtime.block_on(run(args, &choice, wanted, output));
    // A thread that still waits for input must not hold up the end.
    runtime.shutdown_background();
    match ran {
        Ok(ended) => {
            denials::report(&ended, output);
            Ok(Exit::Command(exit_code(&ended)))
        }
        Err(Failure::Own(error)) if is_closed_pipe(&error) => Ok(Exit::ClosedPipe),
        Err(Failure::Own(error)) => {
            output.failure(&error);
            Ok(Exit::Command(NO_SANDBOX))
        }
        Err(Failure::Interrupted(signal)) => Ok(Exit::Command(by_signal(signal))),
        // What the command line asks for makes no sense.
        Err(Failure::Sandbox(error @ (SandboxError::InvalidRequest(_) | SandboxError::NetworkPolicy(_)))) => {
            Err(error.into())
        }
        Err(Failure::Sandbox(error)) => {
            let code = failure_code(&error);
            // Its message already has its cause.
            output.failure(&anyhow::Error::msg(error.to_string()));
            Ok(Exit::Command(code))
        }
    }
}

fn failure_code(error: &SandboxError) -> u8 {
    let SandboxError::NotStarted { source, .. } = error else { return NO_SANDBOX };
    if source.kind() == ErrorKind::NotFound { NO_COMMAND } else { NOT_RUNNABLE }
}

async fn run(
    args: &SandboxExecArgs,
    choice: &Choice<'_>,
    wanted: Wanted,
    output: &mut Output,
) -> Result<Ended, Failure> {
    let mut signals = Signals::listen()?;
    let explained = args.explain.then(|| explain_on(&wanted.spec, &choice.ground()));
    if let Some(explanation) = explained.as_ref().filter(|_| args.format == ExecFormat::Text) {
        output.aside(&explanation.to_string());
    }
    let explanation = explained.filter(|_| args.format == ExecFormat::Json);
    let started = tokio::select! {
        started = choice.start(args.network.log.clone()) => started?,
        signal = signals.ending() => return Err(Failure::Interrupted(signal)),
    };
    let backend = started.contract();
    let session = tokio::select! {
        session = backend.provision(wanted.spec.clone()) => session?,
        signal = signals.ending() => return Err(Failure::Interrupted(signal)),
    };
    let writer = Writer::start(args.format);
    if let Some(explanation) = explanation {
        let granted = json!({ "event": "granted", "policy": explanation, "enforcement": session.metadata });
        writer.json(&granted).await;
    } else if args.explain {
        output.aside(&enforcement(&session));
    }
    let ended = in_session(args, wanted, backend, &session, &mut signals, writer).await;
    // Also when the command failed: nothing of the session stays.
    let terminated = backend.terminate(&session.id).await;
    // After the command, so that it does not wait; what cannot be removed today can be tomorrow.
    if let Err(error) = started.sweep().await {
        tracing::warn!("cannot remove what killed processes have left behind: {error}");
    }
    let ended = ended?;
    terminated?;
    Ok(ended)
}

async fn in_session(
    args: &SandboxExecArgs,
    wanted: Wanted,
    backend: &dyn SandboxBackend,
    session: &SandboxSession,
    signals: &mut Signals,
    writer: Writer,
) -> Result<Ended, Failure> {
    let mut request = wanted.request;
    let raw = if args.tty { RawTerminal::enter()? } else { None };
    if args.tty {
        request.terminal = Some(terminal::size());
    }
    let timeout = request.timeout;
    let running = backend.spawn(&session.id, request).await?;
    let relay = Relay::new(running, input::start(), writer, timeout);
    let ended = relay.run(signals).await;
    // Messages about the end are for a terminal as it was.
    drop(raw);
    ended
}

/// The layers that hold the session, as the backend reports them.
fn enforcement(session: &SandboxSession) -> String {
    let mut text = format!("Enforced by the {} sandbox\n", session.backend);
    for (layer, state) in session.metadata.iter().filter(|(name, _)| !name.starts_with("label.")) {
        text.push_str(&format!("  {layer}: {state}\n"));
    }
    text
}

fn exit_code(ended: &Ended) -> u8 {
    match (ended.interrupted, ended.exit.signal) {
        _ if ended.timed_out() => TIMED_OUT,
        // Killed at the second Ctrl-C it still ended because of the first.
        (Some(signal), Some(_)) => by_signal(signal),
        _ => u8::try_from(ended.exit.exit_code).unwrap_or(u8::MAX),
    }
}

fn by_signal(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}
