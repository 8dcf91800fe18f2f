//! Files that shells read as variables, checked to be nothing else.
//!
//! A shell runs whatever stands in a file that it reads. These files are put together from templates and variables of the
//! host, so each must be a list of plain assignments: a command in one would run before every command of the agent.

use std::iter::Peekable;
use std::str::CharIndices;

use fullsend_harness::expand::is_reserved;
use fullsend_harness::value::EnvName;
use fullsend_yaml::FromText as _;

/// Why a file is no list of variables. Values are in no message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AssignmentError {
    /// A line is something else.
    #[error(
        "line {line} is not `NAME=value` or `export NAME=value`, with the value in quotes if it has spaces"
    )]
    NotAnAssignment {
        /// The line, from 1.
        line: usize,
    },
    /// A value would make the shell do something.
    #[error(
        "line {line}: a shell would run or replace something in the value of `{name}`; put it in single quotes, or write `\\$` and `` \\` ``"
    )]
    Live {
        /// The line, from 1.
        line: usize,
        /// The variable.
        name: String,
    },
    /// A quote is never closed.
    #[error("line {line}: the value of `{name}` has a quote that is never closed")]
    Unclosed {
        /// The line, from 1.
        line: usize,
        /// The variable.
        name: String,
    },
    /// The run sets this one itself, or keeps it out of the sandbox.
    #[error("line {line} sets `{name}`, which only the run sets in the sandbox; remove it")]
    Reserved {
        /// The line, from 1.
        line: usize,
        /// The variable.
        name: String,
    },
}

/// The variables that a shell would have after reading `text`, in order.
pub fn assignments(text: &str) -> Result<Vec<(String, String)>, AssignmentError> {
    let mut reader = Reader { text, letters: text.char_indices().peekable(), line: 1 };
    let mut variables = Vec::new();
    while reader.skip_blank() {
        variables.push(reader.assignment()?);
    }
    Ok(variables)
}

struct Reader<'t> {
    text: &'t str,
    letters: Peekable<CharIndices<'t>>,
    line: usize,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Option<char> {
        let (_, letter) = self.letters.next()?;
        self.line += usize::from(letter == '\n');
        Some(letter)
    }

    fn peek(&mut self) -> Option<char> {
        self.letters.peek().map(|(_, letter)| *letter)
    }

    /// Goes to the next assignment; false at the end of the text.
    fn skip_blank(&mut self) -> bool {
        while let Some(letter) = self.peek() {
            match letter {
                '#' => while self.next().is_some_and(|letter| letter != '\n') {},
                letter if letter.is_ascii_whitespace() => drop(self.next()),
                _ => return true,
            }
        }
        false
    }

    fn word(&mut self) -> &'t str {
        let start = self.letters.peek().map_or(self.text.len(), |(at, _)| *at);
        while self.peek().is_some_and(|letter| letter.is_ascii_alphanumeric() || letter == '_') {
            self.next();
        }
        let end = self.letters.peek().map_or(self.text.len(), |(at, _)| *at);
        self.text.get(start..end).unwrap_or_default()
    }

    fn assignment(&mut self) -> Result<(String, String), AssignmentError> {
        let line = self.line;
        let mut name = self.word();
        if name == "export" && self.peek().is_some_and(|letter| matches!(letter, ' ' | '\t')) {
            while self.peek().is_some_and(|letter| matches!(letter, ' ' | '\t')) {
                self.next();
            }
            name = self.word();
        }
        if self.next() != Some('=') || EnvName::from_text(name).is_err() {
            return Err(AssignmentError::NotAnAssignment { line });
        }
        if is_reserved(name) {
            return Err(AssignmentError::Reserved { line, name: name.to_owned() });
        }
        let value = self.value(name)?;
        if value.contains('\0') {
            return Err(AssignmentError::NotAnAssignment { line });
        }
        // What follows a value on its line would be a command, run with the value as its variable.
        while self.peek().is_some_and(|letter| matches!(letter, ' ' | '\t' | '\r')) {
            self.next();
        }
        match self.peek() {
            None | Some('\n' | '#') => Ok((name.to_owned(), value)),
            Some(_) => Err(AssignmentError::NotAnAssignment { line }),
        }
    }

    fn value(&mut self, name: &str) -> Result<String, AssignmentError> {
        let mut value = String::new();
        loop {
            match self.peek() {
                Some('\'') => self.single_quoted(name, &mut value)?,
                Some('"') => self.double_quoted(name, &mut value)?,
                Some(letter) if is_plain(letter) => {
                    value.push(letter);
                    self.next();
                }
                None | Some(' ' | '\t' | '\r' | '\n') => return Ok(value),
                Some(_) => return Err(AssignmentError::Live { line: self.line, name: name.to_owned() }),
            }
        }
    }

    fn single_quoted(&mut self, name: &str, value: &mut String) -> Result<(), AssignmentError> {
        let line = self.line;
        self.next();
        loop {
            match self.next() {
                Some('\'') => return Ok(()),
                Some(letter) => value.push(letter),
                None => return Err(AssignmentError::Unclosed { line, name: name.to_owned() }),
            }
        }
    }

    fn double_quoted(&mut self, name: &str, value: &mut String) -> Result<(), AssignmentError> {
        let line = self.line;
        self.next();
        loop {
            match self.next() {
                Some('"') => return Ok(()),
                Some('$' | '`') => return Err(AssignmentError::Live { line, name: name.to_owned() }),
                Some('\\') => match self.next() {
                    Some(letter @ ('\\' | '"' | '$' | '`')) => value.push(letter),
                    Some('\n') => {}
                    Some(letter) => value.extend(['\\', letter]),
                    None => return Err(AssignmentError::Unclosed { line, name: name.to_owned() }),
                },
                Some(letter) => value.push(letter),
                None => return Err(AssignmentError::Unclosed { line, name: name.to_owned() }),
            }
        }
    }
}

/// Whether a letter outside quotes is only itself to every shell.
fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "_./:@%+,=-".contains(letter) || !letter.is_ascii()
}
