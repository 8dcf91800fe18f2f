//! Text of a runtime, made harmless to show.
//!
//! A terminal acts on escape sequences, a reader is misled by text that runs backwards, and a CI service takes lines such as
//! `::error::` or `##[error]` for commands of the job. What a model or a tool says may hold any of these.

/// `text` in one line that no terminal and no CI service acts on. Showing what was shown changes nothing.
pub fn harmless(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut display = Display { line: true, ..Display::default() };
    display.push(text, &mut shown);
    display.finish(&mut shown);
    shown
}

/// The same for text that comes in pieces and has lines. What a command would be made of may lie in several pieces, so one
/// of these must see all of them.
#[derive(Clone, Debug, Default)]
pub struct Display {
    /// Whether line ends become blanks too.
    line: bool,
    escape: Escape,
    /// How many characters of `%0A` or `%0D` were held back: they may turn out to be a line end.
    percent: u8,
    /// How many of the last characters were the same one of `:` and `#`.
    run: (char, usize),
}

/// Where in an escape sequence the text is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Escape {
    #[default]
    Outside,
    /// After the escape character.
    Begun,
    /// In a control sequence, up to its letter.
    Control,
    /// Before the one character of a charset designator.
    Charset,
    /// In a command to the system, up to its end.
    System,
    /// After an escape character in there.
    SystemEnd,
}

impl Display {
    /// For text of many lines.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds what can be shown of the next piece.
    pub fn push(&mut self, text: &str, shown: &mut String) {
        for character in text.chars() {
            self.unescape(character, shown);
        }
    }

    /// Adds what was held back.
    pub fn finish(&mut self, shown: &mut String) {
        if self.escape == Escape::Begun {
            self.emit(' ', shown);
        }
        self.escape = Escape::Outside;
        self.release(shown);
    }

    /// Leaves escape sequences out. What they were in between comes together, so everything else looks at what is left.
    fn unescape(&mut self, character: char, shown: &mut String) {
        let is_control = character.is_control();
        self.escape = match (self.escape, character) {
            (Escape::Outside, '\u{1b}') => Escape::Begun,
            (Escape::Outside, _) => return self.emit(character, shown),
            (Escape::Begun, '[') => Escape::Control,
            (Escape::Begun, ']') => Escape::System,
            (Escape::Begun, '(' | ')' | '*' | '+' | '-' | '.' | '/') => Escape::Charset,
            (Escape::Begun, _) => return self.outside(Some(' '), character, shown),
            (Escape::Control, ' '..='?') => Escape::Control,
            (Escape::Control, '@'..='~') => Escape::Outside,
            (Escape::Control, _) => return self.outside(None, character, shown),
            (Escape::Charset, _) if is_control => return self.outside(None, character, shown),
            (Escape::Charset, _) => Escape::Outside,
            (Escape::System, '\u{7}') => Escape::Outside,
            (Escape::System, '\u{1b}') => Escape::SystemEnd,
            // A terminal ends it here too; text after it must not be lost.
            (Escape::System, _) if is_control => return self.outside(None, character, shown),
            (Escape::System, _) => Escape::System,
            (Escape::SystemEnd, '\\') => Escape::Outside,
            (Escape::SystemEnd, _) => {
                self.escape = Escape::Begun;
                return self.unescape(character, shown);
            }
        };
    }

    /// A sequence that is none ends; the character counts by itself.
    fn outside(&mut self, stead: Option<char>, character: char, shown: &mut String) {
        self.escape = Escape::Outside;
        if let Some(stead) = stead {
            self.emit(stead, shown);
        }
        self.unescape(character, shown);
    }

    /// Takes a line end that is written as `%0A` for what a CI service takes it for.
    fn emit(&mut self, character: char, shown: &mut String) {
        match (self.percent, character) {
            (0, '%') | (1, '0') => self.percent += 1,
            (2, 'A' | 'a' | 'D' | 'd') => {
                self.percent = 0;
                self.settle(' ', shown);
            }
            (0, other) => self.settle(other, shown),
            _ => {
                self.release(shown);
                self.emit(character, shown);
            }
        }
    }

