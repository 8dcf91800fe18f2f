//! `fullsend check-output`.

use anyhow::Result;
use fullsend_runner::check_output::{CheckError, check};
use fullsend_yaml::printable;

use crate::cli::CheckOutputArgs;
use crate::exit::Exit;
use crate::output::Output;

/// An agent reads the answer, so what is wrong with the file is a result and not an error.
pub(super) fn run(args: &CheckOutputArgs, output: &mut Output) -> Result<Exit> {
    let problems = match check(&args.file, &args.schema, &args.expect_name) {
        Err(error @ CheckError::Name { .. }) => vec![error.to_string()],
        checked => checked?,
    };
    if problems.is_empty() {
        output.text(&format!("PASS: `{}` fits the schema\n", printable(args.file.display().to_string())))?;
        return Ok(Exit::Done);
    }
    for problem in problems {
        output.text(&format!("FAIL: {}\n", printable(problem)))?;
    }
    Ok(Exit::Failed)
}
