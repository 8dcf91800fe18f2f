//! Entries of `exec`.

/// What an entry allows to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Program {
    /// All of the system's.
    All,
    /// One, by name or absolute path.
    One(String),
}

/// Reads an entry; the error says what to write instead.
pub(super) fn parse(entry: &str) -> Result<Program, String> {
    if entry == "**" {
        return Ok(Program::All);
    }
    if entry.is_empty() {
        return Err("is empty; write the name of a program, or `**` for all of the system's".to_owned());
    }
    if entry.chars().any(char::is_control) {
        return Err("has a control character".to_owned());
    }
    if entry.contains(['*', '?', '[', ']', '{', '}']) {
        return Err("is a pattern: list each program, or write `**` for all of the system's".to_owned());
    }
    if entry.starts_with('~') || entry.contains('$') {
        return Err("is not expanded: write the absolute path, or the name alone".to_owned());
    }
    if entry.contains(char::is_whitespace) && !entry.starts_with('/') {
        return Err("has a blank: write the program alone, arguments cannot be limited".to_owned());
    }
    if entry.contains('/') && !entry.starts_with('/') {
        return Err("is a relative path: write the absolute path, or the name alone".to_owned());
    }
    if entry.ends_with('/') || entry.split('/').any(|component| component == "." || component == "..") {
        return Err("is not the path of a program".to_owned());
    }
    Ok(Program::One(entry.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{Program, parse};

    #[test]
    fn programs_are_named_one_by_one_or_all_at_once() {
        assert_eq!(parse("**"), Ok(Program::All));
        assert_eq!(parse("git"), Ok(Program::One("git".to_owned())));
        assert_eq!(parse("/usr/bin/git"), Ok(Program::One("/usr/bin/git".to_owned())));
        for bad in
            ["", "*", "git*", "python3.?", "bin/x", "./x", "git push", "~/x", "$X", "/a/../b", "/bin/", ".."]
        {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
