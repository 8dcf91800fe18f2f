//! Letters and digits that are drawn in a style, and the plain ones they read as.

/// The ASCII letter or digit that a mathematical or enclosed one reads as.
pub(super) fn letter(character: char) -> Option<char> {
    let code = u32::from(character);
    match code {
        // Thirteen Latin alphabets, capitals before small letters.
        0x1d400..=0x1d6a3 => match (code - 0x1d400) % 52 {
            capital @ 0..26 => nth('A', capital),
            small => nth('a', small - 26),
        },
        0x1d6a4 => Some('i'),
        0x1d6a5 => Some('j'),
        0x1d7ce..=0x1d7ff => nth('0', (code - 0x1d7ce) % 10),
        0x249c..=0x24b5 => nth('a', code - 0x249c),
        0x24b6..=0x24cf => nth('A', code - 0x24b6),
        0x24d0..=0x24e9 => nth('a', code - 0x24d0),
        0x1f110..=0x1f129 => nth('A', code - 0x1f110),
        0x1f130..=0x1f149 => nth('A', code - 0x1f130),
        0x1f150..=0x1f169 => nth('A', code - 0x1f150),
        0x1f170..=0x1f189 => nth('A', code - 0x1f170),
        _ => letter_like(character),
    }
}

/// The letter that a letter-like symbol reads as: those that fill the gaps of the mathematical alphabets. They are also
/// symbols in their own right, as in ℝ.
pub(super) fn letter_like(character: char) -> Option<char> {
    Some(match character {
        'ℊ' => 'g',
        'ℋ' | 'ℌ' | 'ℍ' => 'H',
        'ℎ' => 'h',
        'ℐ' | 'ℑ' => 'I',
        'ℒ' => 'L',
        'ℓ' => 'l',
        'ℕ' => 'N',
        'ℙ' => 'P',
        'ℚ' => 'Q',
        'ℛ' | 'ℜ' | 'ℝ' => 'R',
        'ℤ' | 'ℨ' => 'Z',
        'ℬ' => 'B',
        'ℭ' | 'ℂ' => 'C',
        'ℯ' => 'e',
        'ℰ' => 'E',
        'ℱ' => 'F',
        'ℳ' => 'M',
        'ℴ' => 'o',
        _ => return None,
    })
}

/// The ASCII character that a full-width one reads as.
pub(super) fn narrow(character: char) -> Option<char> {
    match character {
        '\u{ff01}'..='\u{ff5e}' => nth('!', u32::from(character) - 0xff01),
        _ => None,
    }
}

/// The letters of a ligature.
pub(super) fn letters(ligature: char) -> &'static str {
    match ligature {
        '\u{fb00}' => "ff",
        '\u{fb01}' => "fi",
        '\u{fb02}' => "fl",
        '\u{fb03}' => "ffi",
        '\u{fb04}' => "ffl",
        '\u{fb05}' | '\u{fb06}' => "st",
        _ => "",
    }
}

fn nth(first: char, distance: u32) -> Option<char> {
    char::from_u32(u32::from(first) + distance)
}
