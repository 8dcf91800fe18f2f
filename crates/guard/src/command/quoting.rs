//! Quotes and escapes of the shell.

/// An unquoted word: a backslash takes the meaning from what follows, and joins lines.
pub(super) fn unquoted(text: &str, into: &mut String) {
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            into.push(character);
            continue;
        }
        match characters.next() {
            Some('\n') | None => {}
            Some(escaped) => into.push(escaped),
        }
    }
}

/// Text between double quotes: a backslash is only special before what would be special there.
pub(super) fn double_quoted(text: &str, into: &mut String) {
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character != '\\' {
            into.push(character);
            continue;
        }
        match characters.peek() {
            Some('\n') => {
                characters.next();
            }
            Some(&special @ ('"' | '\\' | '$' | '`')) => {
                into.push(special);
                characters.next();
            }
            Some(_) | None => into.push('\\'),
        }
    }
}

/// The inside of `$'…'`, and of the strings that `printf` and `echo -e` take.
pub(super) fn ansi_c(text: &str, into: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        into.push_str(rest.get(..at).unwrap_or_default());
        let escape = rest.get(at + 1..).unwrap_or_default();
        rest = match escape.chars().next() {
            None => {
                into.push('\\');
                ""
            }
            Some(kind) => escape.get(kind.len_utf8()..).map_or("", |tail| one_escape(kind, tail, into)),
        };
    }
    into.push_str(rest);
}

/// Writes what the escape of this kind stands for, and returns what follows it.
fn one_escape<'a>(kind: char, tail: &'a str, into: &mut String) -> &'a str {
    let simple = match kind {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'a' => '\u{7}',
        'b' => '\u{8}',
        'e' | 'E' => '\u{1b}',
        'f' => '\u{c}',
        'v' => '\u{b}',
        'x' => return numeric(tail, 2, 16, into),
        'u' => return numeric(tail, 4, 16, into),
        'U' => return numeric(tail, 8, 16, into),
        '0' => return numeric(tail, 3, 8, into),
        '1'..='7' => {
            let mut digits = String::from(kind);
            let more = tail.chars().take(2).take_while(|digit| digit.is_digit(8));
            digits.extend(more);
            let _rest = numeric(&digits, 3, 8, into);
            return tail.get(digits.len() - 1..).unwrap_or_default();
        }
        other => other,
    };
    into.push(simple);
    tail
}

/// Reads up to `most` digits as the number of a character.
fn numeric<'a>(text: &'a str, most: usize, radix: u32, into: &mut String) -> &'a str {
    let length = text.chars().take(most).take_while(|digit| digit.is_digit(radix)).count();
    let (digits, rest) = text.split_at_checked(length).unwrap_or((text, ""));
    match u32::from_str_radix(digits, radix) {
        Ok(0) => {}
        Ok(number) => into.extend(char::from_u32(number)),
        Err(_) if radix == 16 => into.push('\\'),
        Err(_) => {}
    }
    rest
}

/// Words between blanks, with quotes of either kind, as `env -S` reads them.
pub(super) fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, blank) if blank.is_whitespace() => words.extend(word.take()),
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(characters.next()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

/// The words that brace lists such as `a{b,c}` make; none when the text has no plain list, or too many.
pub(super) fn braces(text: &str) -> Option<Vec<String>> {
    const MOST: usize = 32;
    let mut words = vec![text.to_owned()];
    let mut changed = false;
    for _ in 0..MOST {
        let Some((at, (before, list, after))) =
            words.iter().enumerate().find_map(|(at, word)| Some((at, innermost_list(word)?)))
        else {
            break;
        };
        let made: Vec<String> = list.split(',').map(|item| format!("{before}{item}{after}")).collect();
        if words.len() + made.len() > MOST {
            return None;
        }
        changed = true;
        words.splice(at..=at, made);
    }
    changed.then_some(words)
}

/// The first list that has no other inside.
fn innermost_list(word: &str) -> Option<(&str, &str, &str)> {
    let mut open = None;
    for (at, character) in word.char_indices() {
        match character {
            '{' => open = Some(at),
            '}' => {
                if let Some(start) = open.take()
                    && let Some(list) = word.get(start + 1..at)
                    && list.contains(',')
                {
                    return Some((word.get(..start)?, list, word.get(at + 1..)?));
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{ansi_c, braces, double_quoted, split, unquoted};

    fn with(read: impl Fn(&str, &mut String), text: &str) -> String {
        let mut into = String::new();
        read(text, &mut into);
        into
    }

    #[test]
    fn removes_escapes() {
        assert_eq!(with(unquoted, "c\\url\\ x\\\n!"), "curl x!");
        assert_eq!(with(double_quoted, "a\\\"b\\$c\\d\\\ne"), "a\"b$c\\de");
        assert_eq!(with(ansi_c, "\\x63\\165rl\\t\\u0041\\'\\xg\\"), "curl\tA'\\g\\");
    }

    #[test]
    fn splits_at_blanks_outside_of_quotes() {
        assert_eq!(split("a  'b c'\"d\\\"\" ''"), ["a", "b cd\"", ""]);
        assert_eq!(split(" "), [""; 0]);
    }

    #[test]
    fn expands_brace_lists() {
        assert_eq!(braces("/{bin,usr}/x"), Some(vec!["/bin/x".to_owned(), "/usr/x".to_owned()]));
        assert_eq!(braces("{curl,-s}{,}").map(|words| words.len()), Some(4));
        assert_eq!(braces("{}"), None);
        assert_eq!(braces("a{1..3}"), None);
    }
}
