//! Installs what tests and fuzzing need beyond Rust, so that nobody has to read a list of prerequisites.
//!
//! Each need is one line in a list below. What cannot be installed becomes a skip, said aloud at the end of a
//! test run, never an error: the rest of the tests is still worth running.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::engine::{Engine, IMAGE};
use crate::process;
use crate::repo::Repo;
use crate::totals::Skip;
use crate::version::Version;

/// What `cargo xtask test` needs.
pub(crate) const FOR_TESTS: &[Requirement] = &[
    CARGO_DENY,
    CLAUDE,
    CODEX,
    debian("bubblewrap", "bwrap"),
    debian("busybox-static", "busybox"),
    debian("chromium", "chromium"),
    debian("docker.io", "dockerd"),
    // Newer releases have the client in a package of its own.
    debian("docker-cli", "docker"),
    debian("runsc", "runsc"),
    LITELLM,
    OPENCODE,
];
/// What `cargo xtask fuzz` needs: libFuzzer is C++ and is compiled from source.
pub(crate) const FOR_FUZZING: &[Requirement] = &[debian("g++", "g++")];

const fn debian(name: &'static str, program: &'static str) -> Requirement {
    Requirement { name, kind: Kind::DebianPackage { program } }
}

/// Checks dependencies against `deny.toml`.
pub(crate) const CARGO_DENY: Requirement =
    Requirement { name: "cargo-deny", kind: Kind::CargoTool { version: "0.20.2" } };

/// A gateway that many people put before their models; tests drive the agent through the real one.
const LITELLM: Requirement =
    Requirement { name: "litellm", kind: Kind::PythonTool { package: "litellm[proxy]", version: "1.106.2" } };

/// Agents of other makers; tests run the real ones under our hooks. A newer version may behave differently, so the versions
/// are those of which decision record 20 tells.
const CLAUDE: Requirement = Requirement {
    name: "claude",
    kind: Kind::NpmTool { package: "@anthropic-ai/claude-code", version: "2.1.325" },
};
const CODEX: Requirement =
    Requirement { name: "codex", kind: Kind::NpmTool { package: "@openai/codex", version: "0.166.0" } };
const OPENCODE: Requirement =
    Requirement { name: "opencode", kind: Kind::NpmTool { package: "opencode-ai", version: "1.18.33" } };

/// Pauses before the second and third try: registries and mirrors have short outages.
const PAUSES: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(8)];

/// Tools run for a second at a time, so compile time is what their users wait for: without optimisation and
/// link-time optimisation cargo-deny builds in about a third of the processor time.
const QUICK_BUILD: [&str; 4] = [
    "profile.release.opt-level=0",
    "profile.release.lto=\"off\"",
    "profile.release.codegen-units=16",
    "profile.release.strip=false",
];

/// One program that has to be there.
#[derive(Debug)]
pub(crate) struct Requirement {
    name: &'static str,
    kind: Kind,
}

