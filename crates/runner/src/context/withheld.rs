//! Settings of agent runtimes that a repository brings along.
//!
//! A runtime reads them by itself: hooks, tool servers, commands and agents that start programs or take questions away.
//! Whoever can change the repository would decide what runs beside the agent, before any hook of ours. So they are taken out
//! of the copy, except those that the harness names, and put back into what is delivered.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fullsend_harness::value::RepositoryConfig;
use fullsend_runtimes::Stage;
use fullsend_sandbox::ExecRequest;

use crate::beneath::Directory;

/// Directories whose entries the harness can allow one by one.
const SHARED: &[&str] = &[".claude"];

/// Has git look away from, or back at, the named paths, as far as it knows them.
const MARK: &str = r#"flag=$1; shift; git -c core.fsmonitor=false ls-files -z -- "$@" | git -c core.fsmonitor=false update-index "$flag" -z --stdin"#;

/// Something that was taken out of the copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithheldEntry {
    /// Where it was, relative to the repository.
    pub path: PathBuf,
    /// Where it is now.
    kept: PathBuf,
}

/// Everything that was taken out of the copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Withheld {
    /// What, by path.
    pub entries: Vec<WithheldEntry>,
}

/// Takes out of the stage's copy what the repository would configure runtimes with, apart from what is `allowed`.
///
/// Only the root is looked at, since runtimes start there; what lies deeper is scanned as context like everything else.
pub fn withhold(stage: &Stage, allowed: &[RepositoryConfig]) -> io::Result<Withheld> {
    let allowed: Vec<&str> = allowed.iter().map(|name| name.as_str()).collect();
    let mut withheld = Withheld::default();
    let whole = RepositoryConfig::WORDS.iter().copied().filter(|word| !word.contains('/'));
    for path in whole.filter(|word| !allowed.contains(word)) {
        withheld.take(stage, path)?;
    }
    for directory in SHARED {
        let inside =
            allowed.iter().any(|word| word.split_once('/').is_some_and(|(first, _)| first == *directory));
        if !inside {
            withheld.take(stage, directory)?;
            continue;
        }
        withheld.take_all_but(stage, directory, &allowed)?;
    }
    withheld.entries.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(withheld)
}

/// Whether a path of a repository is one that [`withhold`] takes out of the copy.
pub fn is_withheld(path: &Path, allowed: &[RepositoryConfig]) -> bool {
    let is_allowed = allowed.iter().any(|name| path.starts_with(name.as_str()));
    let is_known = RepositoryConfig::WORDS.iter().chain(SHARED).any(|name| path.starts_with(name));
    is_known && !is_allowed
}

impl Withheld {
    /// Every entry, also those that no runtime reads today: the next version may.
    fn take_all_but(&mut self, stage: &Stage, directory: &str, allowed: &[&str]) -> io::Result<()> {
        let path = stage.repo().join(directory);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => {}
            // A link would lead the runtime to a directory that nobody has looked through.
            Ok(_) => return self.take(stage, directory),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        }
        for entry in fs::read_dir(&path)? {
            let name = entry?.file_name();
            let relative = Path::new(directory).join(&name);
            if !allowed.iter().any(|allowed| Path::new(allowed) == relative) {
                let target = self.spot(stage)?;
                fs::rename(path.join(&name), &target)?;
                self.entries.push(WithheldEntry { path: relative, kept: target });
            }
        }
        Ok(())
    }

    fn take(&mut self, stage: &Stage, path: &str) -> io::Result<()> {
        let from = stage.repo().join(path);
        match fs::symlink_metadata(&from) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        }
        let target = self.spot(stage)?;
        fs::rename(from, &target)?;
        self.entries.push(WithheldEntry { path: path.into(), kept: target });
        Ok(())
    }

    /// A free place beside what the sandbox sees.
    fn spot(&self, stage: &Stage) -> io::Result<PathBuf> {
        let directory = stage.root().join("withheld");
        fs::create_dir_all(&directory)?;
        Ok(directory.join(self.entries.len().to_string()))
    }

    /// Puts everything back into `repo`, a copy that the sandbox can no longer change. What the agent left in its place is
    /// removed: it never saw the original, so this is no change of it. The result says what that was.
    pub fn restore(&self, repo: &Path) -> io::Result<Vec<PathBuf>> {
        let root = Directory::open(repo)?;
        let mut replaced = Vec::new();
        for WithheldEntry { path, kept } in &self.entries {
            let parent = root.make(path.parent().unwrap_or(Path::new("")))?;
            let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
            if parent.take_in(name, kept)? {
                replaced.push(path.clone());
            }
        }
        Ok(replaced)
    }

    /// The command that keeps git in the session from taking what was withheld for deleted, or that takes this back before
    /// the repository is delivered. None when there is nothing to hide.
    pub fn git_request(&self, stage: &Stage, hide: bool) -> Option<ExecRequest> {
        if self.entries.is_empty() || !stage.repo().join(".git").is_dir() {
            return None;
        }
        let flag = if hide { "--skip-worktree" } else { "--no-skip-worktree" };
        let fixed = ["-c", MARK, "sh", flag].map(str::to_owned);
        let paths = self.entries.iter().map(|entry| format!(":(literal){}", entry.path.display()));
        let request = ExecRequest::new("/bin/sh", fixed.into_iter().chain(paths));
        Some(ExecRequest { cwd: Some(stage.repo_in_sandbox()), ..request })
    }
}
