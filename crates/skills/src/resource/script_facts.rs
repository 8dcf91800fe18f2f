//! How a script would be run.

use serde::{Deserialize, Serialize};

use crate::ContentKind;

/// How much of a script may hold its first line.
const WINDOW: usize = 512;

/// Which kind of program a script is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScriptRuntime {
    /// `deno run`.
    Deno,
    /// The program that its first line names.
    Shebang,
    /// Not known.
    Unknown,
}

/// What is known about a script without running it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptFacts {
    /// Whether anyone may execute it. Not needed to run it: its text is fed to the program.
    pub executable: bool,
    /// Its first line, if that names a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shebang: Option<String>,
    /// What it is for.
    pub runtime: ScriptRuntime,
}

impl ScriptFacts {
    /// The facts about a file with these properties.
    pub(crate) fn of(path: &str, mode: u32, head: &[u8], kind: ContentKind) -> Self {
        let shebang = (kind == ContentKind::Text).then(|| shebang(head)).flatten();
        let runtime = match &shebang {
            Some(line) if deno_arguments(line).is_some() => ScriptRuntime::Deno,
            Some(_) => ScriptRuntime::Shebang,
            None if is_for_deno(path) => ScriptRuntime::Deno,
            None => ScriptRuntime::Unknown,
        };
        Self { executable: mode & 0o111 != 0, shebang, runtime }
    }
}

fn shebang(head: &[u8]) -> Option<String> {
    let window = head.get(..head.len().min(WINDOW)).unwrap_or_default();
    let line = window.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    line.starts_with("#!").then(|| line.trim_end().to_owned())
}

fn is_for_deno(path: &str) -> bool {
    let extension = path.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    matches!(extension.as_deref(), Some("ts" | "tsx" | "js" | "mjs"))
}

/// The words of a first line: the program and its arguments, `env` and its `-S` left out.
pub(crate) fn command(shebang: &str) -> Vec<&str> {
    let mut words: Vec<&str> = shebang.trim_start_matches("#!").split_whitespace().collect();
    if words.first().is_some_and(|program| base_name(program) == "env") {
        words.remove(0);
        if words.first() == Some(&"-S") {
            words.remove(0);
        }
    }
    words
}

/// What follows `deno run` in a first line that says so.
pub(crate) fn deno_arguments(shebang: &str) -> Option<Vec<&str>> {
    match command(shebang).as_slice() {
        [program, "run", rest @ ..] if base_name(program) == "deno" => Some(rest.to_vec()),
        _ => None,
    }
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
