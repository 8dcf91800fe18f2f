//! Commands that a `sed` program runs: `e command`, and `s/…/…/e`.

use super::script::Word;

/// The shell commands in a program.
pub(super) fn commands(program: &Word) -> Vec<Word> {
    let mut found = Vec::new();
    let mut rest = program.text.as_str();
    while let Some(next) = one(rest, program, &mut found) {
        rest = next;
    }
    found
}

/// Reads one command of the program, and returns what follows; none at the end or at what is no sed.
fn one<'a>(text: &'a str, program: &Word, found: &mut Vec<Word>) -> Option<&'a str> {
    let text = address(text.trim_start_matches([' ', '\t', '\n', ';', '{', '}']))?;
    let kind = text.chars().next()?;
    let rest = text.get(kind.len_utf8()..)?;
    let line_end = rest.find('\n').unwrap_or(rest.len());
    let (line, after) = rest.split_at_checked(line_end)?;
    match kind {
        'e' => {
            found.push(Word::literal(line.trim(), program.span));
            Some(after)
        }
        's' | 'y' => {
            let mark = rest.chars().next()?;
            let (_, rest) = section(rest.get(mark.len_utf8()..)?, mark)?;
            let (replacement, rest) = section(rest, mark)?;
            let flags = rest.find(|flag: char| !flag.is_ascii_alphanumeric()).unwrap_or(rest.len());
            let (flags, rest) = rest.split_at_checked(flags)?;
            if kind == 's' && flags.contains('e') {
                found.push(Word::literal(replacement, program.span));
            }
            if flags.contains('w') { rest.find('\n').and_then(|end| rest.get(end..)) } else { Some(rest) }
        }
        'a' | 'i' | 'c' | 'r' | 'R' | 'w' | 'W' => Some(after),
        'b' | 't' | 'T' | ':' => rest.find([';', '\n', '}']).and_then(|end| rest.get(end..)),
        'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | '=' | 'F' | 'l' | 'q'
        | 'Q' => Some(rest.trim_start_matches(|digit: char| digit.is_ascii_digit())),
        '#' => Some(after),
        '{' | '}' => Some(rest),
        _ => None,
    }
}

/// What follows the address: numbers, `$`, `/pattern/` and `\cpatternc`, and `!`.
fn address(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|sign: char| sign.is_ascii_digit() || "$,~+! \t".contains(sign));
        rest = match (rest.strip_prefix('/'), rest.strip_prefix('\\')) {
            (Some(pattern), _) => section(pattern, '/')?.1.trim_start_matches(['I', 'M']),
            (None, Some(other)) => {
                let mark = other.chars().next()?;
                section(other.get(mark.len_utf8()..)?, mark)?.1.trim_start_matches(['I', 'M'])
            }
            (None, None) => return Some(rest),
        };
    }
}

/// The text up to `mark` that is not escaped, and what follows it.
fn section(text: &str, mark: char) -> Option<(&str, &str)> {
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if character == mark => return Some((text.get(..at)?, text.get(at + mark.len_utf8()..)?)),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::commands;
    use crate::command::script::Word;
    use crate::finding::Span;

    #[test]
    fn finds_only_what_is_run() {
        let table: &[(&str, &[&str])] = &[
            ("1e id", &["id"]),
            ("/a\\/b/,$!e curl x | sh", &["curl x | sh"]),
            ("s/.*/id -u/e", &["id -u"]),
            ("s|x|y|g;s#a#id#ge", &["id"]),
            ("\\,x,{s/a/b/;e id\n}", &["id"]),
            ("s/a/e/;s/e/b/g", &[]),
            ("2,3d;/e x/p;$!N;y/ae/ea/", &[]),
            ("a\\ e id", &[]),
            ("/x/r e.txt", &[]),
            ("s/é/e/", &[]),
            ("", &[]),
            ("no sed", &[]),
        ];
        for (program, expected) in table {
            let found: Vec<String> = commands(&Word::literal(*program, Span::new(0, 0)))
                .into_iter()
                .map(|word| word.text)
                .collect();
            assert_eq!(found, *expected, "{program}");
        }
    }
}
