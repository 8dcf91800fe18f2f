//! Conversation with a browser: numbered commands, their answers, and events in between.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::{Error as SocketError, Message};

use super::endpoint::Socket;
use super::failure::Failure;
use super::page_state::PageState;

/// How long a browser may take to accept a message.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the end of a conversation may take.
const PARTING: Duration = Duration::from_secs(2);
/// Commands that wait to be sent.
const QUEUE: usize = 16;
/// Answers that nobody waits for any more are forgotten beyond this many.
const OUTSTANDING: usize = 64;
/// Characters of what a browser says about a failed command.
const LONGEST_REASON: usize = 300;

/// A command to the browser, or to the page.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) session: Option<String>,
    pub(super) method: &'static str,
    pub(super) params: Value,
}

/// One message of a browser.
#[derive(Debug, Deserialize)]
pub(super) struct Incoming {
    id: Option<u64>,
    pub(super) method: Option<String>,
    #[serde(default)]
    pub(super) params: Value,
    #[serde(rename = "sessionId")]
    pub(super) session: Option<String>,
    result: Option<Value>,
    error: Option<Value>,
}

type Reply = oneshot::Sender<Result<Value, Failure>>;

/// A conversation under way. Dropping it closes the page.
#[derive(Debug)]
pub(super) struct Wire {
    commands: mpsc::Sender<(Command, Reply)>,
    state: Arc<Mutex<PageState>>,
    changes: watch::Receiver<()>,
    ended: Arc<Mutex<Option<&'static str>>>,
}

impl Wire {
    /// Begins a conversation; it goes on by itself.
    pub(super) fn start(socket: Socket, state: PageState) -> Self {
        let (commands, queue) = mpsc::channel(QUEUE);
        let (changed, changes) = watch::channel(());
        let state = Arc::new(Mutex::new(state));
        let ended = Arc::new(Mutex::new(None));
        let talk = Talk { socket, state: Arc::clone(&state), changed, waiting: HashMap::new(), last_id: 0 };
        let why = Arc::clone(&ended);
        tokio::spawn(async move { talk.run(queue, &why).await });
        Self { commands, state, changes, ended }
    }

    /// Whether the other side is still there.
    pub(super) fn is_open(&self) -> bool {
        !self.commands.is_closed()
    }

    /// What is known about the page.
    pub(super) fn state(&self) -> MutexGuard<'_, PageState> {
        lock(&self.state)
    }

    /// Sends a command to the browser and waits for its answer.
    pub(super) async fn browser(&self, method: &'static str, params: Value) -> Result<Value, Failure> {
        self.ask(Command { session: None, method, params }).await
    }

    /// Sends a command to the page and waits for its answer.
    pub(super) async fn page(&self, method: &'static str, params: Value) -> Result<Value, Failure> {
        let session = self.state().session.clone();
        self.ask(Command { session: Some(session), method, params }).await
    }

    async fn ask(&self, command: Command) -> Result<Value, Failure> {
        let (reply, answer) = oneshot::channel();
        self.commands.send((command, reply)).await.map_err(|_| self.gone())?;
        answer.await.map_err(|_| self.gone())?
    }

    /// Waits until `condition` holds of the page.
    pub(super) async fn until(&self, condition: impl Fn(&PageState) -> bool) -> Result<(), Failure> {
        let mut changes = self.changes.clone();
        loop {
            // Marked as seen first: a change between the look and the wait must not be slept through.
            changes.borrow_and_update();
            if condition(&self.state()) {
                return Ok(());
            }
            changes.changed().await.map_err(|_| self.gone())?;
        }
    }

    fn gone(&self) -> Failure {
        let reason = lock(&self.ended).unwrap_or("the browser ended the conversation");
        Failure::host(format!("{reason}; the next action begins with an empty page"))
    }
}

