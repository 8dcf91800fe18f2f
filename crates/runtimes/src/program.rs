//! The programs of other makers: where they are on the host, and where in the sandbox.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use fullsend_guard::hook::Runtime;
use fullsend_sandbox::{Endpoint, FilesystemMount, HttpRule, Secret};

use crate::runtime::RuntimeError;

/// Where programs are in the sandbox, read-only.
const PROGRAMS: &str = "/sandbox/program";
/// The name of the endpoint behind which the model is.
const ENDPOINT: &str = "model";

/// The service behind which the model is, and what proves who asks. None of it enters the sandbox.
#[derive(Clone, Debug)]
pub struct ModelService {
    /// `https://host[:port][/path]`, or `http://` for a gateway on this machine.
    pub upstream: String,
    /// Headers with the key.
    pub headers: Vec<(String, Secret)>,
}

impl ModelService {
    /// The same for a sandbox, open for requests to `paths` alone.
    pub(crate) fn endpoint(&self, paths: &[&str]) -> Endpoint {
        let rule = HttpRule {
            host: "model".to_owned(),
            methods: vec!["POST".to_owned()],
            paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        };
        Endpoint {
            name: ENDPOINT.to_owned(),
            upstream: self.upstream.clone(),
            headers: self.headers.clone(),
            rules: vec![rule],
        }
    }
}

/// What npm calls this processor.
const fn npm_processor() -> &'static str {
    if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" }
}

/// A program that runs by itself.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// The file, or the directory with what it needs beside it.
    source: PathBuf,
    /// The program in the sandbox.
    pub(crate) path: String,
    target: String,
}

impl Program {
    /// Finds the program that `path` is, or that the npm package with `path` in it starts.
    pub(crate) fn find(runtime: Runtime, path: &Path) -> Result<Self, RuntimeError> {
        let missing = || RuntimeError::NoProgram {
            runtime: runtime.as_str(),
            program: path.display().to_string(),
            help: format!("install it with `npm install -g {}`", package(runtime)),
        };
        let real = path.canonicalize().map_err(|_| missing())?;
        let native = if is_native(&real) { Some(real) } else { in_packages(runtime, &real) };
        let native = native.ok_or_else(missing)?;
        let name = runtime.as_str();
        let target = format!("{PROGRAMS}/{name}");
        // Codex brings programs that it looks for beside its own.
        let around = native.parent().filter(|bin| bin.ends_with("bin")).and_then(Path::parent);
        match around.filter(|around| runtime == Runtime::Codex && around.join("codex-path").is_dir()) {
            Some(around) => {
                let path = format!("{target}/bin/{name}");
                Ok(Self { source: around.to_owned(), path, target })
            }
            None => Ok(Self { source: native, path: target.clone(), target }),
        }
    }

    pub(crate) fn mount(&self) -> FilesystemMount {
        FilesystemMount::read_only(&self.source, &self.target)
    }
}

const fn package(runtime: Runtime) -> &'static str {
    match runtime {
        Runtime::Claude => "@anthropic-ai/claude-code",
        Runtime::Codex => "@openai/codex",
        Runtime::OpenCode => "opencode-ai",
        Runtime::Native | Runtime::Replay => "fullsend",
    }
}

/// The program itself is in a package for the processor beside the one with the script that starts it. What the script does
/// is not needed, so node is not either.
fn in_packages(runtime: Runtime, script: &Path) -> Option<PathBuf> {
    let processor = npm_processor();
    let triple = if processor == "x64" { "x86_64-unknown-linux-musl" } else { "aarch64-unknown-linux-musl" };
    let places = match runtime {
        Runtime::Claude => vec![format!("@anthropic-ai/claude-code-linux-{processor}/claude")],
        Runtime::Codex => vec![format!("@openai/codex-linux-{processor}/vendor/{triple}/bin/codex")],
        Runtime::OpenCode => {
            let plain = format!("opencode-linux-{processor}/bin/opencode");
            let baseline = format!("opencode-linux-{processor}-baseline/bin/opencode");
            if has_new_instructions() { vec![plain, baseline] } else { vec![baseline] }
        }
        Runtime::Native | Runtime::Replay => Vec::new(),
    };
    let modules = script.ancestors().skip(1).map(|above| above.join("node_modules"));
    modules
        .flat_map(|modules| places.iter().map(move |place| modules.join(place)).collect::<Vec<_>>())
        .filter_map(|place| place.canonicalize().ok())
        .find(|place| is_native(place))
}

/// Whether the processor can do what programs for newer ones expect.
fn has_new_instructions() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    return true;
}

fn is_native(path: &Path) -> bool {
    let mut start = [0; 4];
    path.is_file()
        && File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
        && start == *b"\x7fELF"
}

#[cfg(test)]
mod tests {
    use std::fs;

    use fullsend_guard::hook::Runtime;

    use super::{Program, npm_processor};

    #[test]
    fn a_script_leads_to_the_program_it_would_start() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let package = root.join("node_modules/@anthropic-ai/claude-code/bin");
        let native = root.join(format!("node_modules/@anthropic-ai/claude-code-linux-{}", npm_processor()));
        for directory in [&package, &native, &root.join("bin")] {
            fs::create_dir_all(directory).unwrap();
        }
        fs::write(package.join("claude.exe"), "#!/usr/bin/env node\n").unwrap();
        let link = root.join("bin/claude");
        std::os::unix::fs::symlink(package.join("claude.exe"), &link).unwrap();
        let error = Program::find(Runtime::Claude, &link).unwrap_err().to_string();
        assert!(error.contains("npm install -g @anthropic-ai/claude-code"), "{error}");
        fs::write(native.join("claude"), b"\x7fELF...").unwrap();
        let found = Program::find(Runtime::Claude, &link).unwrap();
        assert_eq!((found.source, found.path.as_str()), (native.join("claude"), "/sandbox/program/claude"));
        let direct = Program::find(Runtime::Claude, &native.join("claude")).unwrap();
        assert_eq!(direct.source, native.join("claude"));
        Program::find(Runtime::Claude, &root.join("nothing")).unwrap_err();
    }
}
