//! The program that a script is fed to.
//!
//! A script whose first line names `bash`, `sh` or `python3` without options is understood, as is `deno run` with options.
//! Anything else would have to be run by its path. Python is started isolated (`-I`), or it would import modules
//! from the working directory, where the agent writes.

use crate::resource::{command, deno_arguments};
use crate::{Resource, ScriptRuntime};

/// Where the programs of first lines live; one from elsewhere is not the one that would be started.
const PROGRAM_DIRECTORIES: [&str; 4] = ["/bin", "/usr/bin", "/usr/local/bin", ""];

/// The command that takes the script on its standard input, or why there is none.
pub(super) fn argv(resource: &Resource, script: &[u8], args: &[String]) -> Result<Vec<String>, &'static str> {
    let Some(facts) = &resource.script else { return Err("is not a script") };
    let text = std::str::from_utf8(script).map_err(|_| "is not UTF-8 text")?;
    let shebang = facts.shebang.as_deref().unwrap_or_default();
    let mut argv: Vec<String> = match facts.runtime {
        ScriptRuntime::Deno => deno(shebang, text)?,
        ScriptRuntime::Shebang => interpreter(shebang, text)?.iter().map(|word| (*word).to_owned()).collect(),
        ScriptRuntime::Unknown => {
            return Err("does not say which program runs it; start it with a `#!` line");
        }
    };
    argv.extend_from_slice(args);
    Ok(argv)
}

fn deno(shebang: &str, script: &str) -> Result<Vec<String>, &'static str> {
    if imports_relatively(script) {
        return Err("imports a file by a relative path, which scripts on standard input cannot do");
    }
    let flags = deno_arguments(shebang).unwrap_or_default();
    let flags = flags.into_iter().filter(|word| word.starts_with('-') && !matches!(*word, "-" | "--"));
    Ok(["deno", "run"].into_iter().chain(flags).chain(["-"]).map(str::to_owned).collect())
}

fn interpreter(shebang: &str, script: &str) -> Result<&'static [&'static str], &'static str> {
    let words = command(shebang);
    let [program] = words.as_slice() else {
        return Err("needs `#!/usr/bin/env bash`, `sh` or `python3` as its first line, without options");
    };
    let (directory, name) = program.rsplit_once('/').unwrap_or(("", program));
    let is_known = PROGRAM_DIRECTORIES.contains(&directory);
    let relative = "loads a file by a relative path, which scripts on standard input cannot do";
    match name {
        "bash" | "sh" if is_known && sources_relatively(script) => Err(relative),
        "python3" if is_known && imports_from_package(script) => Err(relative),
        "bash" if is_known => Ok(&["bash", "-s", "--"]),
        "sh" if is_known => Ok(&["sh", "-s", "--"]),
        "python3" if is_known => Ok(&["python3", "-I", "-"]),
        _ => Err("is for a program other than `bash`, `sh`, `python3` and `deno run`"),
    }
}

/// Whether some `import` or `export … from` names a path that starts with `.`.
fn imports_relatively(script: &str) -> bool {
    script.match_indices(['"', '\'', '`']).any(|(offset, quote)| {
        let before = script.get(..offset).unwrap_or_default().trim_end();
        let after = script.get(offset + 1..).unwrap_or_default();
        names_import(before) && is_relative_specifier(after, quote)
    })
}

fn names_import(before: &str) -> bool {
    let called = before.strip_suffix('(').map(str::trim_end);
    before.ends_with("from")
        || before.ends_with("import")
        || called.is_some_and(|before| before.ends_with("import"))
}

fn is_relative_specifier(after: &str, quote: &str) -> bool {
    let rest = after.strip_prefix("..").or_else(|| after.strip_prefix('.'));
    rest.is_some_and(|rest| rest.starts_with('/') || rest.starts_with(quote))
}

/// Whether some command is `source` or `.` with a path that is plainly relative.
fn sources_relatively(script: &str) -> bool {
    script.lines().any(|line| {
        let mut is_command = true;
        let mut is_loading = false;
        for word in line.split_whitespace() {
            if word.starts_with('#') {
                return false;
            }
            if is_loading && is_plainly_relative(word) {
                return true;
            }
            is_loading = is_command && matches!(word.trim_start_matches(['(', '{']), "source" | ".");
            is_command = word.ends_with([';', '&', '|', '(', '{'])
                || matches!(
                    word,
                    "then" | "do" | "else" | "elif" | "if" | "while" | "until" | "!" | "builtin" | "command"
                );
        }
        false
    })
}

/// A path that is computed is left to the script; it may well be absolute.
fn is_plainly_relative(word: &str) -> bool {
    let word = word.trim_start_matches(['"', '\'']);
    !word.starts_with(['/', '$', '~', '`', '<', '-'])
}

/// Whether some line imports from the package that the script would be part of.
fn imports_from_package(script: &str) -> bool {
    let rest =
        |line: &'_ str| line.trim_start().strip_prefix("from").map(|rest| rest.trim_start().starts_with('.'));
    script.lines().any(|line| rest(line) == Some(true))
}