/// Where a program comes from, which decides how to look for it and how to install it.
#[derive(Debug)]
enum Kind {
    /// A package with a binary of the same name, of at least this version, installed into `.tools`.
    CargoTool { version: &'static str },
    /// A Debian or Ubuntu package, present when `program` can be found.
    DebianPackage { program: &'static str },
    /// A Python package with a program of the requirement's name, in a virtual environment below `.tools/python`.
    PythonTool { package: &'static str, version: &'static str },
    /// A package of npm with a program of the requirement's name, in a directory below `.tools/npm`.
    NpmTool { package: &'static str, version: &'static str },
}

impl Requirement {
    /// The program, if it is there in a sufficient version.
    pub(crate) fn locate(&self, repo: &Repo) -> Option<PathBuf> {
        match self.kind {
            Kind::CargoTool { version } => {
                let wanted = Version::parse(version)?;
                let candidates =
                    [repo.join(".tools/bin").join(self.name)].into_iter().chain(in_path(self.name));
                candidates.into_iter().find(|path| version_of(path).is_some_and(|found| found >= wanted))
            }
            Kind::DebianPackage { program } => in_path(program),
            Kind::PythonTool { version, .. } => {
                // Asking the program itself takes it many seconds.
                let place = python_place(repo, self.name);
                let installed = std::fs::read_to_string(place.join(INSTALLED)).ok()?;
                (installed == version).then(|| place.join("bin").join(self.name))
            }
            Kind::NpmTool { version, .. } => {
                let place = npm_place(repo, self.name);
                let installed = std::fs::read_to_string(place.join(INSTALLED)).ok()?;
                (installed == version).then(|| place.join("node_modules/.bin").join(self.name))
            }
        }
    }

    /// Makes sure the program is there.
    fn ensure(&self, repo: &Repo) -> Result<PathBuf, Skip> {
        if let Some(path) = self.locate(repo) {
            return Ok(path);
        }
        println!("setup: installing {}", self.name);
        let installed = retry(|| self.install(repo)).and_then(|()| {
            self.locate(repo).context("the installation succeeded, but the program cannot be found")
        });
        installed.map_err(|error| Skip {
            name: self.name.to_owned(),
            reason: format!("could not be installed: {}", one_line(&error)),
        })
    }

    fn install(&self, repo: &Repo) -> Result<()> {
        match self.kind {
            Kind::CargoTool { version } => install_cargo_tool(repo, self.name, version),
            Kind::DebianPackage { .. } => install_debian_package(repo, self.name),
            Kind::PythonTool { package, version } => install_python_tool(repo, self.name, package, version),
            Kind::NpmTool { package, version } => install_npm_tool(repo, self.name, package, version),
        }
    }
}

/// The `setup` command: everything for tests, said line by line.
pub(crate) fn run(repo: &Repo) {
    for requirement in FOR_TESTS {
        match requirement.ensure(repo) {
            Ok(path) => println!("{}: {}", requirement.name, path.display()),
            Err(skip) => println!("SKIPPED: {}: {}", skip.name, skip.reason),
        }
    }
    match Engine::ready(repo) {
        Ok(engine) => println!("container engine: {engine}, with the image {IMAGE}"),
        Err(skip) => println!("SKIPPED: {}: {}", skip.name, skip.reason),
    }
}

/// Installs what is missing and returns what could not be installed.
pub(crate) fn ensure_all(repo: &Repo, requirements: &[Requirement]) -> Vec<Skip> {
    requirements.iter().filter_map(|requirement| requirement.ensure(repo).err()).collect()
}

fn install_cargo_tool(repo: &Repo, name: &str, version: &str) -> Result<()> {
    // A build directory of its own lets a second try continue where the first one stopped.
    let build = repo.join(".tools/build");
    let mut cargo = repo.cargo();
    cargo.args(["install", "--locked", "--quiet", &format!("{name}@{version}")]);
    cargo.arg("--root").arg(repo.join(".tools")).arg("--target-dir").arg(&build);
    cargo.args(QUICK_BUILD.iter().flat_map(|setting| ["--config", setting]));
    process::capture(&mut cargo)?;
    std::fs::remove_dir_all(&build).with_context(|| format!("cannot remove {}", build.display()))
}

fn install_debian_package(repo: &Repo, name: &str) -> Result<()> {
    let apt = |arguments: &[&str]| {
        let mut command = repo.command("apt-get");
        process::capture(command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    apt(&["update", "-qq"])?;
    apt(&["install", "-y", "-qq", "--no-install-recommends", name])?;
    Ok(())
}

/// Written last into the directory of a tool: the version of what is in it.
const INSTALLED: &str = "installed-version";

fn python_place(repo: &Repo, name: &str) -> PathBuf {
    repo.join(".tools/python").join(name)
}

fn install_python_tool(repo: &Repo, name: &str, package: &str, version: &str) -> Result<()> {
    let place = python_place(repo, name);
    // Debian keeps what makes virtual environments in a package of its own.
    if process::capture(repo.command("python3").args(["-m", "ensurepip", "--version"])).is_err() {
        install_debian_package(repo, "python3-venv")?;
    }
    process::capture(repo.command("python3").args(["-m", "venv", "--clear"]).arg(&place))?;
    let mut pip = repo.command(place.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", &format!("{package}=={version}")]);
    process::capture(&mut pip)?;
    std::fs::write(place.join(INSTALLED), version)
        .with_context(|| format!("cannot write into {}", place.display()))
}

fn npm_place(repo: &Repo, name: &str) -> PathBuf {
    repo.join(".tools/npm").join(name)
}

/// What packages want to run when they are installed is not run: the programs are used as they come.
fn install_npm_tool(repo: &Repo, name: &str, package: &str, version: &str) -> Result<()> {
    let place = npm_place(repo, name);
    for (package, program) in [("nodejs", "node"), ("npm", "npm")] {
        if in_path(program).is_none() {
            install_debian_package(repo, package)?;
        }
    }
    let failed = || format!("cannot write into {}", place.display());
    std::fs::create_dir_all(&place).with_context(failed)?;
    let mut npm = repo.command("npm");
    npm.args(["install", "--silent", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts", "--prefix"]);
    npm.arg(&place).arg(format!("{package}@{version}"));
    process::capture(&mut npm)?;
    std::fs::write(place.join(INSTALLED), version).with_context(failed)
}

fn retry(mut attempt: impl FnMut() -> Result<()>) -> Result<()> {
    for pause in PAUSES {
        if attempt().is_ok() {
            return Ok(());
        }
        std::thread::sleep(pause);
    }
    attempt()
}

/// Where a program is. Daemons are in directories that are not in everybody's `PATH`.
pub(crate) fn in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    directories.map(|directory| directory.join(program)).find(|file| file.is_file())
}

fn version_of(program: &PathBuf) -> Option<Version> {
    let output = process::capture(Command::new(program).arg("--version")).ok()?;
    Version::find(&output)
}

/// What the installer said, without our command line and short enough for a closing line. Installers report what
/// went wrong at the end.
fn one_line(error: &anyhow::Error) -> String {
    const LONGEST: usize = 300;
    let message = error.root_cause().to_string();
    let words = message.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().rev().nth(LONGEST) {
        Some((start, _)) => format!("…{}", words.get(start..).unwrap_or_default()),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::one_line;

    #[test]
    fn a_long_error_keeps_its_end() {
        let error =
            anyhow!("{}\nno route to host", "Compiling é\n".repeat(100)).context("cargo install failed");
        let line = one_line(&error);
        assert!(line.starts_with('…') && line.ends_with("no route to host"), "{line}");
        assert!(!line.contains('\n') && line.chars().count() <= 302, "{line}");
    }
}
