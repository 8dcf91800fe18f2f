//! What is different between the operator's repository and the agent's copy of it, as a patch.
//!
//! Nothing of git's own directory in the copy is used, not even its objects: git works in a new repository that borrows the
//! objects of the operator's, and looks at the files of the copy.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fullsend_runtimes::Cancel;
use thiserror::Error;

use super::git::{GitConfig, SETTINGS, USUAL_FORMAT, ask, isolated};
use crate::script::{self, Program, Script, ScriptError};

/// The largest patch that is kept.
const LARGEST: u64 = 64 << 20;

/// How many files of the base may have a link in their place that was left out. Git compares each of them with each file.
const MOST_KEPT: usize = 10_000;

/// How long one step may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// Why there is no patch.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PatchError {
    /// A step failed.
    #[error("no patch is made: {0}")]
    Git(String),
    /// There is no git.
    #[error("no patch is made: git was not found; it must be in a directory of `PATH` for a patch")]
    NoGit,
    /// More was replaced by links than can be told apart from what was removed.
    #[error(
        "no patch is made: more than {MOST_KEPT} files are links now that do not lead to something in the same tree"
    )]
    TooManyLinks,
    /// It would be larger than allowed.
    #[error("no patch is made: it would have more than {LARGEST} bytes")]
    TooLarge,
    /// The file system.
    #[error("no patch is made")]
    Io(#[from] io::Error),
}

/// What a patch begins at: the last commit of a repository, or its files where it has none.
///
/// Taken once, when the agent gets its copy: what the operator commits meanwhile is no change of the agent's.
#[derive(Clone, Debug)]
pub struct Base(Option<History>);

/// The last commit of a repository, and where its objects are.
#[derive(Clone, Debug)]
struct History {
    commit: String,
    objects: PathBuf,
    format: String,
}

impl Base {
    /// That of `host`; `path` is where programs are looked for.
    pub async fn of_host(host: &Path, path: Option<&str>, cancel: &Cancel) -> Self {
        let asked = ["rev-parse", "--show-object-format", "--git-path", "objects", "HEAD^{commit}"];
        let answer = ask(host, path, &asked, cancel).await;
        Self(answer.and_then(|answer| {
            let mut lines = answer.lines().map(str::to_owned);
            let (format, objects, commit) = (lines.next()?, lines.next()?, lines.next()?);
            Some(History { commit, objects: host.canonicalize().ok()?.join(objects), format })
        }))
    }
}

/// What is compared, and where.
#[derive(Clone, Copy, Debug)]
pub struct Compared<'a> {
    /// The operator's repository.
    pub host: &'a Path,
    /// What it was when the agent got its copy.
    pub base: &'a Base,
    /// The agent's copy of it.
    pub copy: &'a Path,
    /// Links of the agent's that are not in the copy, relative to it. Where they are, the patch changes nothing: that the
    /// copy lacks them is not the agent's doing.
    pub left_out_links: &'a [PathBuf],
    /// A directory of the run's own, in which a temporary one is made: what a killed run leaves there is found again.
    pub scratch: &'a Path,
}

/// Writes to `patch` what leads from the base of the operator's repository to the files of the copy; files that are ignored are
/// left out. `path` is where programs are looked for.
pub async fn changes(
    compared: Compared<'_>,
    patch: &Path,
    path: Option<&str>,
    cancel: &Cancel,
) -> Result<(), PatchError> {
    let Compared { host, base, copy, left_out_links, scratch } = compared;
    let scratch = tempfile::Builder::new().prefix("patch-").tempdir_in(scratch)?;
    let git = scratch.path().join("git");
    let history = base.0.as_ref();
    empty_repository(&git, history.map_or(USUAL_FORMAT, |history| &history.format))?;
    let mut env = isolated(path);
    env.insert("GIT_DIR".to_owned(), git.display().to_string());
    let base = match history {
        Some(history) => {
            // A colon separates several directories, and quotes keep it from doing so.
            let objects = history.objects.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
            env.insert("GIT_ALTERNATE_OBJECT_DIRECTORIES".to_owned(), format!("\"{objects}\""));
            step(copy, &env, &["read-tree", &history.commit], cancel).await?;
            history.commit.clone()
        }
        None => {
            add_all(host, &mut env, cancel).await?;
            let tree = step(host, &env, &["write-tree"], cancel).await?;
            // Warnings may come before it.
            tree.lines().last().unwrap_or_default().trim().to_owned()
        }
    };
    if left_out_links.is_empty() {
        add_all(copy, &mut env, cancel).await?;
    } else {
        add_all_but(left_out_links, copy, scratch.path(), &mut env, cancel).await?;
    }
    let unfinished = scratch.path().join("patch");
    let to = format!("--output={}", unfinished.display());
    let diff = ["diff", "--cached", "--binary", "--no-ext-diff", "--no-textconv", "--no-color", &to, &base];
    step(copy, &env, &diff, cancel).await?;
    let bytes = crate::durable::read(&unfinished, LARGEST)?.ok_or(PatchError::TooLarge)?;
    Ok(crate::durable::write(patch, &bytes)?)
}

