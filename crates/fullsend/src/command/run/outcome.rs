//! How a run is told to whoever started it.

use anyhow::Result;
use fullsend_runner::report::{Report, State};
use fullsend_runner::{Finished, Stop};
use fullsend_yaml::printable;
use serde_json::json;

use super::super::remote;
use super::super::show;
use super::exit_of;
use crate::cli::ShowFormat;
use crate::exit::Exit;
use crate::output::{Advice, Output, diagnostics};

/// Tells how the run ended.
pub(super) fn tell(finished: Finished, format: ShowFormat, output: &mut Output) -> Result<Exit> {
    let exit = exit_of(&finished);
    match format {
        ShowFormat::Json => output.line(&json!({
            "report": finished.report,
            "run_dir": finished.run_dir,
            "exit_code": finished.exit_code,
        }))?,
        ShowFormat::Text => {
            if let Some(report) = &finished.report {
                output.text(&summary(&finished, report))?;
            }
        }
    }
    match finished.stop {
        None | Some(Stop::Skipped { .. }) => {}
        Some(stop) => explain(stop, output),
    }
    if let Some(unrecorded) = finished.unrecorded {
        let message = format!("the record of the run is not complete: {unrecorded}");
        output.failure(&Advice::new(message, "make room on that disk, or use another `--output-dir`").into());
    }
    Ok(exit)
}

/// The result in a few lines.
fn summary(finished: &Finished, report: &Report) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| text.push_str(&format!("{name:10} {}\n", printable(value)));
    line("run", report.run_id.clone());
    let reason = report.reason.as_deref().filter(|_| finished.state != State::Success);
    let state = reason.map_or_else(
        || finished.state.as_str().to_owned(),
        |reason| format!("{}: {reason}", finished.state.as_str()),
    );
    line("state", state);
    if let Some(iteration) = report.validated_iteration {
        line("validated", format!("attempt {iteration} of {}", report.iterations.len()));
    }
    if report.findings.total > 0 || report.denied > 0 {
        line(
            "findings",
            format!("{}, and {} denied connections or calls", report.findings.total, report.denied),
        );
    }
    let metrics = &report.metrics;
    if metrics.num_turns > 0 {
        let tokens = metrics.token_usage.input + metrics.token_usage.output;
        line(
            "used",
            format!(
                "{} turns, {} tool calls, {tokens} tokens, ${:.4}",
                metrics.num_turns, metrics.tool_calls, metrics.total_cost_usd
            ),
        );
    }
    if let Some(directory) = &finished.run_dir {
        line("directory", directory.display().to_string());
    }
    text
}

/// Prints why a run did not succeed, and what to do.
fn explain(stop: Stop, output: &mut Output) {
    if let Stop::Broken { sources, problems } = &stop {
        diagnostics::print_to_stderr(output, sources, problems);
    }
    let help = stop.help();
    let error = match (stop, help) {
        (Stop::Agent(error), _) => show::explain(error),
        (Stop::Resolve(error), _) => remote::explain(*error, output),
        (stop, Some(help)) => {
            let advice = Advice::new(stop.to_string(), help);
            // The same words would be told as their own cause.
            match std::error::Error::source(&stop) {
                Some(_) => anyhow::Error::new(stop).context(advice),
                None => advice.into(),
            }
        }
        (stop, None) => anyhow::Error::new(stop),
    };
    output.failure(&error);
}
