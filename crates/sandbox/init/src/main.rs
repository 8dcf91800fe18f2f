//! Started by `fullsend`, never by hand: a sandbox's launcher, or process 1 of a container. The control channel is
//! standard input, and in a container standard output as well.

use std::process::ExitCode;

use fullsend_sandbox_init::channel::Channel;
use fullsend_sandbox_init::kernel::descriptors;
use fullsend_sandbox_init::{container, launcher, owners};

/// Says that this is a container.
const CONTAINER: &str = "container";
/// Asks for a user namespace that says who owns what.
const OWNERS: &str = "owners";

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some(CONTAINER) => return ExitCode::from(container::run() as u8),
        Some(OWNERS) => return owners::run().map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS),
        Some(_) | None => {}
    }
    let served = descriptors::take_standard_input().and_then(|control| launcher::run(&Channel::new(control)));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
