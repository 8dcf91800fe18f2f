//! `fullsend chat`: conversations with the built-in agent, for programs and for persons.

mod kit;
mod models;
mod prune;
mod sessions;
mod stdio;
mod terminal;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use fullsend_chat::service::{Allowance, Complaints, Service, Settings, USUAL_ROOM};
use fullsend_chat::store::{Place, Store};
use fullsend_chat::turn::AgentTurns;
use fullsend_guard::SystemClock;
use fullsend_yaml::printable;

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
    terminal::run(args, output)
}

/// The service that the options ask for, with all that was left undone put in order, and what its sessions may do.
fn service(
    args: &ChatArgs,
    place: &Place,
    complaints: Complaints,
    output: &mut Output,
) -> Result<(Arc<Service>, Allowance)> {
    let (kit, allowance) = kit::of(args, output)?;
    let store = Store::open(place, Arc::new(SystemClock))?;
    let settings = Settings {
        allowance: allowance.clone(),
        room: held(args)?.map_or(USUAL_ROOM, |held| usize::try_from(held).unwrap_or(usize::MAX)),
        complaints,
        ..Settings::default()
    };
    let service = Service::new(store, Arc::new(AgentTurns::new(kit)), settings);
    service.recover()?;
    Ok((Arc::new(service), allowance))
}

/// Says on standard error what can be told nowhere else. Clients name sessions and turns, and name them as they like.
fn complain(text: &str) {
    use std::io::Write as _;

    let _nowhere_to_tell = writeln!(std::io::stderr().lock(), "error: {}", printable(text.to_owned()));
}

/// The database that is looked after; it must be there.
fn existing(args: &ChatDatabaseArgs) -> Result<Store> {
    let named = args.chat_session_db.clone().or_else(database_of_environment);
    let Some(path) = named.or_else(terminal::usual_database) else {
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

/// The file that sessions are kept in, if one is named.
fn database(args: &ChatArgs) -> Option<PathBuf> {
    args.chat_session_db.clone().or_else(database_of_environment)
}

/// How many events are held in memory, if somebody says so.
fn held(args: &ChatArgs) -> Result<Option<u64>> {
    if let Some(held) = args.chat_max_in_memory_events {
        return Ok(Some(held));
    }
    let Some((name, value)) = environment::agent_option("CHAT_MAX_IN_MEMORY_EVENTS") else { return Ok(None) };
    let held = value.parse().with_context(|| format!("`{name}` is not a number of events: `{value}`"))?;
    Ok(Some(held))
}