/// Makes a repository in which nothing is. By hand: git has a process for it, and this is all that it does.
fn empty_repository(git: &Path, format: &str) -> io::Result<()> {
    crate::durable::create_dir(git)?;
    GitConfig::of_format(format).write_to(git)?;
    fs::write(git.join("HEAD"), "ref: refs/heads/none\n")
}

/// Makes the index hold the files of a directory.
async fn add_all(tree: &Path, env: &mut BTreeMap<String, String>, cancel: &Cancel) -> Result<(), PatchError> {
    env.insert("GIT_WORK_TREE".to_owned(), tree.display().to_string());
    step(tree, env, &["add", "--all", "."], cancel).await.map(drop)
}

/// Makes the index hold the files of a directory, and what it held before where `links` are missing.
async fn add_all_but(
    links: &[PathBuf],
    tree: &Path,
    scratch: &Path,
    env: &mut BTreeMap<String, String>,
    cancel: &Cancel,
) -> Result<(), PatchError> {
    env.insert("GIT_WORK_TREE".to_owned(), tree.display().to_string());
    let list = scratch.join("missing");
    let to = format!("--output={}", list.display());
    // The agent can make links without end; only those matter that have taken the place of something.
    let missing = ["diff-files", "--name-only", "--diff-filter=D", "--no-ext-diff", "-z", &to];
    step(tree, env, &missing, cancel).await?;
    let missing = crate::durable::read(&list, LARGEST)?.ok_or(PatchError::TooLarge)?;
    let links: HashSet<&Path> = links.iter().map(PathBuf::as_path).collect();
    let (mut wanted, mut kept) = (b".\0".to_vec(), 0);
    for name in missing.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        // A link can have taken the place of a directory too.
        if Path::new(OsStr::from_bytes(name)).ancestors().any(|path| links.contains(path)) {
            wanted.extend_from_slice(b":(exclude,literal)");
            wanted.extend_from_slice(name);
            wanted.push(0);
            kept += 1;
        }
    }
    if kept > MOST_KEPT {
        return Err(PatchError::TooManyLinks);
    }
    let list = scratch.join("wanted");
    fs::write(&list, wanted)?;
    let from = format!("--pathspec-from-file={}", list.display());
    step(tree, env, &["add", "--all", &from, "--pathspec-file-nul"], cancel).await.map(drop)
}

async fn step(
    directory: &Path,
    env: &BTreeMap<String, String>,
    arguments: &[&str],
    cancel: &Cancel,
) -> Result<String, PatchError> {
    let mut all = SETTINGS.to_vec();
    all.extend_from_slice(arguments);
    let script = Script { program: Program::Command("git", &all), directory, env, timeout: PATIENCE, cancel };
    let failed = |what: String| PatchError::Git(what);
    let ran = script::run(&script, &mut |_, _| {}).await.map_err(|error| match error {
        // A directory that is gone is not found either.
        ScriptError::Start { source, .. }
            if source.kind() == io::ErrorKind::NotFound && directory.is_dir() =>
        {
            PatchError::NoGit
        }
        ScriptError::Start { source, .. } => failed(format!("cannot run git: {source}")),
        error @ (ScriptError::NotAFile(_) | ScriptError::Wait { .. }) => failed(error.to_string()),
    })?;
    if ran.succeeded() {
        return Ok(ran.output);
    }
    let said = ran.output.lines().next().unwrap_or_default();
    Err(failed(format!("git failed: {}", fullsend_guard::visible(said))))
}
