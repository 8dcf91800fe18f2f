//! What is different between the operator's repository and the agent's copy of it, as a patch.
//!
//! Nothing of git's own directory in the copy is used, not even its objects: git works in a new repository that borrows the
//! objects of the operator's, and looks at the files of the copy.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fullsend_runtimes::Cancel;
use thiserror::Error;

use super::git::{SETTINGS, ask, isolated};
use crate::script::{self, Program, Script};

/// The largest patch that is kept.
const LARGEST: u64 = 64 << 20;

/// How long one step may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// Why there is no patch.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PatchError {
    /// The target is no repository, or has no commits, or there is no git.
    #[error("no patch is made: the target has no commit that git can show")]
    NoBase,
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

/// Writes to `patch` what leads from the last commit of `host` to the files in `copy`; files that are ignored are left out.
/// `path` is where programs are looked for.
pub async fn changes(
    host: &Path,
    copy: &Path,
    patch: &Path,
    path: Option<&str>,
    cancel: &Cancel,
) -> Result<(), PatchError> {
    let asked = ["rev-parse", "--show-object-format", "--git-path", "objects", "HEAD^{commit}"];
    let answer = ask(host, path, &asked, cancel).await.ok_or(PatchError::NoBase)?;
    let mut lines = answer.lines();
    let (Some(format), Some(objects), Some(base)) = (lines.next(), lines.next(), lines.next()) else {
        return Err(PatchError::NoBase);
    };
    let scratch = tempfile::Builder::new().prefix("fullsend-patch-").tempdir()?;
    let git = scratch.path().join("git");
    let mut env = isolated(path);
    let format = format!("--object-format={format}");
    let directory = git.display().to_string();
    step(copy, &env, &["init", "--quiet", "--bare", "--template=", &format, &directory], cancel).await?;
    let objects: PathBuf = host.canonicalize()?.join(objects);
    // A colon separates several directories, and quotes keep it from doing so.
    let objects = objects.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
    env.insert("GIT_ALTERNATE_OBJECT_DIRECTORIES".to_owned(), format!("\"{objects}\""));
    env.insert("GIT_DIR".to_owned(), directory);
    env.insert("GIT_WORK_TREE".to_owned(), copy.display().to_string());
    step(copy, &env, &["-c", "core.bare=false", "read-tree", base], cancel).await?;
    step(copy, &env, &["-c", "core.bare=false", "add", "--all", "."], cancel).await?;
    let unfinished = scratch.path().join("patch");
    let to = format!("--output={}", unfinished.display());
    let diff = ["diff", "--cached", "--binary", "--no-ext-diff", "--no-textconv", "--no-color", &to, base];
    let mut arguments = vec!["-c", "core.bare=false"];
    arguments.extend(diff);
    step(copy, &env, &arguments, cancel).await?;
    let bytes = crate::durable::read(&unfinished, LARGEST)?.ok_or(PatchError::TooLarge)?;
    Ok(crate::durable::write(patch, &bytes)?)
}

async fn step(
    directory: &Path,
    env: &std::collections::BTreeMap<String, String>,
    arguments: &[&str],
    cancel: &Cancel,
) -> Result<(), PatchError> {
    let mut all = SETTINGS.to_vec();
    all.extend_from_slice(arguments);
    let script = Script { program: Program::Command("git", &all), directory, env, timeout: PATIENCE, cancel };
    let failed = |what: String| PatchError::Git(what);
    let ran = script::run(&script, &mut |_, _| {}).await.map_err(|error| failed(error.to_string()))?;
    if ran.succeeded() {
        return Ok(());
    }
    let said = ran.output.lines().next().unwrap_or_default();
    Err(failed(format!("git failed: {}", fullsend_guard::visible(said))))
}
