//! Keys by name: `Enter`, `a`, `Control+Shift+K`.

use serde_json::{Value, json};

/// The longest name of a key.
const LONGEST: usize = 64;

/// Keys without a character: name, code, Windows key code, text.
const NAMED: &[(&str, &str, u32, &str)] = &[
    ("Backspace", "Backspace", 8, ""),
    ("Tab", "Tab", 9, ""),
    ("Enter", "Enter", 13, "\r"),
    ("Escape", "Escape", 27, ""),
    ("Space", "Space", 32, " "),
    ("PageUp", "PageUp", 33, ""),
    ("PageDown", "PageDown", 34, ""),
    ("End", "End", 35, ""),
    ("Home", "Home", 36, ""),
    ("ArrowLeft", "ArrowLeft", 37, ""),
    ("ArrowUp", "ArrowUp", 38, ""),
    ("ArrowRight", "ArrowRight", 39, ""),
    ("ArrowDown", "ArrowDown", 40, ""),
    ("Insert", "Insert", 45, ""),
    ("Delete", "Delete", 46, ""),
    ("F1", "F1", 112, ""),
    ("F2", "F2", 113, ""),
    ("F3", "F3", 114, ""),
    ("F4", "F4", 115, ""),
    ("F5", "F5", 116, ""),
    ("F6", "F6", 117, ""),
    ("F7", "F7", 118, ""),
    ("F8", "F8", 119, ""),
    ("F9", "F9", 120, ""),
    ("F10", "F10", 121, ""),
    ("F11", "F11", 122, ""),
    ("F12", "F12", 123, ""),
];

/// Keys that change others: name and bit.
const MODIFIERS: &[(&str, u32)] =
    &[("Alt", 1), ("Control", 2), ("Ctrl", 2), ("Meta", 4), ("Command", 4), ("Shift", 8)];
/// With one of these held, a key is a command and writes nothing.
const SILENCING: u32 = 1 | 2 | 4;

/// One press of a key, with what is held meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stroke {
    key: String,
    code: String,
    number: u32,
    text: String,
    modifiers: u32,
}

impl Stroke {
    /// Reads the name of a key, with modifiers before it: `[A-Za-z0-9_+.-]+`.
    pub fn parse(name: &str) -> Option<Self> {
        let permitted = |byte: u8| byte.is_ascii_alphanumeric() || b"_+.-".contains(&byte);
        if name.is_empty() || name.len() > LONGEST || !name.bytes().all(permitted) {
            return None;
        }
        // The last character is never a separator: `Control++` holds Control and presses plus.
        let before_last = name.get(..name.len() - 1)?;
        let (held, key) = match before_last.rfind('+') {
            Some(at) => (name.get(..at), name.get(at + 1..)?),
            None => (None, name),
        };
        let mut modifiers = 0;
        for part in held.into_iter().flat_map(|held| held.split('+')) {
            modifiers |= MODIFIERS.iter().find(|(known, _)| *known == part)?.1;
        }
        let mut stroke = Self::named(key).or_else(|| Self::of(single(key)?))?;
        if modifiers & SILENCING != 0 {
            stroke.text.clear();
        }
        Some(Self { modifiers, ..stroke })
    }

    /// The key that writes this character.
    pub(super) fn of(character: char) -> Option<Self> {
        match character {
            '\n' | '\r' => Self::named("Enter"),
            '\t' => Self::named("Tab"),
            ' ' => Self::named("Space"),
            _ => {
                let upper = character.to_ascii_uppercase();
                let code = match upper {
                    'A'..='Z' => format!("Key{upper}"),
                    '0'..='9' => format!("Digit{upper}"),
                    _ => String::new(),
                };
                let number = if code.is_empty() { 0 } else { u32::from(upper) };
                let text = character.to_string();
                (!character.is_control()).then(|| Self {
                    key: text.clone(),
                    code,
                    number,
                    text,
                    modifiers: 0,
                })
            }
        }
    }

    fn named(name: &str) -> Option<Self> {
        let (name, code, number, text) = NAMED.iter().find(|(known, ..)| *known == name)?;
        let key = if *name == "Space" { " " } else { name };
        Some(Self {
            key: key.to_owned(),
            code: (*code).to_owned(),
            number: *number,
            text: (*text).to_owned(),
            modifiers: 0,
        })
    }

    /// The two events of a press: down and up.
    pub(super) fn events(&self) -> [Value; 2] {
        let event = |kind: &str, text: &str| {
            json!({
                "type": kind, "key": self.key, "code": self.code, "text": text, "modifiers": self.modifiers,
                "windowsVirtualKeyCode": self.number, "nativeVirtualKeyCode": self.number,
            })
        };
        let down = if self.text.is_empty() { "rawKeyDown" } else { "keyDown" };
        [event(down, &self.text), event("keyUp", "")]
    }
}

/// The character of a name that is one.
fn single(name: &str) -> Option<char> {
    let mut characters = name.chars();
    characters.next().filter(|_| characters.next().is_none())
}
