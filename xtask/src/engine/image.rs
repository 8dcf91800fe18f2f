//! The image that container tests run in, made of programs of this machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use super::IMAGE;
use crate::process;
use crate::repo::Repo;
use crate::setup::in_path;

/// Directories that every image has; mounts need their targets to exist when the root is read-only.
const DIRECTORIES: [&str; 9] = ["usr/bin", "etc", "tmp", "proc", "sys", "dev", "run", "usr/lib", "var/tmp"];

/// Programs beyond busybox that are worth having where the machine has them, with the libraries they load.
const PROGRAMS: &str = "bash cat cksum cp curl cut date dd env find git grep head id ln ls mkdir mkfifo mktemp mv od \
    printenv python3 readlink rm sed seq setsid sh sleep sort stat stty tail tar tee timeout touch tr tty unshare wc xargs";
/// Libraries of the same system that programs of other makers load, agents among them.
const LIBRARIES: [&str; 4] = ["libdl.so.2", "libm.so.6", "libpthread.so.0", "librt.so.1"];
/// Data that programs read; a directory or file that the machine does not have is left out.
const DATA: [&str; 1] = ["/usr/share/zoneinfo/Europe"];

/// Puts the image into the engine that `docker` speaks to.
pub(super) fn import(repo: &Repo, docker: impl Fn(&[&str]) -> Command) -> Result<()> {
    let root = repo.target_dir()?.join(format!("test-image-{}", std::process::id()));
    let imported = fill(&root).and_then(|()| send(&root, docker(&["import", "-", IMAGE])));
    std::fs::remove_dir_all(&root).with_context(|| format!("cannot remove {}", root.display()))?;
    imported
}

fn fill(root: &Path) -> Result<()> {
    for directory in DIRECTORIES {
        std::fs::create_dir_all(root.join(directory))?;
    }
    let busybox = in_path("busybox").context("there is no busybox to make the test image of")?;
    std::fs::copy(&busybox, root.join("usr/bin/busybox"))?;
    let applets = process::capture(Command::new(&busybox).arg("--list"))?;
    for applet in applets.lines().filter(|applet| *applet != "busybox") {
        std::os::unix::fs::symlink("busybox", root.join("usr/bin").join(applet))?;
    }
    for (link, target) in
        [("bin", "usr/bin"), ("sbin", "usr/bin"), ("lib", "usr/lib"), ("lib64", "usr/lib64")]
    {
        std::fs::create_dir_all(root.join(target))?;
        std::os::unix::fs::symlink(target, root.join(link))?;
    }
    std::fs::write(root.join("etc/passwd"), "root:x:0:0::/:/bin/sh\n")?;
    std::fs::write(root.join("etc/nsswitch.conf"), "hosts: files dns\n")?;
    let programs = PROGRAMS.split_whitespace().map(|name| Path::new("/usr/bin").join(name));
    for program in programs.filter(|program| program.is_file()) {
        add_program(root, &program)?;
    }
    add_libraries(root)?;
    for data in DATA.iter().map(Path::new).filter(|data| data.is_dir()) {
        copy_tree(data, &root.join(data.strip_prefix("/")?))?;
    }
    add_python_library(root)
}

/// A program and everything the dynamic linker would load for it.
fn add_program(root: &Path, program: &Path) -> Result<()> {
    let name = program.file_name().context("a program has a name")?;
    let place = root.join("usr/bin").join(name);
    // Busybox has applets of some of these names.
    if place.is_symlink() {
        std::fs::remove_file(&place)?;
    }
    std::fs::copy(program, place)?;
    for library in libraries(program)? {
        let place = root.join(library.strip_prefix("/")?);
        std::fs::create_dir_all(place.parent().context("a library is in a directory")?)?;
        std::fs::copy(&library, place)?;
    }
    Ok(())
}

/// Libraries that lie beside the one that every program loads.
fn add_libraries(root: &Path) -> Result<()> {
    let known = libraries(Path::new("/usr/bin/env"))?;
    let beside =
        known.iter().find(|library| library.ends_with("libc.so.6")).and_then(|library| library.parent());
    let Some(beside) = beside else { return Ok(()) };
    for library in LIBRARIES.iter().map(|name| beside.join(name)).filter(|library| library.is_file()) {
        std::fs::copy(&library, root.join(library.strip_prefix("/")?))?;
    }
    Ok(())
}

/// The absolute paths in what `ldd` prints.
fn libraries(program: &Path) -> Result<Vec<PathBuf>> {
    let printed = process::capture(Command::new("ldd").arg(program))?;
    let words = printed.split_whitespace().filter(|word| word.starts_with('/'));
    Ok(words.map(PathBuf::from).collect())
}

/// Python is of no use without its library; its tests and compiled copies are left out.
fn add_python_library(root: &Path) -> Result<()> {
    let python = Path::new("/usr/bin/python3");
    if !python.is_file() {
        return Ok(());
    }
    let question = "import sysconfig; print(sysconfig.get_path('stdlib'))";
    let directory = PathBuf::from(process::capture(Command::new(python).args(["-c", question]))?.trim());
    let place = root.join(directory.strip_prefix("/")?);
    copy_tree(&directory, &place)
}

fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    const LEFT_OUT: [&str; 5] = ["test", "__pycache__", "idlelib", "ensurepip", "lib2to3"];
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (source, place) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            if !LEFT_OUT.iter().any(|name| entry.file_name() == *name) {
                copy_tree(&source, &place)?;
            }
        } else if source.is_file() {
            std::fs::copy(&source, place)?;
        }
    }
    Ok(())
}

/// `tar` into `docker import`.
fn send(root: &Path, mut import: Command) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.arg("-C").arg(root).args(["--owner=0", "--group=0", "--mode=a+rX,go-w", "-c", "."]);
    let mut tar = tar.stdout(Stdio::piped()).spawn().context("cannot start tar")?;
    let archive = tar.stdout.take().context("tar has an output")?;
    let imported = process::capture(import.stdin(archive));
    if !tar.wait()?.success() {
        bail!("tar could not pack {}", root.display());
    }
    imported.map(drop)
}
