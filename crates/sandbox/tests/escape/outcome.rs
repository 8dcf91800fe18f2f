//! What came of an attack.

use std::fmt;

use super::attacks::How;

/// What came of an attack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It got through.
    Reached(String),
    /// It was stopped.
    Blocked(String),
    /// This machine has nothing to attack in that way.
    NotHere(String),
    /// It was not made at all: the attack itself is broken, so nothing is shown.
    Broken(String),
}

/// How a process ended, and what it wrote.
#[derive(Clone, Debug)]
pub(crate) struct End {
    /// The exit code, or 128 and the signal.
    pub(crate) code: i32,
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Outcome {
    /// Reads the end of an attack's process.
    pub(crate) fn of(how: How, end: &End) -> Self {
        let said = end.stdout.lines().last().unwrap_or_default();
        let complaint = end.stderr.lines().last().unwrap_or_default();
        if let Some(signal) = end.signal {
            return Self::Blocked(format!("signal {signal}"));
        }
        match (how, end.code) {
            (How::Shell(_), 0) => Self::Reached(said.to_owned()),
            (How::Shell(_), code) if !matches!(code, 124..=127) => Self::Blocked(complaint.to_owned()),
            (How::Probe(_), 0) if said.starts_with("REACHED ") => Self::Reached(said.to_owned()),
            (How::Probe(_), 1) if said.starts_with("BLOCKED ") => Self::Blocked(said.to_owned()),
            (How::Probe(_), 77) if said.starts_with("NA ") => Self::NotHere(said.to_owned()),
            // The shell reports a program that died of a signal by its own exit code.
            (How::Probe(_), code) if code > 128 => Self::Blocked(format!("signal {}", code - 128)),
            (_, code) => Self::Broken(format!("exit {code}: {said} {complaint}")),
        }
    }

    /// One word for tables.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Reached(_) => "REACHED",
            Self::Blocked(_) => "blocked",
            Self::NotHere(_) => "n/a",
            Self::Broken(_) => "BROKEN",
        }
    }

    /// Reads [`Outcome::word`] back; the details are lost.
    pub(crate) fn from_word(word: &str) -> Self {
        match word {
            "REACHED" => Self::Reached(String::new()),
            "blocked" => Self::Blocked(String::new()),
            "n/a" => Self::NotHere(String::new()),
            other => Self::Broken(other.to_owned()),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Reached(text) | Self::Blocked(text) | Self::NotHere(text) | Self::Broken(text)) = self;
        write!(formatter, "{} ({text})", self.word())
    }
}
