//! Builds the program that runs inside sandboxes, linked statically so that it needs nothing of the files it will see,
//! and lays it where `include_bytes!` finds it.
#![expect(clippy::expect_used, reason = "a build script has nobody to return an error to")]

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    let out = PathBuf::from(variable("OUT_DIR"));
    let target = variable("TARGET");
    let build = out.join("build");
    let status = Command::new(variable("CARGO"))
        .args(["build", "--quiet", "--package", "fullsend-sandbox-init", "--bin", "fullsend-sandbox-init"])
        .args(["--profile", "sandbox-init", "--target", &target, "--target-dir"])
        .arg(&build)
        // Flags and wrappers of the outer build are for other programs: coverage, linters.
        .env("CARGO_ENCODED_RUSTFLAGS", "-Ctarget-feature=+crt-static\u{1f}-Crelocation-model=static")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("RUSTFLAGS")
        .status();
    let built = status.is_ok_and(|status| status.success());
    assert!(
        built,
        "cannot build fullsend-sandbox-init; it is linked statically, which needs the C library's static form (libc.a: libc6-dev on Debian, glibc-static on Fedora)"
    );
    let program = build.join(target).join("sandbox-init/fullsend-sandbox-init");
    std::fs::copy(program, out.join("fullsend-sandbox-init")).expect("the program was just built");
    for input in ["build.rs", "init/src", "init/Cargo.toml", "../../Cargo.lock"] {
        println!("cargo::rerun-if-changed={input}");
    }
}

fn variable(name: &str) -> String {
    env::var(name).expect("cargo sets it for build scripts")
}
