//! `fullsend cache`.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fullsend_fetch::Cache;
use fullsend_fetch::cache::{EntryId, Health, Listed, Parallel};
use fullsend_harness::{Library, workspace};
use fullsend_origin::{Reference, Sha256Digest};
use serde_json::{Value, json};

use crate::cli::{CacheCommand, CacheGcArgs, CacheListArgs, CachePathArgs, DirectoryArgs, ShowFormat};
use crate::command::fullsend_directory;
use crate::exit::Exit;
use crate::output::{Advice, Output};

pub(super) fn run(command: CacheCommand, output: &mut Output) -> Result<Exit> {
    match command {
        CacheCommand::Ls(args) => list(&args, output),
        CacheCommand::Verify(args) => verify(&args, output),
        CacheCommand::Gc(args) => collect(&args, output),
        CacheCommand::Path(args) => path(&args, output),
    }
}

fn open(directory: &DirectoryArgs) -> Result<Cache> {
    let root = fullsend_directory(directory)?;
    Cache::open(&root).map_err(|error| {
        let help = error.help().unwrap_or_else(|| "remove the cache; it is fetched again".to_owned());
        Advice::new(error.to_string(), help).into()
    })
}

fn list(args: &CacheListArgs, output: &mut Output) -> Result<Exit> {
    let entries = open(&args.directory)?.list()?;
    match args.format {
        ShowFormat::Json => output.json(&entries.iter().map(entry_json).collect())?,
        ShowFormat::Text => {
            for entry in &entries {
                let url = entry.metadata.as_ref().map_or("(no record)", |metadata| metadata.url());
                let line =
                    format!("{}  {:>10}  {}  {url}", entry.id.digest(), size(entry.size), kind(entry.id));
                output.text(&format!("{}\n", fullsend_yaml::printable(line)))?;
            }
            let total: u64 = entries.iter().map(|entry| entry.size).sum();
            output.note(&format!("{} entries, {}", entries.len(), size(total)));
        }
    }
    Ok(Exit::Done)
}

fn entry_json(entry: &Listed) -> Value {
    json!({
        "sha256": entry.id.digest().to_string(),
        "type": kind(entry.id),
        "bytes": entry.size,
        "url": entry.metadata.as_ref().map(|metadata| metadata.url()),
        "fetch_time": entry.metadata.as_ref().map(|metadata| metadata.fetch_time().to_string()),
    })
}

fn kind(id: EntryId) -> &'static str {
    match id {
        EntryId::File(_) => "file",
        EntryId::Tree(_) => "tree",
    }
}

fn verify(args: &CacheListArgs, output: &mut Output) -> Result<Exit> {
    let report = open(&args.directory)?.verify_all(Parallel::Available)?;
    let damaged: Vec<(EntryId, String)> =
        report.entries.iter().filter_map(|(id, health)| Some((*id, complaint(health)?))).collect();
    match args.format {
        ShowFormat::Json => {
            let entry = |(id, reason): &(EntryId, String)| json!({ "sha256": id.digest().to_string(), "type": kind(*id), "reason": reason });
            let damaged: Vec<Value> = damaged.iter().map(entry).collect();
            output.json(
                &json!({ "entries": report.entries.len(), "bytes": report.bytes, "damaged": damaged }),
            )?;
        }
        ShowFormat::Text => {
            for (id, reason) in &damaged {
                output.text(&fullsend_yaml::printable(format!("{}: {reason}", id.digest())))?;
                output.text("\n")?;
            }
            output.note(&format!(
                "{} entries, {} damaged, {}",
                report.entries.len(),
                damaged.len(),
                size(report.bytes)
            ));
        }
    }
    Ok(if report.is_sound() { Exit::Done } else { Exit::Failed })
}

fn complaint(health: &Health) -> Option<String> {
    match health {
        Health::Intact => None,
        Health::Incomplete => Some("the entry is not complete".to_owned()),
        Health::Corrupt(corruption) => Some(corruption.to_string()),
        Health::Unreadable(error) => Some(error.to_string()),
        other => Some(format!("{other:?}")),
    }
}

fn collect(args: &CacheGcArgs, output: &mut Output) -> Result<Exit> {
    let root = fullsend_directory(&args.directory)?;
    let age = Duration::from_secs(u64::from(args.older_than) * 24 * 60 * 60);
    let report = open(&args.directory)?.gc(&pinned(&root), age)?;
    for id in &report.removed {
        output.text(&format!("{}\n", id.digest()))?;
    }
    output.note(&format!(
        "removed {} entries, {}, {} leftovers",
        report.removed.len(),
        size(report.bytes),
        report.leftovers
    ));
    Ok(Exit::Done)
}

/// The digests that harnesses of the directory pin. A file that cannot be read keeps nothing alive that it does not
/// name readably; its resources are fetched again.
fn pinned(root: &std::path::Path) -> BTreeSet<Sha256Digest> {
    let mut library = Library::new(root);
    let mut unreported = Vec::new();
    let mut digests = BTreeSet::new();
    for path in workspace::harness_files(root) {
        let Some(harness) = library.harness(&path, &mut unreported).and_then(|loaded| loaded.harness) else {
            continue;
        };
        let overlays = harness.forge.iter().flat_map(|forge| forge.platforms.keys()).copied();
        let views = overlays
            .filter_map(|platform| fullsend_harness::compose::overlay(harness.as_ref().clone(), platform));
        for view in std::iter::once(harness.as_ref().clone()).chain(views) {
            digests.extend(view_digests(&view));
        }
    }
    digests
}

fn view_digests(harness: &fullsend_harness::schema::HarnessFile) -> Vec<Sha256Digest> {
    use fullsend_harness::resources::{Source, resources};
    let base = harness.base.as_ref().and_then(|base| match base.value.reference() {
        Reference::Remote(url) => Some(url.digest()),
        Reference::Local(_) => None,
    });
    let named = resources(harness).into_iter().filter_map(|resource| match resource.source {
        Source::Remote(url) => Some(url.digest()),
        Source::Local(_) | Source::Template(_) => None,
    });
    base.into_iter().chain(named).collect()
}

fn path(args: &CachePathArgs, output: &mut Output) -> Result<Exit> {
    let cache = open(&args.directory)?;
    let Some(digest) = &args.digest else {
        output.text(&format!("{}\n", cache.root().display()))?;
        return Ok(Exit::Done);
    };
    let digest: Sha256Digest =
        digest.parse().with_context(|| format!("`{digest}` is not a SHA-256 digest"))?;
    let Some(entry) = cache.list()?.into_iter().find(|entry| entry.id.digest() == digest) else {
        bail!(Advice::new(format!("`{digest}` is not in the cache"), "`fullsend cache ls` lists what is"));
    };
    output.text(&format!("{}\n", cache.body_path(entry.id).display()))?;
    Ok(Exit::Done)
}

/// A size as people read it.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["B", "KiB", "MiB", "GiB"];
    let mut value = bytes;
    let mut rest = 0;
    let mut unit = 0;
    while value >= 1024 && unit + 1 < UNITS.len() {
        rest = value % 1024;
        value /= 1024;
        unit += 1;
    }
    let name = UNITS.get(unit).copied().unwrap_or("B");
    if unit == 0 { format!("{value} {name}") } else { format!("{value}.{} {name}", rest * 10 / 1024) }
}
