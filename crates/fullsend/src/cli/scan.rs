//! The commands of `fullsend scan`.

use clap::Subcommand;

use super::VerifyFindingsArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum ScanCommand {
    /// Check that a log of findings is complete and unchanged
    ///
    /// Every line of `findings.jsonl` is chained to the one before it by a hash, and the last says that nothing is missing.
    /// The exit code is 0 when that is so, and 1 when a line was changed, moved, added or removed, or the end is missing.
    VerifyFindings(VerifyFindingsArgs),
}
