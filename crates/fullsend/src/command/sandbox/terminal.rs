//! Our terminal, while a command has one of its own.

use std::io::{self, IsTerminal as _};

use fullsend_sandbox::TerminalSize;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// What is assumed where there is no terminal to ask.
const DEFAULT_SIZE: TerminalSize = TerminalSize { rows: 24, columns: 80 };

/// Our terminal passes every key on, Ctrl-C included, until this is dropped.
#[derive(Debug)]
pub(super) struct RawTerminal {
    before: Termios,
}

impl RawTerminal {
    /// None if standard input is no terminal.
    pub(super) fn enter() -> io::Result<Option<Self>> {
        if !io::stdin().is_terminal() {
            return Ok(None);
        }
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        Ok(Some(Self { before }))
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        // Whoever took the terminal away has it in its own state.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

/// The size of our terminal.
pub(super) fn size() -> TerminalSize {
    let size = tcgetwinsize(io::stdout()).or_else(|_| tcgetwinsize(io::stdin()));
    match size {
        Ok(size) if size.ws_row > 0 && size.ws_col > 0 => {
            TerminalSize { rows: size.ws_row, columns: size.ws_col }
        }
        Ok(_) | Err(_) => DEFAULT_SIZE,
    }
}
