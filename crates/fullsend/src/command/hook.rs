//! `fullsend hook`.

mod answer;
mod configure;
mod matrix;
mod serve;

use std::ffi::OsString;
use std::path::Path;

use fullsend_guard::hook::HookPhase;

use crate::cli::HookCommand;
use crate::exit::Exit;
use crate::output::Output;

pub(crate) fn run(command: HookCommand, output: &mut Output) -> anyhow::Result<Exit> {
    match command {
        HookCommand::PreTool(args) => Ok(answer::answer(HookPhase::PreTool, Ok(&args.config))),
        HookCommand::PostTool(args) => Ok(answer::answer(HookPhase::PostTool, Ok(&args.config))),
        HookCommand::Config(args) => configure::run(&args, output),
        HookCommand::Serve(args) => serve::run(&args, output),
        HookCommand::Matrix(args) => matrix::run(&args, output),
    }
}

/// Answers a hook call without describing every command first, which would cost more than the answer: a runtime starts
/// this program twice for every tool call. None when the arguments are about something else.
///
/// Wrong arguments are an answer too. A usage message would not keep a tool's output from the model.
pub(crate) fn run_quickly(arguments: impl IntoIterator<Item = OsString>) -> Option<Exit> {
    let mut arguments = arguments.into_iter();
    let phase = match (arguments.next()?.to_str()?, arguments.next()?.to_str()?) {
        ("hook", "pre-tool") => HookPhase::PreTool,
        ("hook", "post-tool") => HookPhase::PostTool,
        _ => return None,
    };
    let rest: Vec<OsString> = arguments.collect();
    if rest.iter().any(|argument| argument == "--help" || argument == "-h") {
        return None;
    }
    let config = match rest.as_slice() {
        [flag, file] if flag == "--config" => Some(Path::new(file)),
        [joined] => joined.to_str().and_then(|joined| joined.strip_prefix("--config=")).map(Path::new),
        _ => None,
    };
    Some(answer::answer(phase, config.ok_or("the hook needs exactly `--config FILE`")))
}