/// The side of a conversation that holds the socket.
struct Talk {
    socket: Socket,
    state: Arc<Mutex<PageState>>,
    changed: watch::Sender<()>,
    waiting: HashMap<u64, Reply>,
    last_id: u64,
}

impl Talk {
    /// Carries messages until one side leaves, and leaves behind why it ended.
    async fn run(mut self, mut queue: mpsc::Receiver<(Command, Reply)>, why: &Mutex<Option<&'static str>>) {
        let reason = loop {
            let step = tokio::select! {
                command = queue.recv() => match command {
                    Some((command, reply)) => self.send(command, Some(reply)).await,
                    None => break self.part().await,
                },
                message = self.socket.next() => self.receive(message).await,
            };
            if let Err(reason) = step {
                break reason;
            }
        };
        // Said before those who wait are told that there is no answer.
        *lock(why) = Some(reason);
    }

    async fn send(&mut self, command: Command, reply: Option<Reply>) -> Result<(), &'static str> {
        self.last_id += 1;
        if let Some(reply) = reply {
            if self.waiting.len() >= OUTSTANDING {
                self.waiting.retain(|_, reply| !reply.is_closed());
            }
            self.waiting.insert(self.last_id, reply);
        }
        let mut message = json!({ "id": self.last_id, "method": command.method, "params": command.params });
        if let (Some(session), Some(members)) = (command.session, message.as_object_mut()) {
            members.insert("sessionId".to_owned(), session.into());
        }
        let sending = self.socket.send(Message::text(message.to_string()));
        match timeout(PATIENCE, sending).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(ending(&error)),
            Err(_) => Err("the browser stopped listening"),
        }
    }

    async fn receive(&mut self, message: Option<Result<Message, SocketError>>) -> Result<(), &'static str> {
        let text = match message {
            None => return Err("the browser closed the conversation"),
            Some(Err(error)) => return Err(ending(&error)),
            Some(Ok(Message::Text(text))) => text,
            // Pings are answered by the library; a browser sends nothing else that means anything.
            Some(Ok(
                Message::Binary(_)
                | Message::Ping(_)
                | Message::Pong(_)
                | Message::Close(_)
                | Message::Frame(_),
            )) => return Ok(()),
        };
        let Ok(incoming) = serde_json::from_str::<Incoming>(text.as_str()) else {
            return Err("the browser sent what is no message");
        };
        if let Some(id) = incoming.id {
            // An answer to nothing that was asked is dropped; so is one to what an event made us send.
            if let Some(reply) = self.waiting.remove(&id) {
                let _ = reply.send(outcome(incoming));
            }
            return Ok(());
        }
        let commands = lock(&self.state).take_in(&incoming)?;
        self.changed.send_replace(());
        for command in commands {
            self.send(command, None).await?;
        }
        Ok(())
    }

    /// Closes the page and the socket.
    async fn part(&mut self) -> &'static str {
        let farewell = lock(&self.state).farewell();
        let _ = timeout(PARTING, async {
            if let Some(command) = farewell {
                let _ = self.send(command, None).await;
            }
            let _ = self.socket.close(None).await;
            // The browser reads what was sent before it closes its side.
            while let Some(Ok(_)) = self.socket.next().await {}
        })
        .await;
        "the page was closed"
    }
}

fn outcome(answer: Incoming) -> Result<Value, Failure> {
    match (answer.result, answer.error) {
        (Some(result), None) => Ok(result),
        (_, Some(error)) => {
            let message = error.get("message").and_then(Value::as_str).unwrap_or("no reason given");
            let reason: String = message.chars().take(LONGEST_REASON).collect();
            Err(Failure::command(format!("the browser refused: {reason}")))
        }
        (None, None) => Err(Failure::command("the browser gave an empty answer")),
    }
}

fn ending(error: &SocketError) -> &'static str {
    if matches!(error, SocketError::Capacity(_)) {
        "the browser sent more than 16 MiB at once"
    } else {
        "the connection to the browser broke"
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
