//! Which of the usual programs the sandbox has.

use std::collections::BTreeMap;
use std::time::Duration;

use fullsend_sandbox::{ExecRequest, SandboxError};
use serde::{Deserialize, Serialize};

use super::{Capture, CaptureLimits, Execution, Nowhere};
use crate::tool::ToolFault;

/// What is looked for.
pub const PROGRAMS: [&str; 7] = ["bash", "sh", "node", "deno", "python", "python3", "git"];

/// One line for each program: its name and its path; nothing after the name if it is missing. Asking programs for their
/// versions would start each of them, which takes longer than many runs.
const PROBE: &str = r#"for name in "$@"; do
  path=$(command -v "$name") || path=
  printf '%s\t%s\n' "$name" "$path"
done"#;

/// The longest that all of them may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// Always `fullsend.capability-snapshot`.
    pub r#type: String,
    /// The backend that runs commands: `local`, `docker`.
    pub sandbox: String,
    /// What was looked for.
    pub commands: BTreeMap<String, Command>,
}

/// One program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// Whether it is there.
    pub present: bool,
    /// Where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

impl Execution {
    /// Looks which programs there are. Takes a while: run it beside something else.
    pub async fn probe(&self) -> Result<Capabilities, ToolFault> {
        let arguments = ["-c", PROBE, "probe"].into_iter().chain(PROGRAMS);
        let request = ExecRequest { timeout: Some(TIMEOUT), ..ExecRequest::new("/bin/sh", arguments) };
        let capture = Capture { output_id: "capabilities", limits: LIMITS, spill: &Nowhere, listener: None };
        let captured = self.run_aside(request, capture).await?;
        if captured.exit.exit_code != 0 {
            let code = captured.exit.exit_code;
            return Err(
                SandboxError::Exec(format!("looking for programs in the sandbox ended with {code}")).into()
            );
        }
        Ok(Capabilities {
            r#type: "fullsend.capability-snapshot".to_owned(),
            sandbox: self.backend_name().to_owned(),
            commands: read(&captured.stdout.text),
        })
    }
}

/// Enough for every line.
const LIMITS: CaptureLimits = CaptureLimits { head: 16_000, tail: 4_000, file_bytes: 0 };

/// Lines that are none of ours are ignored: programs write what they like.
fn read(text: &str) -> BTreeMap<String, Command> {
    let mut commands: BTreeMap<String, Command> =
        PROGRAMS.iter().map(|name| ((*name).to_owned(), Command::default())).collect();
    for line in text.lines() {
        let Some((name, path)) = line.split_once('\t').filter(|(_, path)| !path.is_empty()) else { continue };
        let Some(command) = commands.get_mut(name) else { continue };
        *command = Command { present: true, path: Some(path.to_owned()) };
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::{Command, PROGRAMS, read};

    #[test]
    fn lines_of_programs_are_read_and_others_are_not() {
        let commands = read("bash\t/bin/bash\nsh\t/bin/sh\nnode\t\nevil\t/x\n\n\t\n");
        assert_eq!(commands.len(), PROGRAMS.len());
        let found = |path: &str| Command { present: true, path: Some(path.to_owned()) };
        assert_eq!(commands["bash"], found("/bin/bash"));
        assert_eq!(commands["sh"], found("/bin/sh"));
        assert_eq!(commands["node"], Command::default());
        assert!(!read("")["git"].present);
    }
}
