//! What the agent reads in its copy of the repository before it starts: instructions that are put there when the repository
//! has none, and settings of agent runtimes that are taken out of it.
//!
//! Everything happens in the copy. Whether instructions are missing is decided by the names in the original.

mod withheld;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use fullsend_runtimes::Stage;
pub use withheld::{Withheld, WithheldEntry, is_withheld, withhold};

use crate::beneath::Directory;

/// The names under which runtimes look for instructions.
const AGENTS: &[&str] = &["AGENTS.md", "agents.md", "Agents.md"];
const CLAUDE: &[&str] = &["CLAUDE.md", "claude.md", "Claude.md", ".claude.md"];

/// Leads runtimes that only read `CLAUDE.md` to the instructions for all.
const BRIDGE: &str = "The instructions for this repository are in [AGENTS.md](AGENTS.md), the single source of truth: read that file.\n";

/// Directories of tools that run beside agents, which no change of the agent's should contain.
const EXCLUDED: &[&str] = &[".agentready/", ".fullsend-workspace/"];

/// The largest `.git/info/exclude` whose last line is looked at, in bytes.
const MAX_EXCLUDE: u64 = 1 << 20;

/// Which instructions are put where.
#[derive(Clone, Copy, Debug)]
pub struct Instructions<'a> {
    /// The target repository, not the copy.
    pub repo: &'a Path,
    /// The organisation's instructions, as they were scanned.
    pub default: Option<&'a [u8]>,
    /// Whether the runtime reads only `CLAUDE.md`.
    pub bridge: bool,
    /// The directory of results, where it lies right in the target repository.
    pub output: Option<&'a str>,
}

/// What was put into the copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Injected {
    /// The files.
    pub files: Vec<&'static str>,
    /// What did not work and does not keep the run from going on, a line each.
    pub warnings: Vec<String>,
    /// What the files say.
    texts: BTreeMap<&'static str, Vec<u8>>,
}

/// Puts instructions into the copy where the repository has none, and keeps what was put there out of the agent's commits.
pub fn inject(instructions: Instructions<'_>, stage: &Stage) -> io::Result<Injected> {
    let Instructions { repo, default, bridge, output } = instructions;
    let root = Directory::open(&stage.repo())?;
    let mut done = Injected::default();
    let mut has_agents = has_any(repo, AGENTS);
    if let Some(text) = default.filter(|_| !has_agents) {
        has_agents = done.put(&root, "AGENTS.md", text);
    }
    if bridge && has_agents && !has_any(repo, CLAUDE) {
        done.put(&root, "CLAUDE.md", BRIDGE.as_bytes());
    }
    done.exclude(&root, stage, output);
    Ok(done)
}

/// Whether one of the names is there, be it a link that leads nowhere.
fn has_any(repo: &Path, names: &[&str]) -> bool {
    names.iter().any(|name| fs::symlink_metadata(repo.join(name)).is_ok())
}

impl Injected {
    /// Where something is already, that stays: the copy may have been made from what the original is no longer.
    fn put(&mut self, root: &Directory, name: &'static str, text: &[u8]) -> bool {
        match root.create(name.as_ref(), text, 0o644) {
            Ok(()) => {
                self.files.push(name);
                self.texts.insert(name, text.to_owned());
            }
            Err(error) => self.warnings.push(format!("cannot put `{name}` into the agent's copy: {error}")),
        }
        self.files.last() == Some(&name)
    }

    /// Takes the files out of `repo`, a copy that the sandbox can no longer change: they are not the repository's, and whoever
    /// delivers it would publish them. The result says which of them the agent had changed.
    pub fn take_back(&self, repo: &Path) -> io::Result<Vec<&'static str>> {
        let mut changed = Vec::new();
        for (name, text) in &self.texts {
            let path = repo.join(name);
            let found = match fs::symlink_metadata(&path) {
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
            if !(found.is_file() && found.len() == length && fs::read(&path)? == *text) {
                changed.push(*name);
            }
            if found.is_dir() { fs::remove_dir_all(&path)? } else { fs::remove_file(&path)? }
        }
        Ok(changed)
    }

    fn exclude(&mut self, root: &Directory, stage: &Stage, output: Option<&str>) {
        match fs::symlink_metadata(stage.repo().join(".git")) {
            Ok(git) if git.is_dir() => {}
            Ok(_) => {
                let text = "`.git` of the target repository is not a directory: git does not work in the agent's copy of \
                            a worktree or submodule; clone the repository instead";
                return self.warnings.push(text.to_owned());
            }
            Err(_) => return,
        }
        // At the start of a line these would be comments or exceptions; results have plain names in any sane setup.
        let output = output
            .filter(|name| !name.starts_with(['#', '!']) && !name.contains(['\n', '\\', '*', '?', '[']));
        let output = output.map(|name| format!("/{name}/\n")).unwrap_or_default();
        let lines = self.files.iter().map(|name| format!("/{name}\n"));
        let lines: String = lines.chain(EXCLUDED.iter().map(|name| format!("{name}\n"))).collect();
        let path = Path::new(".git/info/exclude");
        if let Err(error) = root.append(path, &format!("{lines}{output}"), MAX_EXCLUDE) {
            self.warnings.push(format!("cannot write `.git/info/exclude` in the agent's copy: {error}"));
        }
    }
}
