//! What is different between the operator's repository and the agent's copy of it, as a patch.
//!
//! Nothing of git's own directory in the copy is used, not even its objects: git works in a new repository that borrows the
//! objects of the operator's, and looks at the files of the copy.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fullsend_runtimes::Cancel;
use thiserror::Error;

use super::git::{GitConfig, SETTINGS, USUAL_FORMAT, ask, isolated};
use crate::script::{self, Program, Script};

/// The largest patch that is kept.
const LARGEST: u64 = 64 << 20;

/// How long one step may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// Why there is no patch.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PatchError {
    /// A step failed.
    #[error("no patch is made: {0}")]
    Git(String),
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
    let Compared { host, base, copy, scratch } = compared;
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
    add_all(copy, &mut env, cancel).await?;
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
async fn add_all(
    tree: &Path,
    env: &mut std::collections::BTreeMap<String, String>,
    cancel: &Cancel,
) -> Result<(), PatchError> {
    env.insert("GIT_WORK_TREE".to_owned(), tree.display().to_string());
    step(tree, env, &["add", "--all", "."], cancel).await.map(drop)
}

async fn step(
    directory: &Path,
    env: &std::collections::BTreeMap<String, String>,
    arguments: &[&str],
    cancel: &Cancel,
) -> Result<String, PatchError> {
    let mut all = SETTINGS.to_vec();
    all.extend_from_slice(arguments);
    let script = Script { program: Program::Command("git", &all), directory, env, timeout: PATIENCE, cancel };
    let failed = |what: String| PatchError::Git(what);
    let ran = script::run(&script, &mut |_, _| {}).await.map_err(|error| failed(error.to_string()))?;
    if ran.succeeded() {
        return Ok(ran.output);
    }
    let said = ran.output.lines().next().unwrap_or_default();
    Err(failed(format!("git failed: {}", fullsend_guard::visible(said))))
}
