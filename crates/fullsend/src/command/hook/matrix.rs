//! `fullsend hook matrix`.

use anyhow::Result;
use fullsend_guard::hook::matrix;

use crate::cli::{HookMatrixArgs, MatrixFormat};
use crate::exit::Exit;
use crate::output::Output;

pub(super) fn run(args: &HookMatrixArgs, output: &mut Output) -> Result<Exit> {
    match args.format {
        MatrixFormat::Markdown => output.text(&matrix::markdown())?,
        MatrixFormat::Json => output.json(&matrix::json())?,
    }
    Ok(Exit::Done)
}
