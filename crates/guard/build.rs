//! Writes the table of look-alikes that `fold` reads: every character that a person takes for printable ASCII, or does not
//! see at all. Made at build time, because normalising a million characters has no place in the start of a process. And
//! writes which characters are letters and marks, for `unicode`, and what the characters of a host name look like, for `url`.

use std::path::Path;
use std::{env, fs, io};

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory as _};
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

/// In the table: a character that disappears.
const GONE: usize = 0x200;
/// In the table: a character that becomes the ASCII character in the lower bits.
const SINGLE: usize = 0x100;
/// In the table: a character that becomes the text with the number in the lower bits.
const LONGER: usize = 0x8000;

fn main() -> io::Result<()> {
    let out = env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    fs::write(Path::new(&out).join("fold_table.rs"), table())?;
    fs::write(Path::new(&out).join("kind_table.rs"), kinds())?;
    fs::write(Path::new(&out).join("look_table.rs"), looks())?;
    Ok(())
}

/// The table as Rust source. Two steps lead to what becomes of a character: its page of 256 characters, and its place there.
/// Many pages are alike, and are kept once.
fn table() -> String {
    let mut longer: Vec<String> = Vec::new();
    let mut pages = Pages::default();
    for page in 0_u32..0x1100 {
        let place = |low: u32| {
            let ascii =
                char::from_u32(page << 8 | low).filter(|character| !character.is_ascii()).and_then(folded);
            let Some(ascii) = ascii.filter(|ascii| ascii.len() <= LONGEST) else { return 0 };
            match ascii.as_bytes() {
                [] => GONE,
                [byte] => SINGLE | usize::from(*byte),
                _ => {
                    let known = longer.iter().position(|known| *known == ascii);
                    LONGER
                        | known.unwrap_or_else(|| {
                            longer.push(ascii);
                            longer.len() - 1
                        })
                }
            }
        };
        pages.push((0..256).map(place).collect());
    }
    let narrow = narrow();
    format!(
        "/// Flags what folds to one ASCII character, which is the rest of the number.\n\
         const SINGLE: u16 = {SINGLE};\n\
         /// Flags what folds to several, which are listed at the rest of the number.\n\
         const LONGER: u16 = {LONGER};\n\
         /// Where several ASCII characters take the place of one.\n\
         static REPLACEMENTS: &[&str] = &{longer:?};\n\
         /// For each page of 256 characters, which of the tables tells about it.\n\
         static PAGES: [u8; 0x1100] = {:?};\n\
         /// For each character of a page what becomes of it: zero for what stays, {GONE} for what disappears.\n\
         static PLACES: &[[u16; 256]] = &{:?};\n\
         /// For each character of two bytes what it folds to: up to three bytes, and in the highest byte how many.\n\
         static NARROW: [u32; 0x800] = {narrow:?};\n",
        pages.numbers, pages.different,
    )
}

/// What the characters of two bytes fold to. In many scripts they are most of the text, so that nothing is left to decide
/// for them: each has its bytes and how many they are.
fn narrow() -> Vec<u32> {
    let entry = |character: char| {
        let kept = || character.to_string();
        let text = if character.is_ascii() { kept() } else { folded(character).unwrap_or_else(kept) };
        let text = if text.len() <= LONGEST { text } else { kept() };
        assert!(text.len() <= 3, "{character} folds to {text}, for which the table has no room");
        let bytes = text.bytes().rev().fold(0, |bytes, byte| bytes << 8 | u32::from(byte));
        bytes | (text.len() as u32) << 24
    };
    ('\0'..'\u{800}').map(entry).collect()
}

/// The ASCII skeletons of characters as Rust source: the characters in order, and the text for each. Two flat tables, because
/// the loader has to visit every reference in a table whenever the program starts.
fn looks() -> String {
    let ascii = |character: &char| {
        let look: String = skeleton(character.encode_utf8(&mut [0; 4])).collect();
        (!character.is_ascii() && look.is_ascii()).then_some((*character, look))
    };
    let looks: Vec<(char, String)> = ('\0'..=char::MAX).filter_map(|character| ascii(&character)).collect();
    let mut text = String::new();
    let mut places = Vec::with_capacity(looks.len());
    for (character, look) in &looks {
        let start = text.find(look).unwrap_or_else(|| {
            text.push_str(look);
            text.len() - look.len()
        });
        places.push((*character, start, look.len()));
    }
    format!(
        "/// Characters that look like ASCII, in order, and where in the text it stands: start and length.\n\
         static LOOKS: [(char, u16, u8); {}] = {places:?};\n\
         /// What they look like.\n\
         static LOOK_TEXT: &str = {text:?};\n",
        places.len(),
    )
}

/// Pages of 256 characters, each kept once.
#[derive(Default)]
struct Pages<T> {
    numbers: Vec<usize>,
    different: Vec<Vec<T>>,
}

impl<T: PartialEq> Pages<T> {
    fn push(&mut self, page: Vec<T>) {
        let known = self.different.iter().position(|known| *known == page);
        self.numbers.push(known.unwrap_or(self.different.len()));
        if known.is_none() {
            self.different.push(page);
        }
    }
}

/// Letters and marks as Rust source: one bit for each character, in pages of 256. Tables by range take longer to search
/// than a text takes to read.
fn kinds() -> String {
    let bits = |name: &str, belongs: fn(GeneralCategoryGroup) -> bool| {
        let mut pages = Pages::default();
        for page in 0_u32..0x1100 {
            let word = |word: u32| {
                (0..64_u32)
                    .filter(|bit| {
                        let character = char::from_u32(page << 8 | word << 6 | bit);
                        character.is_some_and(|character| belongs(character.general_category_group()))
                    })
                    .fold(0_u64, |bits, bit| bits | 1 << bit)
            };
            pages.push((0..4).map(word).collect());
        }
        format!(
            "/// For each page of 256 characters, which of the tables tells about it.\n\
             static {name}_PAGES: [u8; 0x1100] = {:?};\n\
             /// One bit for each character of a page.\n\
             static {name}_BITS: &[[u64; 4]] = &{:?};\n",
            pages.numbers, pages.different
        )
    };
    bits("MARK", |group| group == GeneralCategoryGroup::Mark)
        + &bits("LETTER", |group| group == GeneralCategoryGroup::Letter)
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
