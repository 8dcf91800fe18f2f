//! Signals that are sent to us while a command runs.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Kill without a chance to object.
pub(super) const KILL: i32 = 9;

/// What a signal wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Received {
    /// An end, by the signal with this number.
    Ending(i32),
    /// The terminal has another size.
    Resized,
}

/// The signals that we hear. From then on none of them ends us by itself.
#[derive(Debug)]
pub(in crate::command) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
    quit: Signal,
    resize: Signal,
}

impl Signals {
    pub(in crate::command) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            quit: signal(SignalKind::quit())?,
            resize: signal(SignalKind::window_change())?,
        })
    }

    /// The next signal. May be dropped without losing one.
    pub(super) async fn next(&mut self) -> Received {
        tokio::select! {
            _ = self.interrupt.recv() => ending(SignalKind::interrupt()),
            _ = self.terminate.recv() => ending(SignalKind::terminate()),
            _ = self.hang_up.recv() => ending(SignalKind::hangup()),
            _ = self.quit.recv() => ending(SignalKind::quit()),
            _ = self.resize.recv() => Received::Resized,
        }
    }

    /// The next signal that wants an end.
    pub(in crate::command) async fn ending(&mut self) -> i32 {
        loop {
            if let Received::Ending(signal) = self.next().await {
                return signal;
            }
        }
    }
}

fn ending(kind: SignalKind) -> Received {
    Received::Ending(kind.as_raw_value())
}
