//! `fullsend harness show`.

use std::path::{Path, PathBuf};

use anyhow::{Error, Result};
use fullsend_harness::config::Configuration;
use fullsend_harness::{ShowError, ShowOptions, show};
use fullsend_yaml::nearest;

use crate::cli::{ShowArgs, ShowFormat};
use crate::command::fullsend_directory;
use crate::exit::Exit;
use crate::output::{Advice, Output, diagnostics, harness_text};

pub(super) fn run(args: &ShowArgs, output: &mut Output) -> Result<Exit> {
    let root = match fullsend_directory(&args.directory) {
        Ok(root) => root,
        // A path names its own fullsend directory.
        Err(error) => match Path::new(&args.name) {
            path if path.is_file() => fullsend_harness::workspace::root_of(path),
            _ => return Err(error),
        },
    };
    let options = ShowOptions { resolved_base: args.resolved_base, forge: args.forge };
    match show(&root, &args.name, options) {
        Ok(shown) => match args.format {
            ShowFormat::Text => output.text(&harness_text::render(&shown))?,
            ShowFormat::Json => output.json(&serde_json::to_value(&shown)?)?,
        },
        Err(ShowError::Broken { sources, problems }) => {
            diagnostics::print_to_stderr(output, &sources, &problems);
            return Err(explain(ShowError::Broken { sources, problems }));
        }
        Err(error) => return Err(explain(error)),
    }
    Ok(Exit::Done)
}

/// The harness file that a name leads to, or why there is none.
pub(super) fn locate(configuration: &Configuration, root: &Path, name: &str) -> Result<PathBuf> {
    fullsend_harness::locate(configuration, root, name).map_err(explain)
}

pub(super) fn explain(error: ShowError) -> Error {
    let help = match &error {
        ShowError::Unknown { name, known, .. } => match nearest(name, known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() => "run `fullsend init` to start with one".to_owned(),
            None => format!("there are: {}", known.join(", ")),
        },
        ShowError::Disabled { .. } => "enable it there, or name the harness file by its path".to_owned(),
        ShowError::Remote { .. } => "download the harness file and name it by its path".to_owned(),
        ShowError::RemoteBase { .. } => {
            "leave out `--resolved-base` to see the harness as written".to_owned()
        }
        ShowError::ForgeNotConfigured { platform } => {
            format!("add `forge: {{{}: {{}}}}`, or leave out `--forge`", platform.as_str())
        }
        ShowError::Broken { .. } | ShowError::Json(_) | _ => {
            "correct the problems above; `fullsend harness lint` lists all of them".to_owned()
        }
    };
    Advice::new(error.to_string(), help).into()
}
