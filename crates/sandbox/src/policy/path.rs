//! Entries of `read` and `write`.

/// Characters that have a meaning in the patterns of other tools.
const PATTERN_CHARACTERS: [char; 6] = ['*', '?', '[', ']', '{', '}'];

/// A file or directory as an entry names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathEntry {
    /// Without `.` and empty components; for an entry relative to the workspace, below it.
    pub(super) components: Vec<String>,
    /// Whether the components start at the root of the machine.
    pub(super) is_absolute: bool,
    /// Whether the entry says that it is a directory.
    pub(super) is_directory: bool,
}

/// Reads an entry; the error says what to write instead.
pub(super) fn parse(entry: &str) -> Result<PathEntry, String> {
    if entry.is_empty() {
        return Err("is empty; write a file, a directory, or `**` for the workspace".to_owned());
    }
    if entry.chars().any(char::is_control) {
        return Err("has a control character".to_owned());
    }
    if entry.starts_with('~') || entry.contains('$') {
        return Err("is not expanded: write the absolute path, or one relative to the workspace".to_owned());
    }
    if entry.starts_with('!') {
        return Err(
            "is an exclusion, and there are none: list what is allowed; a `read` entry below a `write` \
                    entry can only be read"
                .to_owned(),
        );
    }
    let (path, is_directory) = without_everything_below(entry);
    if let Some(at) = path.find(PATTERN_CHARACTERS) {
        return Err(refuse_pattern(path, at));
    }
    let components: Vec<String> = path
        .split('/')
        .filter(|component| !component.is_empty() && *component != ".")
        .map(str::to_owned)
        .collect();
    if components.iter().any(|component| component == "..") {
        return Err("has a `..` component: write the path that it leads to".to_owned());
    }
    let is_absolute = path.starts_with('/');
    if is_absolute && components.is_empty() {
        return Err("is the whole machine: list the directories that are needed".to_owned());
    }
    Ok(PathEntry { components, is_absolute, is_directory: is_directory || path.ends_with('/') })
}

/// Takes `**` or `/**` from the end.
fn without_everything_below(entry: &str) -> (&str, bool) {
    if entry == "**" {
        return (".", true);
    }
    match entry.strip_suffix("/**") {
        Some("") => ("/", true),
        Some(directory) => (directory, true),
        None => (entry, false),
    }
}

fn refuse_pattern(path: &str, at: usize) -> String {
    let fixed = path.get(..at).and_then(|before| before.rsplit_once('/')).map(|(directory, _)| directory);
    let instead = match fixed {
        Some("") => "list the directories that are needed".to_owned(),
        Some(directory) => format!("write `{directory}/**` for all of it, or list the files one by one"),
        None => "write `**` for the whole workspace, or list the files one by one".to_owned(),
    };
    format!("is a pattern, and only whole directories and single files can be granted: {instead}")
}

#[cfg(test)]
mod tests {
    use super::{PathEntry, parse};

    fn entry(components: &[&str], is_absolute: bool, is_directory: bool) -> PathEntry {
        PathEntry {
            components: components.iter().map(|part| (*part).to_owned()).collect(),
            is_absolute,
            is_directory,
        }
    }

    #[test]
    fn directories_and_files_are_read() {
        for (text, expected) in [
            ("**", entry(&[], false, true)),
            (".", entry(&[], false, false)),
            ("./**", entry(&[], false, true)),
            ("src", entry(&["src"], false, false)),
            ("src/", entry(&["src"], false, true)),
            ("./src//deep/**", entry(&["src", "deep"], false, true)),
            ("/opt/tools/**", entry(&["opt", "tools"], true, true)),
            ("/etc/hosts", entry(&["etc", "hosts"], true, false)),
            ("a b.txt", entry(&["a b.txt"], false, false)),
        ] {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused_with_what_to_write() {
        for (text, expected) in [
            ("", "is empty"),
            ("src/*.rs", "write `src/**` for all of it"),
            ("src/*", "write `src/**` for all of it"),
            ("/opt/a?/b", "write `/opt/**` for all of it"),
            ("*", "write `**` for the whole workspace"),
            ("**/*.rs", "write `**` for the whole workspace"),
            ("**/**", "write `**` for the whole workspace"),
            ("src/**/test", "write `src/**` for all of it"),
            ("{a,b}", "is a pattern"),
            ("[id].ts", "is a pattern"),
            ("/*", "list the directories"),
            ("~/x", "is not expanded"),
            ("~", "is not expanded"),
            ("$HOME/x", "is not expanded"),
            ("a/${B}", "is not expanded"),
            ("!secret", "is an exclusion"),
            ("../x", "has a `..` component"),
            ("a/../../x/**", "has a `..` component"),
            ("/", "is the whole machine"),
            ("/**", "is the whole machine"),
            ("//./", "is the whole machine"),
            ("a\0b", "has a control character"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
