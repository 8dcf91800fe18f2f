//! What `echo`, `printf` and `cat` print.

use super::script::{Command, Word};
use super::{quoting, wrapper};

/// How often the format of `printf` is used again for more arguments.
const MOST_ROUNDS: usize = 64;

/// What a command prints, when that is its arguments or a here-document.
pub(super) fn text(command: &Command) -> Option<Word> {
    match command.name() {
        "cat" | "tee" if command.operands().next().is_none_or(|_| command.name() == "tee") => {
            command.input.clone()
        }
        "echo" => {
            let is_option = |word: &&Word| matches!(word.text.as_str(), "-e" | "-n" | "-ne" | "-en" | "-E");
            let skip = command.arguments().iter().take_while(is_option).count();
            wrapper::joined(command.arguments().get(skip..)?).map(decoded)
        }
        "printf" => {
            let arguments = command.arguments();
            let skip = usize::from(arguments.first().is_some_and(|word| word.text == "--"));
            let (format, values) = arguments.get(skip..)?.split_first()?;
            Some(formatted(decoded(format.clone()), values))
        }
        _ => None,
    }
}

/// With the escapes that `printf` and `echo -e` know.
fn decoded(mut word: Word) -> Word {
    let mut text = String::new();
    quoting::ansi_c(&word.text, &mut text);
    word.text = text;
    word.literal = word.literal.min(word.text.len());
    word
}

/// `printf` fills in its values, and starts again when there are more.
fn formatted(format: Word, values: &[Word]) -> Word {
    if !format.text.contains('%') {
        return format;
    }
    let mut whole =
        Word { unknown: format.unknown.clone(), inner: format.inner.clone(), ..Word::new(format.span) };
    let mut complete = format.is_complete();
    let mut values = values.iter();
    for round in 0..MOST_ROUNDS {
        if round > 0 && values.len() == 0 {
            break;
        }
        let before = values.len();
        let mut characters = format.text.chars();
        while let Some(character) = characters.next() {
            if character != '%' {
                whole.text.push(character);
                continue;
            }
            let kind = characters.find(|kind| kind.is_ascii_alphabetic() || *kind == '%');
            match (kind, values.as_slice().first()) {
                (Some('%'), _) => whole.text.push('%'),
                (Some(kind), Some(value)) => {
                    values.next();
                    complete &= value.is_complete();
                    whole.inner.extend(&value.inner);
                    whole.unknown.extend(value.unknown.iter().cloned());
                    match kind {
                        'b' => quoting::ansi_c(&value.text, &mut whole.text),
                        _ => whole.text.push_str(&value.text),
                    }
                }
                (Some(_) | None, _) => {}
            }
        }
        if values.len() == before {
            break;
        }
    }
    whole.literal = if complete { whole.text.len() } else { 0 };
    whole
}
