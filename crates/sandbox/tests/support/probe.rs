//! The program that attacks: compiled once, for this machine's kernel, without libraries.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use sha2::{Digest as _, Sha256};

/// All its sources.
const SOURCES: [(&str, &str); 9] = [
    ("probe.c", include_str!("../escape/probe.c")),
    ("probe/files.h", include_str!("../escape/probe/files.h")),
    ("probe/ipc.h", include_str!("../escape/probe/ipc.h")),
    ("probe/kernel.h", include_str!("../escape/probe/kernel.h")),
    ("probe/namespaces.h", include_str!("../escape/probe/namespaces.h")),
    ("probe/network.h", include_str!("../escape/probe/network.h")),
    ("probe/processes.h", include_str!("../escape/probe/processes.h")),
    ("probe/tools.h", include_str!("../escape/probe/tools.h")),
    ("probe/victim.h", include_str!("../escape/probe/victim.h")),
];

/// The compiled program, alone in its directory; or why there is none.
pub(crate) fn probe() -> Result<&'static Path, &'static str> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    BUILT.get_or_init(build).as_deref().map_err(String::as_str)
}

fn build() -> Result<PathBuf, String> {
    let mut hash = Sha256::new();
    for (name, text) in SOURCES {
        hash.update(name);
        hash.update(text);
    }
    let digest: String = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("probe-{digest}"));
    let program = directory.join("probe");
    if program.exists() {
        return Ok(program);
    }
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).map_err(|error| error.to_string())?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/escape/probe.c");
    let made = scratch.path().join("made");
    let output = Command::new("cc")
        .args(["-static", "-O1", "-o"])
        .args([&made, &source])
        .output()
        .map_err(|error| format!("there is no C compiler: {error}"))?;
    if !output.status.success() {
        return Err(format!("cc made no static program: {}", String::from_utf8_lossy(&output.stderr)));
    }
    // Tests in several processes may come here at once: each puts the same bytes into the same place.
    std::fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
    std::fs::rename(made, &program).map_err(|error| error.to_string())?;
    Ok(program)
}
