//! The arguments of `fullsend scan verify-findings`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use fullsend_origin::Sha256Digest;

use super::ShowFormat;

#[derive(Debug, Args)]
pub(crate) struct VerifyFindingsArgs {
    /// The log, `findings.jsonl`
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// The last hash as it was kept elsewhere; without it, a log that was replaced as a whole is not noticed
    #[arg(long, value_name = "HASH")]
    pub(crate) head: Option<Sha256Digest>,
    /// Exit with 0 also when only the end is missing, as it is while a run is going
    #[arg(long)]
    pub(crate) allow_unsealed: bool,
    /// How to print it
    #[arg(long, value_enum, default_value_t = ShowFormat::Text)]
    pub(crate) format: ShowFormat,
}
