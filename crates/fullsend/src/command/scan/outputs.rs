//! `fullsend scan output`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use fullsend_guard::files::{self, Content, OutputFile, Root};
use fullsend_guard::log::Phase;
use fullsend_guard::{Finding, Pipeline};

use super::context::below;
use super::form::Form;
use super::{Scan, cannot_scan};
use crate::cli::ScanOutputArgs;
use crate::exit::Exit;
use crate::output::Output;
use crate::output::findings::Source;

pub(super) fn run(args: &ScanOutputArgs, output: &mut Output) -> Result<Exit> {
    let scan = Scan::new(&args.report, Phase::HostOutput)?;
    let (texts, bytes) = (scan.checks.clone().for_files().output(), scan.checks.bytes());
    let mut delivery = Delivery { scan, texts, bytes, unfixed: Vec::new() };
    for path in &args.paths {
        delivery.path(path, args).with_context(|| cannot_scan(path))?;
    }
    for reason in &delivery.unfixed {
        output.aside(&format!("warning: {reason}\n"));
    }
    let exit = delivery.scan.finish(&args.report, output)?;
    Ok(if exit == Exit::Done && !delivery.unfixed.is_empty() { Exit::Failed } else { exit })
}

/// A scan over what is to be passed on.
struct Delivery {
    scan: Scan,
    texts: Pipeline,
    bytes: Pipeline,
    /// What could not be fixed although it was asked for.
    unfixed: Vec<String>,
}

/// Where a file is written back, if it is.
struct Target<'t> {
    fix: Option<&'t Root>,
    path: &'t Path,
    source: Source,
}

impl Delivery {
    fn path(&mut self, path: &Path, args: &ScanOutputArgs) -> std::io::Result<()> {
        if path.metadata()?.is_dir() {
            let root = Root::open(path)?;
            for entry in files::outputs(Root::open(path)?, args.max_size) {
                self.entry(&root, entry, args, |inside| below(path, inside));
            }
        } else {
            // Whoever names a link means what it leads to.
            let real = path.canonicalize()?;
            let root = Root::open(real.parent().unwrap_or(&real))?;
            let name = real.file_name().unwrap_or_default();
            let entry = OutputFile::read(&root, Path::new(name), args.max_size);
            self.entry(&root, entry, args, |_| path.to_path_buf());
        }
        Ok(())
    }

    fn entry(
        &mut self,
        root: &Root,
        entry: files::Output,
        args: &ScanOutputArgs,
        shown: impl Fn(&Path) -> PathBuf,
    ) {
        match entry {
            files::Output::Problem { path, finding } => {
                self.scan.report.add_problem(Source::File(shown(&path)), finding);
            }
            files::Output::File(OutputFile { path, content }) => {
                let source = Source::File(shown(&path));
                match content {
                    Content::Text(text) => {
                        let target = Target { fix: args.fix.then_some(root), path: &path, source };
                        self.text(&text, target);
                    }
                    Content::Bytes(bytes) => self.binary(&bytes, source),
                }
            }
        }
    }

    fn text(&mut self, text: &str, Target { fix, path, source }: Target<'_>) {
        let report = self.texts.run(text);
        let (Some(root), Some(clean)) = (fix, report.sanitized) else {
            self.scan.add(source, text, report.findings);
            return;
        };
        let written = match Form::of(path, text) {
            form if form == Form::of(path, &clean) => {
                files::replace(root, path, clean.as_bytes()).map_err(|error| error.to_string())
            }
            form => Err(format!("it would not be valid {} any more", form.name())),
        };
        match written {
            Ok(()) => {
                let left = self.texts.run(&clean).findings;
                let masks = self.scan.checks.masks(text);
                self.scan.report.add_fixed(source, text, &masks, report.findings, &left);
            }
            Err(reason) => {
                self.unfixed.push(format!("`{}` is left as it is: {reason}", source.name()));
                self.scan.add(source, text, report.findings);
            }
        }
    }

    /// Lines mean nothing in such a file, and there is no line to show.
    fn binary(&mut self, bytes: &[u8], source: Source) {
        let found = self.bytes.run(&Content::searchable(bytes)).findings;
        let mut findings: Vec<Finding> = found
            .iter()
            .map(|finding| {
                let place = finding.span.map(|span| format!(" (at byte {} of a binary file)", span.start));
                without_place(finding, &place.unwrap_or_default())
            })
            .collect();
        let wide = Content::from_utf16_ascii(bytes).map(|text| self.bytes.run(&text).findings);
        let new = wide.unwrap_or_default();
        let new = new.iter().filter(|finding| found.iter().all(|known| known.rule != finding.rule));
        findings.extend(new.map(|finding| without_place(finding, " (in UTF-16 text)")));
        self.scan.report.add(source, "", &Default::default(), findings);
    }
}

fn without_place(finding: &Finding, addition: &str) -> Finding {
    let detail = format!("{}{addition}", finding.detail());
    Finding::new(finding.rule, None, detail).with_severity(finding.severity)
}
