//! `fullsend fetch-skill`.
//!
//! Agents call it, and scripts of skills: so its output is the path and nothing else, and every failure, also a wrong
//! command line, is one line and the exit code 1.

use std::ffi::{OsStr, OsString};

use anyhow::Result;
use fullsend_runner::{FETCH_TOKEN, FETCH_URL, request_skill};
use fullsend_yaml::printable;

use crate::cli::FetchSkillArgs;
use crate::environment;
use crate::exit::Exit;
use crate::output::Output;

pub(super) fn run(args: &FetchSkillArgs, output: &mut Output) -> Result<Exit> {
    match fetch(&args.url) {
        Ok(path) => {
            output.text(&format!("{path}\n"))?;
            Ok(Exit::Done)
        }
        Err(message) => Ok(fail(&message, output)),
    }
}

/// Whether the arguments of the process ask for this command, whatever else is wrong with them.
pub(crate) fn is_meant(mut arguments: impl Iterator<Item = OsString>) -> bool {
    arguments.find(|argument| argument != OsStr::new("-q") && argument != OsStr::new("--quiet"))
        == Some(OsString::from("fetch-skill"))
}

/// Reports a wrong command line as callers of this command expect it.
pub(crate) fn misused(error: &clap::Error) -> Exit {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    fail(line.strip_prefix("error: ").unwrap_or(line), &mut Output::new(true))
}

fn fail(message: &str, output: &mut Output) -> Exit {
    output.aside(&format!("Error: {}\n", printable(message.to_owned())));
    Exit::Failed
}

fn fetch(url: &str) -> Result<String, String> {
    let variable = |name| environment::fetch_variable(name).ok_or(name);
    let address = variable(FETCH_URL)
        .map_err(|name| format!("{name} is not set (is runtime fetch enabled in the harness?)"))?;
    let token = variable(FETCH_TOKEN).map_err(|name| format!("{name} is not set"))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("fetch request failed: {error}"))?;
    runtime.block_on(request_skill(&address, &token, url)).map_err(|fault| fault.to_string())
}
