//! A repository that starts no programs when git is run in it.
//!
//! Git does what the settings in its own directory say: hooks, file system monitors, filters, transports, pagers. So of that
//! directory only what holds history is copied, by a list of names, and the settings are written anew from those of the host.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path};
use std::time::Duration;

use fullsend_guard::files::Shape;
use fullsend_runtimes::Cancel;

use crate::durable;
use crate::script::{self, Program, Script};

/// What may be copied from git's own directory: files and directories that hold history, and say what is checked out.
const HISTORY: &[&str] = &[
    "HEAD",
    "ORIG_HEAD",
    "FETCH_HEAD",
    "MERGE_HEAD",
    "COMMIT_EDITMSG",
    "MERGE_MSG",
    "index",
    "logs",
    "objects",
    "packed-refs",
    "refs",
    "shallow",
];

/// Places where git would look for objects of other repositories.
const ALTERNATES: &[&str] = &["alternates", "http-alternates"];

/// Variables for git that keep it to the settings it is given here.
const ISOLATED: &[(&str, &str)] = &[
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_PAGER", "cat"),
    ("HOME", "/nonexistent"),
    ("LC_ALL", "C"),
];

/// Settings for every call of git. The operator named the repository, so it may belong to another user, as it does in
/// containers of CI; what is asked of git starts nothing in it.
pub(super) const SETTINGS: [&str; 8] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.autocrlf=false",
    "-c",
    "safe.directory=*",
];

/// The kind of object names that needs no mention.
pub(super) const USUAL_FORMAT: &str = "sha1";

/// How long a question to git may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why something of a repository is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// Every repository has it.
    Usual,
    /// Somebody put it there.
    Odd(&'static str),
}

impl Refused {
    pub(super) fn worth_telling(self) -> Option<&'static str> {
        match self {
            Self::Usual => None,
            Self::Odd(why) => Some(why),
        }
    }
}

/// Whether something at `path` in a repository is left out. File systems that do not tell upper case from lower case take
/// `.GIT` for `.git`, and the copy may end up on one.
pub(super) fn refused(path: &Path, shape: Shape) -> Option<Refused> {
    let mut names = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_string_lossy()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
    });
    let first = names.next()?;
    if first != ".git" {
        let last = names.next_back().unwrap_or(first);
        return is_git(&last).then_some(Refused::Odd("a repository in the repository"));
    }
    let Some(second) = names.next() else {
        return (shape != Shape::Directory).then_some(Refused::Odd("git's directory is somewhere else"));
    };
    if !HISTORY.contains(&second.as_ref()) && !second.starts_with("sharedindex.") {
        return Some(Refused::Usual);
    }
    if !matches!(shape, Shape::File | Shape::Directory) {
        return Some(Refused::Odd("git's directory has files and directories only"));
    }
    let last = names.next_back().unwrap_or(second);
    let elsewhere = path.starts_with(".git/objects/info") && ALTERNATES.contains(&last.as_ref());
    if elsewhere {
        return Some(Refused::Odd("it leads to another repository"));
    }
    (last.starts_with("._")).then_some(Refused::Usual)
}

fn is_git(name: &str) -> bool {
    name.eq_ignore_ascii_case(".git")
}

/// Settings of git that a copy of a repository gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitConfig {
    /// Section, name in it, key and value.
    entries: Vec<(String, Option<String>, String, String)>,
}

impl GitConfig {
    /// What is harmless of the settings of the operator's own repository: where its remotes are, without passwords, what its
    /// branches follow, and the kind of its object names. Nothing where there is no git.
    pub async fn of_host(repo: &Path, path: Option<&str>, cancel: &Cancel) -> Self {
        let arguments = ["config", "--local", "--list", "--null"];
        let listed = ask(repo, path, &arguments, cancel).await;
        let mut entries = Vec::new();
        for entry in listed.as_deref().unwrap_or_default().split('\0') {
            let (name, value) = entry.split_once('\n').unwrap_or((entry, ""));
            entries.extend(harmless(name, value));
        }
        Self { entries }
    }

    /// For a repository with object names of this kind, and nothing else.
    pub(super) fn of_format(format: &str) -> Self {
        let entry = || ("extensions".to_owned(), None, "objectformat".to_owned(), format.to_owned());
        Self { entries: if format == USUAL_FORMAT { Vec::new() } else { vec![entry()] } }
    }

