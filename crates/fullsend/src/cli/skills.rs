//! Arguments of `fullsend skills`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ShowFormat;

#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// List the skills that an agent would find
    ///
    /// Of two skills with one name the first one counts, in the order of the roots. What was left out, and why, goes to
    /// standard error; with `--format json` it is part of the result.
    Ls(SkillsListArgs),
    /// Check skills against the Agent Skills format
    ///
    /// Reports every problem with its place and what to do about it. The exit code is 1 when there are errors.
    Validate(SkillsValidateArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SkillsListArgs {
    /// A directory of skills; repeatable, the first has precedence [default: those of `.fullsend/skills`,
    /// `.agents/skills` and `.claude/skills` that exist]
    #[arg(long = "skills-root", value_name = "DIR")]
    pub(crate) roots: Vec<PathBuf>,
    /// How to print them
    #[arg(long, value_enum, default_value_t = ShowFormat::Text)]
    pub(crate) format: ShowFormat,
}

#[derive(Debug, Args)]
pub(crate) struct SkillsValidateArgs {
    /// Directories of skills, or their `SKILL.md` files
    #[arg(value_name = "DIR", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// How to print problems
    #[arg(long, value_enum, default_value_t = ShowFormat::Text)]
    pub(crate) format: ShowFormat,
}
