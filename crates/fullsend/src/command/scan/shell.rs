//! `fullsend scan command`.

use std::path::Path;

use anyhow::Result;
use fullsend_guard::log::Phase;

use super::{Scan, read_text};
use crate::cli::ScanCommandArgs;
use crate::exit::Exit;
use crate::output::Output;
use crate::output::findings::Source;

/// The longest command that is read from standard input. What is too long to analyse is said by the analysis.
const LONGEST: u64 = 16 << 20;

pub(super) fn run(args: &ScanCommandArgs, output: &mut Output) -> Result<Exit> {
    let mut scan = Scan::new(&args.report, Phase::HookPreTool)?;
    let (source, text) = match args.command.as_str() {
        "-" => read_text(Path::new("-"), LONGEST)?,
        command => (Source::Argument(1), Ok(command.to_owned())),
    };
    match text {
        Ok(text) => {
            let findings = scan.checks.command(&text);
            scan.add(source, &text, findings);
        }
        Err(finding) => scan.report.add_problem(source, finding),
    }
    scan.finish(&args.report, output)
}
