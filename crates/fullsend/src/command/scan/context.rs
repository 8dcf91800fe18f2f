//! `fullsend scan context`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use fullsend_guard::Pipeline;
use fullsend_guard::files::{self, ContextFile, ContextKind, ContextLimits, Dependencies, Entry, Root, Skip};
use fullsend_guard::log::Phase;

use super::{Scan, cannot_scan, read_text};
use crate::cli::ScanContextArgs;
use crate::exit::Exit;
use crate::output::Output;
use crate::output::findings::Source;

pub(super) fn run(args: &ScanContextArgs, output: &mut Output) -> Result<Exit> {
    let mut scan = Scan::new(&args.report, Phase::HostInput)?;
    let pipeline = scan.checks.clone().for_files().input();
    let limits = ContextLimits {
        file_size: args.max_size,
        dependencies: if args.include_dependencies { Dependencies::Walk } else { Dependencies::Skip },
        ..ContextLimits::default()
    };
    for path in &args.paths {
        let metadata = path.metadata().with_context(|| cannot_scan(path))?;
        if metadata.is_dir() {
            let root = Root::open(path).with_context(|| cannot_scan(path))?;
            for entry in files::context(root, limits) {
                add(&mut scan, &pipeline, path, entry);
            }
        } else {
            let (source, text) = read_text(path, args.max_size)?;
            match text {
                Ok(text) => {
                    let kind = ContextKind::of_file(path);
                    scan_file(&mut scan, &pipeline, source, kind, &text);
                }
                Err(finding) => scan.report.add_problem(source, finding),
            }
        }
    }
    scan.finish(&args.report, output)
}

fn add(scan: &mut Scan, pipeline: &Pipeline, root: &Path, entry: Entry) {
    match entry {
        Entry::File(ContextFile { path, kind, text }) => {
            scan_file(scan, pipeline, Source::File(below(root, &path)), kind, &text);
        }
        Entry::Skipped { path, why } => scan.report.add_skipped(below(root, &path), reason(&why)),
        Entry::Problem { path, finding } => {
            scan.report.add_problem(Source::File(below(root, &path)), finding)
        }
    }
}

fn scan_file(scan: &mut Scan, pipeline: &Pipeline, source: Source, kind: ContextKind, text: &str) {
    let mut findings = pipeline.run(text).findings;
    if kind == ContextKind::RuntimeConfig {
        findings.extend(files::runtime_config(&source.name(), text));
    }
    scan.add(source, text, findings);
}

fn reason(why: &Skip) -> &'static str {
    match why {
        Skip::Dependencies => "version control or dependencies",
        Skip::Binary => "not text",
        Skip::Seen => "scanned under another name",
        Skip::LinkOutside => "a link to elsewhere",
    }
}

/// A path below a directory as people write it.
pub(super) fn below(root: &Path, path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() {
        root.to_path_buf()
    } else if root == Path::new(".") {
        path.to_path_buf()
    } else {
        root.join(path)
    }
}
