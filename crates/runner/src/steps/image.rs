//! Tries out whether an image has what a run needs of it, before the agent finds out.

use std::time::Duration;

use fullsend_runtimes::{HOOK_CONFIG, PROGRAM};
use fullsend_sandbox::{ByteString, ExecRequest, SandboxBackend, SandboxError, SandboxSessionId};

use crate::stop::Stop;

/// What every runtime runs commands with.
const SHELL: &str = "/bin/sh";
/// What a tool returned that no check has anything to say about.
const NOTHING_TO_FIND: &[u8] = br#"{"tool_name":"Read","tool_input":{},"tool_response":""}"#;
/// How long a program may take to tell its version.
const PATIENCE: Duration = Duration::from_secs(60);
/// How much of what it said is told.
const LONGEST: usize = 300;

/// Runs the shell of the image, and has each of `programs`, which come from this machine, tell its version: an image without
/// the libraries that a program was built for cannot run it, and the system then only says that there is no such file.
///
/// Such programs ask the hook in the sandbox. Where that reaches nobody, `hooks` being on, every call would be denied.
pub(crate) async fn try_out(
    image: &str,
    backend: &dyn SandboxBackend,
    session: &SandboxSessionId,
    programs: &[String],
    hooks: bool,
) -> Result<(), Stop> {
    let shell = ExecRequest::new(SHELL, ["-c", "exit 0"].map(str::to_owned));
    if let Err(why) = run(backend, session, shell).await? {
        return Err(Stop::refused(
            format!("the image `{image}` has no `{SHELL}` that works: {why}"),
            "use an image with a shell and the programs that the agent needs, or run without one",
        ));
    }
    for program in programs {
        let asked = ExecRequest::new(program, ["--version".to_owned()]);
        if let Err(why) = run(backend, session, asked).await? {
            return Err(Stop::refused(
                format!(
                    "`{program}`, which is a program of this machine, does not run in the image `{image}`: {why}"
                ),
                "use an image with the libraries it was built for (glibc, as in images of Debian or Ubuntu), or run without one",
            ));
        }
    }
    if hooks && !programs.is_empty() {
        let mut asked =
            ExecRequest::new(PROGRAM, ["hook", "post-tool", "--config", HOOK_CONFIG].map(str::to_owned));
        asked.stdin = Some(ByteString(NOTHING_TO_FIND.to_vec()));
        if let Err(why) = run(backend, session, asked).await? {
            return Err(Stop::refused(
                format!("hooks do not work in the container: {why}"),
                "use a runtime of containers that lets sockets of the host through (`runsc --host-uds=open`), the runtime \
                 `native`, or no image",
            ));
        }
    }
    Ok(())
}

/// Runs a program to its end; the inner error is what went wrong with the program itself.
async fn run(
    backend: &dyn SandboxBackend,
    session: &SandboxSessionId,
    request: ExecRequest,
) -> Result<Result<(), String>, Stop> {
    let ran = match backend.exec(session, ExecRequest { timeout: Some(PATIENCE), ..request }).await {
        Ok(ran) => ran,
        Err(SandboxError::NotStarted { source, .. }) => {
            let missing = source.kind() == std::io::ErrorKind::NotFound;
            let why =
                if missing { "it, or what loads it, is not there".to_owned() } else { source.to_string() };
            return Ok(Err(why));
        }
        Err(error) => return Err(error.into()),
    };
    if ran.success() {
        return Ok(Ok(()));
    }
    let said = String::from_utf8_lossy(&ran.stderr.0);
    let said: String =
        said.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().chars().take(LONGEST).collect();
    let said = fullsend_runtimes::harmless(said.trim());
    Ok(Err(match said.is_empty() {
        true => format!("it ended with exit code {}", ran.exit_code),
        false => said,
    }))
}
