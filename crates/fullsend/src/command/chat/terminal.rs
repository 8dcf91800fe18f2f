//! The person's chat: on a terminal, with the service in this process.
//!
//! Everything that a model, a tool or a file says is hostile to a terminal. It is made harmless where text becomes a piece
//! of a row (`text`), and no text of theirs stands in the columns in which our own lines begin (`transcript`).

mod drive;
mod editor;
mod history;
mod input;
mod link;
mod markdown;
mod plain;
mod screen;
mod setup;
mod state;
mod text;
mod transcript;

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use fullsend_chat::client::Client;
use fullsend_chat::protocol::StartSession;
use fullsend_chat::service::Service;
use fullsend_chat::store::Place;
use fullsend_chat::transport::serve;
use tokio::io::DuplexStream;
use tokio::sync::{mpsc, oneshot};

use self::drive::{Drive, Ended};
use self::history::HistoryFile;
use self::input::Input;
use self::link::Link;
use self::screen::{Keyboard, Palette, Screen};
use self::setup::Complained;
pub(super) use self::setup::usual_database;
use self::state::Chat;
use crate::cli::ChatArgs;
use crate::environment;
use crate::exit::Exit;
use crate::output::{Advice, Output};

/// How much of what the service says waits between it and the client.
const PIPE: usize = 1 << 16;

/// What a chat is begun with.
#[derive(Debug)]
struct Setup {
    service: Arc<Service>,
    /// What new sessions are begun with.
    begin: StartSession,
    /// The session to go on with.
    resume: Option<String>,
    database: PathBuf,
    /// The first lines.
    greeting: String,
}

/// Chats until the person leaves.
pub(super) fn run(args: &ChatArgs, output: &mut Output) -> Result<Exit> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        bail!(Advice::new(
            "`fullsend chat` talks to a person, and standard input or output is no terminal",
            "programs use `fullsend chat --stdio`; for a single prompt there is `fullsend exec`"
        ));
    }
    let database = match super::database(args) {
        Some(database) => database,
        None => setup::ready_database()?,
    };
    let workspace = args.place.workspace.as_deref().unwrap_or(Path::new("."));
    let workspace = workspace.canonicalize();
    let workspace = workspace.context("the workspace cannot be used; name a directory with `--workspace`")?;
    let complained = Complained::default();
    let (service, allowance) =
        super::service(args, &Place::File(database.clone()), complained.hear(), output)?;
    let setup = Setup {
        service,
        begin: setup::session(args, &allowance, &workspace),
        resume: args.resume.clone(),
        greeting: setup::greeting(&workspace, args.resume.is_some()),
        database,
    };
    let ended = run_inside(setup, output);
    for text in complained.take() {
        output.aside(&format!("error: {}\n", text::clean(&text)));
    }
    ended
}

fn run_inside(setup: Setup, output: &mut Output) -> Result<Exit> {
    // A turn that is busy must not keep keys from being heard.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let database = setup.database.clone();
    let talked = runtime.block_on(talk(setup));
    // A thread that still waits for something must not hold up the end.
    runtime.shutdown_timeout(Duration::from_millis(100));
    let (ended, session) = talked?;
    if let Some(session) = session {
        output.note(&format!(
            "The session is kept in {}. Go on with it: fullsend chat --resume {}",
            shown(&database),
            // A program may have named it.
            text::clean(&session)
        ));
    }
    Ok(match ended {
        Ended::Left => Exit::Done,
        Ended::Signal(signal) => Exit::Command(u8::try_from(128 + signal).unwrap_or(u8::MAX)),
    })
}

fn shown(path: &Path) -> String {
    text::clean(&path.display().to_string())
}

/// Why a chat ended, and the session that was open then.
type Talked = (Ended, Option<String>);

/// Chats, with the service beside.
async fn talk(setup: Setup) -> Result<Talked> {
    let (ours, theirs) = tokio::io::duplex(PIPE);
    let (requests, lines) = tokio::io::split(theirs);
    let (stop, stopped) = oneshot::channel::<()>();
    let stopped = async {
        let _dropped_or_sent = stopped.await;
    };
    let serving = serve(Arc::clone(&setup.service), requests, lines, stopped);
    let (mut serving, mut chatting) = (pin!(serving), pin!(chat(setup, ours, stop)));
    tokio::select! {
        talked = &mut chatting => talked,
        served = &mut serving => {
            // The chat learns of it, and gives the terminal back.
            let talked = chatting.await;
            served?;
            talked
        }
    }
}

async fn chat(setup: Setup, service: DuplexStream, stop: oneshot::Sender<()>) -> Result<Talked> {
    let Setup { begin, resume, database, greeting, .. } = setup;
    let (lines, requests) = tokio::io::split(service);
    let (client, events) = Client::connect(lines, requests);
    let (sender, inputs) = input::queue();
    input::catch_signals(&sender)?;
    let link = Link::new(client, begin, sender.clone());
    let history = HistoryFile::beside(&database);
    let typed = history.read().context("what was typed before cannot be read")?;
    let mut chat = Chat::new(greeting, typed);
    if let Some(id) = resume {
        chat.reply(link.resumed(&id).await?);
    }
    input::listen(events, sender.clone());
    let mut drive = Drive { chat, link, inputs, history: Some(history), is_over: false };
    let ended = show(&mut drive, sender).await;
    let session = drive.chat.session().map(|session| session.session_id.clone());
    let _ended_already = stop.send(());
    if !drive.is_over {
        finish(&mut drive.inputs).await;
    }
    Ok((ended?, session))
}

/// The terminal is given back when this ends, however it does.
async fn show(drive: &mut Drive, inputs: mpsc::Sender<Input>) -> Result<Ended> {
    if environment::terminal_kind().is_none_or(|kind| kind == "dumb") {
        input::read_lines(inputs);
        return drive.by_lines(&mut drive::output()).await;
    }
    let _keyboard = Keyboard::take()?;
    let palette = if environment::allows_colour() { Palette::Colours } else { Palette::None };
    let mut screen = Screen::enter(drive::output(), palette)?;
    input::read_keys(inputs);
    drive.on_screen(&mut screen).await
}

/// Waits until turns have ended and everything is written down, unless the person does not.
async fn finish(inputs: &mut mpsc::Receiver<Input>) {
    while let Some(input) = inputs.recv().await {
        if matches!(input, Input::ServiceEnded(_) | Input::Interrupt | Input::Ending(_)) {
            return;
        }
    }
}
