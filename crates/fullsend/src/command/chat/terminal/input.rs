//! All that a chat waits for, in one queue.

use std::io;

use crossterm::event::{self, Event};
use fullsend_chat::client::{ConnectionError, EventStream};
use fullsend_chat::protocol::EventEnvelope;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::state::Reply;

/// How much may wait; who has more to say waits too.
const ROOM: usize = 256;

/// Something that a chat waits for.
#[derive(Debug)]
pub(super) enum Input {
    /// A key, a paste, or another size of the screen.
    Terminal(Event),
    /// A line, where the terminal has no keys to give.
    Line(String),
    /// Nothing more comes from the person.
    NoMore,
    /// Something happened.
    Event(Box<EventEnvelope>),
    /// Something was done.
    Reply(Reply),
    /// Ctrl-C, where the terminal makes a signal of it.
    Interrupt,
    /// A signal wants an end.
    Ending(i32),
    /// The service has ended.
    ServiceEnded(Option<ConnectionError>),
}

/// The queue.
pub(super) fn queue() -> (mpsc::Sender<Input>, mpsc::Receiver<Input>) {
    mpsc::channel(ROOM)
}

/// Hands in what the service tells.
pub(super) fn listen(mut events: EventStream, inputs: mpsc::Sender<Input>) {
    tokio::spawn(async move {
        loop {
            let input = match events.next().await {
                Ok(Some(event)) => Input::Event(Box::new(event)),
                Ok(None) => Input::ServiceEnded(None),
                Err(error) => Input::ServiceEnded(Some(error)),
            };
            let is_last = matches!(input, Input::ServiceEnded(_));
            if inputs.send(input).await.is_err() || is_last {
                return;
            }
        }
    });
}

/// Hands in what a person presses. The thread waits for keys as long as the process lives.
pub(super) fn read_keys(inputs: mpsc::Sender<Input>) {
    std::thread::spawn(move || {
        loop {
            let input = event::read().map_or(Input::NoMore, Input::Terminal);
            let is_last = matches!(input, Input::NoMore);
            if inputs.blocking_send(input).is_err() || is_last {
                return;
            }
        }
    });
}

/// Hands in lines of standard input.
pub(super) fn read_lines(inputs: mpsc::Sender<Input>) {
    std::thread::spawn(move || {
        for line in io::stdin().lines() {
            let Ok(line) = line else { break };
            if inputs.blocking_send(Input::Line(line)).is_err() {
                return;
            }
        }
        let _ = inputs.blocking_send(Input::NoMore);
    });
}

/// Hands in signals. From then on none of them ends the process by itself.
pub(super) fn catch_signals(inputs: &mpsc::Sender<Input>) -> io::Result<()> {
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup(), SignalKind::quit()];
    for kind in kinds {
        let mut caught = signal(kind)?;
        let inputs = inputs.clone();
        tokio::spawn(async move {
            while caught.recv().await.is_some() {
                let input = match kind == SignalKind::interrupt() {
                    true => Input::Interrupt,
                    false => Input::Ending(kind.as_raw_value()),
                };
                if inputs.send(input).await.is_err() {
                    return;
                }
            }
        });
    }
    Ok(())
}
