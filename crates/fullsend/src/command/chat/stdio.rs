//! The chat protocol on standard input and output.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use fullsend_chat::store::Place;
use fullsend_chat::transport;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::super::sandbox::signals::Signals;
use super::{complain, database, held, service};
use crate::cli::ChatArgs;
use crate::exit::Exit;
use crate::output::{Advice, Output};

/// Serves until the input ends. Standard output carries nothing but the protocol.
pub(super) fn run(args: &ChatArgs, output: &mut Output) -> Result<Exit> {
    if args.place.cwd.is_some() {
        bail!(Advice::new(
            "`--cwd` is not for a service",
            "each session says where it begins, in `workspace.cwd` of `start_session`"
        ));
    }
    make_room_for_files();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let served = runtime.block_on(serve(args, output));
    // A thread that still waits for input must not hold up the end.
    runtime.shutdown_timeout(Duration::from_millis(100));
    match served {
        Ok(()) => Ok(Exit::Done),
        Err(error) => {
            output.failure(&error);
            Ok(Exit::Failed)
        }
    }
}

/// Lets this process have as many files open as it may. A turn needs about a dozen, so that the usual limit is too low for a
/// hundred turns at once. Commands in the sandbox have a limit of their own.
fn make_room_for_files() {
    let limit = getrlimit(Resource::Nofile);
    let _as_it_was = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

async fn serve(args: &ChatArgs, output: &mut Output) -> Result<()> {
    let mut signals = Signals::listen()?;
    let place = match database(args) {
        Some(path) => Place::File(path),
        None => Place::Temporary { keep: held(args)? },
    };
    let (service, _) = service(args, &place, Arc::new(complain), output)?;
    let stop = async {
        signals.ending().await;
    };
    Ok(transport::serve(service, tokio::io::stdin(), tokio::io::stdout(), stop).await?)
}
