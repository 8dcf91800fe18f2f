//! The side of the hook process.

use std::io::Write as _;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use super::error::AskError;
use super::wire::{self, LONGEST_INPUT, Reply, Timed};
use crate::hook::HookPhase;

/// Asks the service behind `socket` about a hook call, and waits for the answer no longer than `patience`.
///
/// The socket must be on a path that the agent cannot replace, which a read-only mount is. When there is no answer, the
/// caller denies.
pub fn ask(socket: &Path, phase: HookPhase, input: &[u8], patience: Duration) -> Result<Reply, AskError> {
    let too_long = AskError::TooLong { length: input.len(), limit: LONGEST_INPUT };
    let length = u32::try_from(input.len()).ok().filter(|_| input.len() <= LONGEST_INPUT).ok_or(too_long)?;
    let stream = reach(socket, patience)
        .map_err(|error| AskError::Unreachable { path: socket.to_owned(), source: error.into() })?;
    let mut timed = Timed::new(&stream, patience);
    timed.write_all(&wire::question_head(phase, length)).map_err(wire::unanswered)?;
    timed.write_all(input).map_err(wire::unanswered)?;
    stream.shutdown(Shutdown::Write).map_err(wire::unanswered)?;
    wire::read_answer(&mut timed)
}

/// Connects; with a limit, because a service that has many connections lets others wait.
fn reach(socket: &Path, patience: Duration) -> rustix::io::Result<UnixStream> {
    let address = SocketAddrUnix::new(socket)?;
    let descriptor = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&descriptor, Timeout::Send, Some(patience))?;
    connect(&descriptor, &address)?;
    Ok(descriptor.into())
}
