//! Starts other programs and turns a failing exit into an error that shows the command line.

use std::io::{BufRead as _, BufReader, Read};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context as _, Result, anyhow, bail};

/// Runs with our own stdin, stdout and stderr.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", shown(command)))?;
    expect_success(command, status)
}

/// Runs and returns stdout. When the program fails, what it wrote to stderr is the root cause of the error.
pub(crate) fn capture(command: &mut Command) -> Result<String> {
    let output = command.output().map_err(|error| anyhow!("cannot start {}: {error}", shown(command)))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(anyhow!(stderr).context(format!("{} failed ({})", shown(command), output.status)));
    }
    String::from_utf8(output.stdout).with_context(|| format!("{} did not print UTF-8", shown(command)))
}

/// Runs and passes each line of stdout to `on_line` as it arrives.
pub(crate) fn stream_stdout(command: &mut Command, on_line: impl FnMut(&str)) -> Result<ExitStatus> {
    let mut child =
        command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start {}", shown(command)))?;
    if let Some(stdout) = child.stdout.take() {
        each_line(stdout, on_line)?;
    }
    Ok(child.wait()?)
}

/// Runs and passes each line of stderr to `on_line` as it arrives.
pub(crate) fn stream_stderr(command: &mut Command, on_line: impl FnMut(&str)) -> Result<ExitStatus> {
    let mut child =
        command.stderr(Stdio::piped()).spawn().with_context(|| format!("cannot start {}", shown(command)))?;
    if let Some(stderr) = child.stderr.take() {
        each_line(stderr, on_line)?;
    }
    Ok(child.wait()?)
}

/// The command line for messages: program and arguments, not quoted.
pub(crate) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

fn expect_success(command: &Command, status: ExitStatus) -> Result<()> {
    if !status.success() {
        bail!("{} failed ({status})", shown(command));
    }
    Ok(())
}

/// Programs may print bytes that are not UTF-8 (fuzzers do), so lines are read as bytes.
fn each_line(stream: impl Read, mut on_line: impl FnMut(&str)) -> Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        on_line(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']));
        line.clear();
    }
    Ok(())
}
