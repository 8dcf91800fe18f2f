//! Writes the table of look-alikes that `fold` reads: every character that a person takes for printable ASCII, or does not
//! see at all. Made at build time, because normalising a million characters has no place in the start of a process.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;
use unicode_security::skeleton;

/// Characters whose prototype in UTS 39 is not what a person reads, or which have none.
const OVERRIDES: &[(char, &str)] = &[
    ('\u{85}', "\n"),
    ('\u{2028}', "\n"),
    ('\u{2029}', "\n"),
    ('\u{2800}', " "),
    ('“', "\""),
    ('”', "\""),
    ('„', "\""),
    ('‟', "\""),
    ('«', "\""),
    ('»', "\""),
    ('‘', "'"),
    ('’', "'"),
    ('‚', "'"),
    ('‛', "'"),
    ('—', "-"),
    ('―', "-"),
    ('ı', "i"),
    ('ɩ', "i"),
    ('ι', "i"),
    ('ӏ', "l"),
    ('ᴀ', "a"),
    ('ʙ', "b"),
    ('ᴄ', "c"),
    ('ᴅ', "d"),
    ('ᴇ', "e"),
    ('ꜰ', "f"),
    ('ɢ', "g"),
    ('ʜ', "h"),
    ('ɪ', "i"),
    ('ᴊ', "j"),
    ('ᴋ', "k"),
    ('ʟ', "l"),
    ('ᴍ', "m"),
    ('ɴ', "n"),
    ('ᴏ', "o"),
    ('ᴘ', "p"),
    ('ʀ', "r"),
    ('ꜱ', "s"),
    ('ᴛ', "t"),
    ('ᴜ', "u"),
    ('ᴠ', "v"),
    ('ᴡ', "w"),
    ('ʏ', "y"),
    ('ᴢ', "z"),
    ('α', "a"),
    ('ε', "e"),
    ('н', "h"),
    ('к', "k"),
    ('т', "t"),
    ('м', "m"),
];

/// The first letters of runs of 26 that stand for A to Z and have no compatibility mapping: negative circled, negative
/// squared and regional-indicator letters.
const ALPHABETS: &[u32] = &[0x1f150, 0x1f170, 0x1f1e6];

/// The longest replacement that is kept; longer ones are abbreviations of words, never look-alikes.
const LONGEST: usize = 8;

fn main() -> io::Result<()> {
    let out = env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    fs::write(Path::new(&out).join("fold_table.rs"), table())?;
    Ok(())
}

/// The table as Rust source: entries in order, and for each page of 256 characters where its entries start.
fn table() -> String {
    let (mut entries, mut starts, mut count, mut page) = (String::new(), String::new(), 0_usize, 0_u32);
    for code in 0_u32..0x11_0000 {
        if code >> 8 == page {
            let _infallible = write!(starts, "{count},");
            page += 1;
        }
        let Some(ascii) = char::from_u32(code).filter(|character| !character.is_ascii()).and_then(folded)
        else {
            continue;
        };
        if ascii.len() <= LONGEST {
            let mut bytes = [0_u8; LONGEST];
            bytes.iter_mut().zip(ascii.bytes()).for_each(|(slot, byte)| *slot = byte);
            let _infallible = write!(entries, "({code},{bytes:?}),");
            count += 1;
        }
    }
    format!(
        "/// Characters in order, and the ASCII they fold to, filled up with zeros.\n\
         static ENTRIES: &[(u32, [u8; {LONGEST}])] = &[{entries}];\n\
         /// How many entries lie before each page of 256 characters.\n\
         static PAGES: &[u16] = &[{starts}{count}];\n"
    )
}

/// What the character folds to: ASCII, empty for what is not seen, nothing for what stays as it is.
fn folded(character: char) -> Option<String> {
    if let Some((_, ascii)) = OVERRIDES.iter().find(|(known, _)| *known == character) {
        return Some((*ascii).to_owned());
    }
    if let Some(letter) = lettered(character) {
        return Some(letter.to_string());
    }
    if is_unseen(character) {
        return Some(String::new());
    }
    if character.is_whitespace() {
        return Some(" ".to_owned());
    }
    let mut ascii = String::new();
    for part in std::iter::once(character).nfkd().filter(|part| !is_combining_mark(*part)) {
        if let Some((_, known)) = OVERRIDES.iter().find(|(known, _)| *known == part) {
            ascii.push_str(known);
        } else if part.is_ascii() {
            ascii.push(part);
        } else {
            ascii.push_str(&read_as(part)?);
        }
    }
    let printable = |text: &String| !text.is_empty() && text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    Some(ascii).filter(printable)
}

/// The letter of one of the alphabets without compatibility mapping.
fn lettered(character: char) -> Option<char> {
    let first = ALPHABETS.iter().find(|first| (**first..**first + 26).contains(&u32::from(character)))?;
    char::from_u32(u32::from('A') + u32::from(character) - first)
}

/// Whether the character leaves no mark of its own: ignorable, combining, or a control.
fn is_unseen(character: char) -> bool {
    let filler = matches!(character, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}');
    let format = matches!(
        character,
        '\u{ad}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    );
    // Without its voicing mark a kana is another one; what is composed of both is put together later.
    let voicing = matches!(character, '\u{3099}' | '\u{309a}');
    filler || format || character.is_control() || (is_combining_mark(character) && !voicing)
}

/// The prototype of UTS 39, corrected where it follows the shape of a letter and not its reading: that standard takes
/// `I` for `l`, `0` for `O` and `m` for `rn`, which only serves to compare two skeletons.
fn read_as(character: char) -> Option<String> {
    let text = character.to_string();
    let prototype: String = skeleton(&text).filter(|part| !is_combining_mark(*part)).collect();
    if !prototype.is_ascii() {
        return None;
    }
    let upper = character.is_uppercase();
    Some(match prototype.as_str() {
        "l" if upper => "I".to_owned(),
        "O" if character.is_lowercase() => "o".to_owned(),
        "rn" => if upper { "M" } else { "m" }.to_owned(),
        other => other.to_owned(),
    })
}
