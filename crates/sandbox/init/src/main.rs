//! Started by `fullsend`, never by hand: a sandbox's launcher. The control channel is standard input.

use std::process::ExitCode;

use fullsend_sandbox_init::channel::Channel;
use fullsend_sandbox_init::kernel::descriptors;
use fullsend_sandbox_init::launcher;

fn main() -> ExitCode {
    let served = descriptors::take_standard_input().and_then(|control| launcher::run(&Channel::new(control)));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
