//! Links the program statically where the C library allows it. Hooks start it twice for every tool call, and each shared
//! library that the loader has to find, map and relocate first costs more than most checks; a program that needs no
//! library also runs in whatever image a sandbox is made of.

use std::env;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the standard library asks the linker for, and the static library that answers.
const LIBRARIES: [(&str, &str); 7] = [
    ("libc.a", "libc.a"),
    ("libm.a", "libm.a"),
    ("libdl.a", "libdl.a"),
    ("librt.a", "librt.a"),
    ("libutil.a", "libutil.a"),
    ("libpthread.a", "libpthread.a"),
    // The unwinder has another name in its static form.
    ("libgcc_s.a", "libgcc_eh.a"),
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let native = variable("HOST") == variable("TARGET");
    if !native || variable("CARGO_CFG_TARGET_OS") != "linux" || variable("CARGO_CFG_TARGET_ENV") != "gnu" {
        return;
    }
    let directory = PathBuf::from(variable("OUT_DIR")).join("static");
    if lay_out(&directory).is_some() {
        // The linker takes the first directory that has any form of a library, so these come before the shared ones. Not a
        // search path of the package: its tests are linked as usual, and would get half of each form.
        println!("cargo::rustc-link-arg-bins=-L{}", directory.display());
        println!("cargo::rustc-link-arg-bins=-static-pie");
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// None when one of the libraries is not installed.
fn lay_out(directory: &Path) -> Option<()> {
    std::fs::create_dir_all(directory).ok()?;
    for (asked, answer) in LIBRARIES {
        let found = Command::new("cc").arg(format!("-print-file-name={answer}")).output().ok()?;
        let found = PathBuf::from(String::from_utf8(found.stdout).ok()?.trim());
        // The compiler driver repeats the bare name of what it does not find.
        if !found.is_absolute() {
            return None;
        }
        let link = directory.join(asked);
        let _ = std::fs::remove_file(&link);
        symlink(found, link).ok()?;
    }
    Some(())
}
