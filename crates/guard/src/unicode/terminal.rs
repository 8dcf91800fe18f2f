//! Commands to a terminal in a text.
//!
//! A sequence is recognised as it would read once the invisible characters in it are gone and full-width or styled ones
//! are plain: otherwise taking those out would build the very thing that is to be removed.

use super::class::Class;
use super::styled;

/// A command to a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sequence {
    /// Where it ends in the text.
    pub(super) end: usize,
    /// What kind it is.
    pub(super) kind: Kind,
}

/// What kind of command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Colours, cursor movement and modes.
    Control,
    /// A string for the terminal: titles, clipboard, links, device commands.
    String,
}

/// The sequence that begins with the escape character at `at`; none where there is only the beginning of one.
///
/// No sequence reaches beyond the next escape character, apart from the terminator of a string. So the time for all of
/// them together is linear.
pub(super) fn sequence(text: &str, at: usize) -> Option<Sequence> {
    let mut characters = Significant { rest: text.get(at..)?, at };
    match characters.next()? {
        '\u{9b}' => control(characters),
        '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => string(characters),
        _ => match characters.next()? {
            '[' => control(characters),
            ']' | 'P' | '_' | '^' | 'X' => string(characters),
            '(' | ')' | '*' | '+' | '-' | '.' | '/' | '#' | '%' => match characters.next()? {
                '0'..='~' => Some(Sequence { end: characters.at, kind: Kind::Control }),
                _ => None,
            },
            '7' | '8' | '=' | '>' | '\\' => Some(Sequence { end: characters.at, kind: Kind::Control }),
            _ => None,
        },
    }
}

/// Parameters, intermediate characters and the final one.
fn control(mut characters: Significant<'_>) -> Option<Sequence> {
    let mut parameters = true;
    loop {
        match characters.next()? {
            '0'..='?' if parameters => {}
            ' '..='/' => parameters = false,
            '@'..='~' => return Some(Sequence { end: characters.at, kind: Kind::Control }),
            _ => return None,
        }
    }
}

/// Anything up to BEL or the string terminator.
fn string(mut characters: Significant<'_>) -> Option<Sequence> {
    loop {
        match characters.next()? {
            '\u{7}' | '\u{9c}' => break,
            '\u{1b}' if characters.next()? == '\\' => break,
            '\u{1b}' | '\u{18}' | '\u{1a}' | '\u{90}' | '\u{98}' | '\u{9b}' | '\u{9d}'..='\u{9f}' => {
                return None;
            }
            _ => {}
        }
    }
    Some(Sequence { end: characters.at, kind: Kind::String })
}

/// The characters that a terminal would see, in the form in which it would act on them.
#[derive(Debug)]
struct Significant<'t> {
    rest: &'t str,
    /// Where `rest` starts.
    at: usize,
}

impl Significant<'_> {
    fn next(&mut self) -> Option<char> {
        loop {
            let mut characters = self.rest.chars();
            let character = characters.next()?;
            self.rest = characters.as_str();
            self.at += character.len_utf8();
            // Most text is plain, and needs no table.
            if matches!(character, ' '..='~') {
                return Some(character);
            }
            let acts = matches!(character, '\u{7}' | '\u{18}' | '\u{1a}' | '\u{9c}');
            if acts || !Class::of(character).is_invisible() {
                return Some(
                    styled::narrow(character).or_else(|| styled::letter(character)).unwrap_or(character),
                );
            }
        }
    }
}