    /// Writes the settings into git's directory, and makes what it must have to be one.
    pub(super) fn write_to(&self, git: &Path) -> io::Result<()> {
        let newer = self.entries.iter().any(|(section, ..)| section == "extensions");
        let mut text = format!(
            "[core]\n\trepositoryformatversion = {}\n\tfilemode = true\n\tbare = false\n",
            u8::from(newer)
        );
        for (section, name, key, value) in &self.entries {
            let name = name.as_deref().map(|name| format!(" {}", quoted(name))).unwrap_or_default();
            text.push_str(&format!("[{section}{name}]\n\t{key} = {}\n", quoted(value)));
        }
        durable::replace(&git.join("config"), text.as_bytes())?;
        for directory in ["objects", "refs"] {
            match durable::create_dir(&git.join(directory)) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }
}

fn harmless(name: &str, value: &str) -> Option<(String, Option<String>, String, String)> {
    let (section, rest) = name.split_once('.')?;
    let (inner, key) = match rest.rsplit_once('.') {
        Some((inner, key)) => (Some(inner), key),
        None => (None, rest),
    };
    let value = match (section, inner.is_some(), key) {
        ("remote", true, "url") => without_password(value)?,
        ("remote", true, "fetch") | ("branch", true, "remote" | "merge") => value.to_owned(),
        ("extensions", false, "objectformat") | ("user", false, "name" | "email") => value.to_owned(),
        _ => return None,
    };
    let printable = |text: &str| !text.chars().any(char::is_control);
    let entry = (section.to_owned(), inner.map(str::to_owned), key.to_owned(), value);
    (printable(name) && printable(&entry.3)).then_some(entry)
}

/// The run directory is kept, and read by more people than the operator's repository. An address that names a program
/// (`ext::…`) is none.
fn without_password(url: &str) -> Option<String> {
    if url.split_once("::").is_some_and(|(scheme, _)| scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()))
    {
        return None;
    }
    let Some((scheme, rest)) = url.split_once("://") else { return Some(url.to_owned()) };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let Some((user, host)) = authority.rsplit_once('@') else { return Some(url.to_owned()) };
    Some(match user.split_once(':') {
        Some(_) => format!("{scheme}://{host}{path}"),
        None if scheme.eq_ignore_ascii_case("ssh") => url.to_owned(),
        None => format!("{scheme}://{host}{path}"),
    })
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// What git answers, run in `directory` without the settings of anybody; `path` is where programs are looked for. None when
/// it cannot be asked or says no.
pub(super) async fn ask(
    directory: &Path,
    path: Option<&str>,
    arguments: &[&str],
    cancel: &Cancel,
) -> Option<String> {
    // Most of what is not a repository can be seen without starting a program.
    if !["HEAD", ".git"].iter().any(|name| directory.join(name).symlink_metadata().is_ok()) {
        return None;
    }
    let mut env = isolated(path);
    // A directory in somebody's repository is not that repository.
    if let Some(above) = directory.parent() {
        env.insert("GIT_CEILING_DIRECTORIES".to_owned(), above.display().to_string());
    }
    let mut all = SETTINGS.to_vec();
    all.extend_from_slice(arguments);
    let program = Program::Command("git", &all);
    let script = Script { program, directory, env: &env, timeout: PATIENCE, cancel };
    let mut answer = String::new();
    let mut hear = |stream, line: &str| {
        if stream == script::Stream::Stdout {
            answer.push_str(line);
            answer.push('\n');
        }
    };
    let ran = script::run(&script, &mut hear).await;
    ran.ok().filter(script::Ran::succeeded).map(|_| answer)
}

/// Variables for git that keep it from everybody's settings.
pub(super) fn isolated(path: Option<&str>) -> BTreeMap<String, String> {
    let mut env: BTreeMap<String, String> =
        ISOLATED.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    env.insert("PATH".to_owned(), path.unwrap_or("/usr/local/bin:/usr/bin:/bin").to_owned());
    env
}

/// Adds settings to the variables of a script that runs git in an extracted repository: a directory in it that looks like a
/// repository is not taken for one.
///
/// Settings that the operator gives git in the same way stay.
pub fn harden_git(env: &mut BTreeMap<String, String>) {
    let count = env.get("GIT_CONFIG_COUNT").and_then(|count| count.parse::<u32>().ok()).unwrap_or(0);
    let Some(next) = count.checked_add(1) else { return };
    env.insert(format!("GIT_CONFIG_KEY_{count}"), "safe.bareRepository".to_owned());
    env.insert(format!("GIT_CONFIG_VALUE_{count}"), "explicit".to_owned());
    env.insert("GIT_CONFIG_COUNT".to_owned(), next.to_string());
}