    fn release(&mut self, shown: &mut String) {
        let held = ["", "%", "%0"].get(usize::from(self.percent)).copied().unwrap_or_default();
        self.percent = 0;
        held.chars().for_each(|character| self.settle(character, shown));
    }

    fn settle(&mut self, character: char, shown: &mut String) {
        let character = match character {
            '\n' if !self.line => '\n',
            hidden if is_command(hidden) => ' ',
            plain => plain,
        };
        let (last, length) = self.run;
        let makes_command = match character {
            ':' => last == ':',
            '[' => last == '#' && length >= 2,
            _ => false,
        };
        if makes_command {
            shown.push(' ');
        }
        shown.push(character);
        let length = if last == character && !makes_command { length.saturating_add(1) } else { 1 };
        self.run = (character, length);
    }
}

/// Whether a terminal acts on it, or shows what follows elsewhere than where it stands.
fn is_command(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{61c}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy as _, prop, prop_assert, prop_assert_eq, proptest};

    use super::{Display, harmless};

    #[test]
    fn nothing_is_left_to_act_on() {
        for (text, shown) in [
            ("Read\n::error::pwned", "Read : :error: :pwned"),
            ("Read%0A::error::pwned", "Read : :error: :pwned"),
            ("a%0d%0a%0Db%0C%", "a   b%0C%"),
            (":::: x :", ": : : : x :"),
            ("a\u{1b}[31;1mred\u{1b}[0m", "ared"),
            (":\u{1b}[0m:set-output name=x:\u{1b}]0;t\u{7}:y", ": :set-output name=x: :y"),
            ("%\u{1b}[m0\u{1b}(BA::x", " : :x"),
            ("a\u{1b}]52;c;aGk=\u{7}b\u{1b}]8;;http://x\u{1b}\\c", "abc"),
            ("a\u{1b}]0;never ends\n::error::x", "a : :error: :x"),
            ("a\u{80}b\u{9f}c\u{7f}d\te\0f\u{9b}31m", "a b c d e f 31m"),
            ("##[error]x ###[group] #[a] ## [b]", "## [error]x ### [group] #[a] ## [b]"),
            ("\u{202e}abc\u{2066}d\u{2028}e", " abc d e"),
            ("\u{1b}", " "),
            ("\u{1b}\u{1b}[0m[0m", " [0m"),
            ("100%, 5%0, naïve 漢字 🎉", "100%, 5%0, naïve 漢字 🎉"),
        ] {
            assert_eq!(harmless(text), shown, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_was_shown_stays(text in hostile()) {
            let once = harmless(&text);
            prop_assert_eq!(&harmless(&once), &once);
            prop_assert!(!once.contains("::") && !once.contains("##[") && !once.to_uppercase().contains("%0A"));
            prop_assert!(!once.chars().any(char::is_control), "{once:?}");
        }

        #[test]
        fn pieces_make_the_same_as_the_whole(pieces in prop::collection::vec(hostile(), 0..8)) {
            let show = |pieces: &[String]| {
                let (mut display, mut shown) = (Display::new(), String::new());
                pieces.iter().for_each(|piece| display.push(piece, &mut shown));
                display.finish(&mut shown);
                shown
            };
            prop_assert_eq!(show(&pieces), show(&[pieces.concat()]));
        }
    }

    /// Text of the characters that matter, and some that do not.
    fn hostile() -> impl proptest::strategy::Strategy<Value = String> {
        let characters = prop::sample::select(
            "::%0AaDd\u{1b}[]()#;m7\\\u{7}\n\r\t\u{9b}\u{85}\u{202e}x é".chars().collect::<Vec<_>>(),
        );
        prop::collection::vec(characters, 0..24).prop_map(String::from_iter)
    }
}
