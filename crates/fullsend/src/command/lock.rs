//! `fullsend lock`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fullsend_harness::schema::HarnessFile;
use fullsend_harness::value::Platform;
use fullsend_harness::workspace;
use fullsend_resolve::lock::{self, LockFile, LockedHarness, Outcome};
use fullsend_resolve::locking::{
    Inputs, expected, for_platform, locked_digests, locked_harness, platforms, problems,
};
use fullsend_resolve::{Dependency, FirstUse};
use fullsend_yaml::{Diagnostic, SourceMap};
use jiff::Timestamp;

use crate::cli::LockArgs;
use crate::command::remote::{Session, harness_name, lock_failure, warn};
use crate::exit::Exit;
use crate::output::{Advice, Output, diagnostics};

pub(super) fn run(args: &LockArgs, output: &mut Output) -> Result<Exit> {
    let mut session = Session::open(&args.directory, &args.network, output)?;
    let paths = match &args.name {
        Some(name) => vec![session.harness(name)?],
        None => workspace::harness_files(&session.root),
    };
    if args.check {
        return check(&mut session, args, &paths, output);
    }
    let (mut entries, mut failed) = (Vec::new(), None);
    for path in &paths {
        let entry = lock_one(&mut session, args, path, output);
        let entry = if args.all { entry.with_context(|| format!("`{}`", path.display())) } else { entry };
        match entry {
            Ok(entry) => entries.extend(entry),
            // The others are locked all the same; what failed keeps the entry it had.
            Err(error) if failed.is_none() => failed = Some(error),
            Err(error) => output.failure(&error),
        }
    }
    let written = write(&session, args, &paths, entries, output)?;
    failed.map_or(Ok(written), Err)
}

/// The composed harness, or the reasons why there is none.
fn composed(session: &mut Session, path: &Path, output: &mut Output) -> Result<HarnessFile> {
    let mut problems = Vec::new();
    let composition = session.library.compose(path, &mut problems);
    let broken = problems.iter().any(Diagnostic::is_error);
    match composition.filter(|_| !broken) {
        Some(composition) => Ok(composition.harness.as_ref().clone()),
        None => {
            diagnostics::print_to_stderr(output, session.library.sources(), &problems);
            let message = format!("`{}` cannot be composed", path.display());
            Err(Advice::new(message, "correct the problems above").into())
        }
    }
}

fn inputs(session: &mut Session, path: &Path) -> Result<Inputs> {
    let limits = session.limits();
    Inputs::of(&mut session.library, &session.configuration, path, &limits)
        .with_context(|| format!("cannot read `{}`", path.display()))
}

/// The new entry of a harness; `None` when the old one stands.
fn lock_one(
    session: &mut Session,
    args: &LockArgs,
    path: &Path,
    output: &mut Output,
) -> Result<Option<(String, LockedHarness)>> {
    let name = harness_name(path);
    session.library.withdraw();
    let harness = composed(session, path, output)?;
    let inputs = inputs(session, path)?;
    let old = session.lock(output)?;
    let named = wanted(args, &harness);
    if !args.update && problems(&old, &name, &harness, &inputs, &named).is_empty() {
        output.note(&format!("{name}: up to date"));
        return Ok(None);
    }
    let resolver = session.resolver()?;
    // A remote base may bring overlays of its own.
    let platforms = match args.forge {
        Some(_) => named,
        None if harness.base.is_none() => named,
        None => session.platforms(&resolver, path, output)?,
    };
    let mut resolved: Vec<(Option<Platform>, Vec<Dependency>)> = Vec::new();
    for platform in platforms {
        let mut resolver = session.resolver()?.with_first_use(FirstUse::Accept);
        if !args.update {
            resolver = resolver.with_locked(locked_digests(&old, &name, platform));
        }
        let resolution = session.run_resolver(&resolver, path, platform, output)?;
        warn(&resolution, output);
        resolved.push((platform, resolution.dependencies));
    }
    let source = path.strip_prefix(&session.root).unwrap_or(path).display().to_string();
    let mut entry = locked_harness(source, &inputs, Timestamp::now(), &resolved);
    if let Some(platform) = args.forge.filter(|_| harness.base.is_some() || harness.forge.is_some()) {
        entry = for_platform(entry, platform, old.harnesses.get(&name));
    }
    output.note(&format!("{name}: {} remote resources", entry.dependencies.len()));
    Ok(Some((name, entry)))
}

/// The platforms asked for, or those that the files of the directory have overlays for.
fn wanted(args: &LockArgs, harness: &HarnessFile) -> Vec<Option<Platform>> {
    args.forge.map_or_else(|| platforms(harness), |platform| vec![Some(platform)])
}

fn write(
    session: &Session,
    args: &LockArgs,
    paths: &[PathBuf],
    entries: Vec<(String, LockedHarness)>,
    output: &mut Output,
) -> Result<Exit> {
    let names: BTreeSet<String> = paths.iter().map(|path| harness_name(path)).collect();
    let mut sources = SourceMap::new();
    let updated =
        lock::update(&session.lock_path(), Timestamp::now(), &mut sources, |lock: &mut LockFile| {
            for (name, entry) in entries {
                // A harness without remote resources has nothing to lock.
                if entry.dependencies.is_empty() {
                    lock.harnesses.remove(&name);
                } else {
                    lock.harnesses.insert(name, entry);
                }
            }
            if args.all {
                lock.harnesses.retain(|name, _| names.contains(name));
            }
        });
    match updated {
        Ok(updated) if updated.outcome == Outcome::Written => {
            output.text(&format!("{}\n", session.lock_path().display()))?;
            Ok(Exit::Done)
        }
        Ok(_) => Ok(Exit::Done),
        Err(error) => Err(lock_failure(error, &sources, output)),
    }
}

fn check(session: &mut Session, args: &LockArgs, paths: &[PathBuf], output: &mut Output) -> Result<Exit> {
    let lock = session.lock(output)?;
    let mut sound = true;
    for path in paths {
        let name = harness_name(path);
        let harness = composed(session, path, output)?;
        let wanted = wanted(args, &harness);
        let remote =
            harness.base.is_some() || wanted.iter().any(|platform| !expected(&harness, *platform).is_empty());
        if !remote && !lock.harnesses.contains_key(&name) {
            continue;
        }
        let inputs = inputs(session, path)?;
        let problems = problems(&lock, &name, &harness, &inputs, &wanted);
        for problem in problems {
            sound = false;
            output.text(&format!("{problem}\n  help: {}\n", problem.help()))?;
        }
    }
    if sound {
        output.note("the lock file is up to date");
    }
    Ok(if sound { Exit::Done } else { Exit::Failed })
}
