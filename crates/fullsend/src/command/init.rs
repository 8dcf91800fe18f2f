//! `fullsend init`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use fullsend_harness::workspace::DIRECTORY_NAME;

use crate::cli::InitArgs;
use crate::exit::Exit;
use crate::output::{Advice, Output};

/// The files of a new fullsend directory.
const FILES: &[(&str, &str)] = &[
    (".gitignore", include_str!("init/gitignore")),
    ("config.yaml", include_str!("init/config.yaml")),
    ("harness/hello.yaml", include_str!("init/harness/hello.yaml")),
    ("agents/hello.md", include_str!("init/agents/hello.md")),
    ("skills/greeting/SKILL.md", include_str!("init/skills/greeting/SKILL.md")),
];

pub(super) fn run(args: &InitArgs, output: &mut Output) -> Result<Exit> {
    let target = args.directory.join(DIRECTORY_NAME);
    if !args.directory.is_dir() {
        let message = format!("`{}` is not a directory", args.directory.display());
        bail!(Advice::new(message, "create it first, or name another directory"));
    }
    if target.symlink_metadata().is_ok() {
        let message = format!("`{}` exists already; nothing was changed", target.display());
        bail!(Advice::new(message, "edit the files in it, or remove it to start again"));
    }
    // Written beside its place and moved there whole: a full disk or Ctrl-C leaves no half directory behind.
    let staging = tempfile::Builder::new()
        .prefix(".fullsend-init-")
        .tempdir_in(&args.directory)
        .with_context(|| format!("cannot write in `{}`", args.directory.display()))?;
    let staged = staging.path().join(DIRECTORY_NAME);
    for (name, content) in FILES {
        write(&staged.join(name), content)?;
    }
    fs::rename(&staged, &target).with_context(|| format!("cannot create `{}`", target.display()))?;
    for (name, _) in FILES {
        output.text(&format!("{}\n", target.join(name).display()))?;
    }
    output.note("next: `fullsend harness lint` checks it, `fullsend harness show hello` shows it");
    Ok(Exit::Done)
}

fn write(path: &Path, content: &str) -> Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory).with_context(|| format!("cannot create `{}`", directory.display()))?;
    fs::write(path, content).with_context(|| format!("cannot write `{}`", path.display()))
}
