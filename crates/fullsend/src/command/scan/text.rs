//! `fullsend scan text`.

use anyhow::Result;
use fullsend_guard::log::Phase;

use super::{Scan, read_text};
use crate::cli::ScanTextArgs;
use crate::exit::Exit;
use crate::output::Output;

pub(super) fn run(args: &ScanTextArgs, output: &mut Output) -> Result<Exit> {
    let mut scan = Scan::new(&args.report, Phase::HostInput)?;
    let (source, text) = read_text(&args.file, args.max_size)?;
    match text {
        Ok(text) => scan.text(&scan.checks.input(), source, &text),
        Err(finding) => scan.report.add_problem(source, finding),
    }
    scan.finish(&args.report, output)
}
