//! `fullsend chat`: conversations with the built-in agent, for programs and for persons.

mod kit;
mod models;
mod prune;
mod sessions;
mod stdio;

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use fullsend_chat::service::{Service, Settings, USUAL_ROOM};
use fullsend_chat::store::{Place, Store};
use fullsend_chat::turn::AgentTurns;
use fullsend_guard::SystemClock;

use crate::cli::{ChatArgs, ChatCommand, ChatDatabaseArgs};
use crate::environment;
use crate::exit::Exit;
use crate::output::{Advice, Output};

/// Serves a program, or talks to a person.
pub(super) fn run(args: &ChatArgs, output: &mut Output) -> Result<Exit> {
    match &args.command {
        Some(ChatCommand::Sessions(args)) => return sessions::run(args, output),
        Some(ChatCommand::Prune(args)) => return prune::run(args, output),
        None => {}
    }
    if args.stdio {
        return stdio::run(args, output);
    }
    if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        bail!(Advice::new(
            "there is no chat on a terminal yet",
            "use `fullsend chat --stdio` from a program, or `fullsend exec` for one task"
        ));
    }
    bail!(Advice::new(
        "standard input and output are no terminal",
        "use `fullsend chat --stdio` to speak the chat protocol from a program"
    ));
}

/// The service that the options ask for, with all that was left undone put in order.
fn service(args: &ChatArgs, output: &mut Output) -> Result<Arc<Service>> {
    let (kit, allowance) = kit::of(args, output)?;
    let held = match args.chat_max_in_memory_events {
        Some(held) => Some(held),
        None => held_by_environment()?,
    };
    let store = Store::open(&place(args, held), Arc::new(SystemClock))?;
    let settings = Settings {
        allowance,
        room: held.map_or(USUAL_ROOM, |held| usize::try_from(held).unwrap_or(usize::MAX)),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        clock: Arc::new(SystemClock),
        complaints: Arc::new(complain),
    };
    let service = Service::new(store, Arc::new(AgentTurns::new(kit)), settings);
    service.recover()?;
    Ok(Arc::new(service))
}

/// Says on standard error what can be told nowhere else.
fn complain(text: &str) {
    use std::io::Write as _;

    let _nowhere_to_tell = writeln!(std::io::stderr().lock(), "error: {text}");
}

/// The database that is looked after; it must be there.
fn existing(args: &ChatDatabaseArgs) -> Result<Store> {
    let Some(path) = args.chat_session_db.clone().or_else(database_of_environment) else {
        bail!(Advice::new(
            "no chat database is named",
            "name it with `--chat-session-db`, or in `FULLSEND_CHAT_SESSION_DB`"
        ));
    };
    Ok(Store::open(&Place::Existing(path), Arc::new(SystemClock))?)
}

fn database_of_environment() -> Option<PathBuf> {
    environment::agent_option("CHAT_SESSION_DB").map(|(_, path)| PathBuf::from(path))
}

fn place(args: &ChatArgs, held: Option<u64>) -> Place {
    match args.chat_session_db.clone().or_else(database_of_environment) {
        Some(path) => Place::File(path),
        None => Place::Temporary { keep: held },
    }
}

fn held_by_environment() -> Result<Option<u64>> {
    let Some((name, value)) = environment::agent_option("CHAT_MAX_IN_MEMORY_EVENTS") else { return Ok(None) };
    let held = value.parse().with_context(|| format!("`{name}` is not a number of events: `{value}`"))?;
    Ok(Some(held))
}
