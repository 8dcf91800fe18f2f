//! Links the unwinder into the program. Hooks start it twice for every tool call, and each shared library that the loader
//! has to find, map and relocate first costs more than most checks.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |part: &str| env::var(format!("CARGO_CFG_TARGET_{part}")).unwrap_or_default();
    if target("OS") == "linux" && target("ENV") == "gnu" {
        // Comes with the compiler driver, like the rest of what a static program needs (see `sandbox/build.rs`).
        println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
    }
}
