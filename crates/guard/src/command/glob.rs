//! Patterns of the shell for file names.

/// Patterns longer than this match nothing; no path that matters is as long.
const LONGEST: usize = 256;

/// Whether `pattern`, with `*`, `?` and `[…]`, matches all of `text`.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    if pattern.len() > LONGEST {
        return false;
    }
    // Which positions of the text the pattern so far may have reached.
    let letters: Vec<char> = text.chars().collect();
    let mut reached = vec![false; letters.len() + 1];
    if let Some(start) = reached.first_mut() {
        *start = true;
    }
    let mut rest = pattern;
    while let Some(sign) = rest.chars().next() {
        let after = rest.get(sign.len_utf8()..).unwrap_or_default();
        let set = (sign == '[').then(|| after.split_once(']')).flatten().filter(|(set, _)| !set.is_empty());
        let fits = |letter: char| match (sign, set) {
            ('?', _) => letter != '/',
            (_, Some((set, _))) => in_set(set, letter),
            _ => letter == sign,
        };
        let mut next = vec![false; reached.len()];
        let mut open = false;
        for (at, was) in reached.iter().enumerate() {
            if sign == '*' {
                open = (open && at.checked_sub(1).and_then(|at| letters.get(at)) != Some(&'/')) || *was;
                next.get_mut(at).into_iter().for_each(|slot| *slot = open);
            } else if *was && letters.get(at).is_some_and(|letter| fits(*letter)) {
                next.get_mut(at + 1).into_iter().for_each(|slot| *slot = true);
            }
        }
        reached = next;
        rest = set.map_or(after, |(_, rest)| rest);
    }
    reached.last() == Some(&true)
}

/// Whether the letter is in `a-z`, `abc`, or not in `!abc`.
fn in_set(set: &str, letter: char) -> bool {
    let (negated, set) = set.strip_prefix(['!', '^']).map_or((false, set), |set| (true, set));
    let signs: Vec<char> = set.chars().collect();
    let listed = signs.contains(&letter)
        || signs.windows(3).any(|range| matches!(range, [from, '-', to] if (*from..=*to).contains(&letter)));
    listed != negated
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn matches_like_a_shell() {
        for (pattern, text) in [
            ("/e?c/sha*", "/etc/shadow"),
            ("c[a-z]t", "cat"),
            ("[!x]at", "cat"),
            ("*", ""),
            ("a*b*c", "a1b2c"),
            ("[", "["),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("/etc/*", "/etc/x/y"), ("c?t", "ct"), ("[!c]at", "cat"), ("a*", "b"), ("?", "/")]
        {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }
}
