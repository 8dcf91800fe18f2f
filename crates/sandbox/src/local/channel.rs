//! The host's end of a connection to a program inside: messages with descriptors, without blocking.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use fullsend_sandbox_init::channel::{body_length, frame, receive_part, send_part};
use fullsend_sandbox_init::wire::Wire;
use rustix::net::SendFlags;
use tokio::io::unix::AsyncFd;

use super::watched::watch;

/// Sends whole messages; many tasks may share it behind a lock.
#[derive(Debug)]
pub(crate) struct HostChannel {
    socket: AsyncFd<OwnedFd>,
}

/// What has arrived of a message that is not complete yet. Survives a receiving future that is dropped.
#[derive(Debug, Default)]
pub(crate) struct Partial {
    header: Vec<u8>,
    body: Vec<u8>,
    descriptors: Vec<OwnedFd>,
}

impl HostChannel {
    /// Takes a stream socket that does not block.
    pub(crate) fn new(socket: OwnedFd) -> io::Result<Self> {
        Ok(Self { socket: watch(socket)? })
    }

    pub(crate) async fn send(&self, message: &impl Wire, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let frame = frame(&message.to_bytes())?;
        let mut rest = frame.as_slice();
        let mut descriptors = descriptors;
        while !rest.is_empty() {
            // Usually there is room, and no need to ask.
            let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
            match send_part(self.socket.get_ref().as_fd(), rest, descriptors, flags) {
                Ok(sent) => {
                    rest = rest.get(sent..).unwrap_or_default();
                    descriptors = &[];
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.socket.writable().await?.clear_ready();
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Sends a short message now or not at all; for places that cannot wait.
    pub(crate) fn send_now(&self, message: &impl Wire) -> io::Result<()> {
        let frame = frame(&message.to_bytes())?;
        send_part(self.socket.get_ref().as_fd(), &frame, &[], SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
            .map(drop)
    }

    /// The next message with its descriptors; `None` when the other side is gone.
    pub(crate) async fn receive<T: Wire>(
        &self,
        partial: &mut Partial,
    ) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
        loop {
            let wanted = partial.wanted()?;
            if wanted == 0 {
                let done = std::mem::take(partial);
                let message = T::from_bytes(&done.body)
                    .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
                return Ok(Some((message, done.descriptors)));
            }
            let mut ready = self.socket.readable().await?;
            let mut buffer = [0; 4096];
            let room = buffer.get_mut(..wanted.min(4096)).unwrap_or_default();
            match ready
                .try_io(|socket| receive_part(socket.get_ref().as_fd(), room, &mut partial.descriptors))
            {
                Ok(Ok(0)) => return Ok(None),
                Ok(Ok(count)) => partial.add(buffer.get(..count).unwrap_or_default()),
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
                Ok(Err(error)) => return Err(error),
                Err(_would_block) => {}
            }
        }
    }
}

impl Partial {
    /// How many bytes are missing; zero when the message is complete.
    fn wanted(&self) -> io::Result<usize> {
        match self.header.first_chunk::<4>() {
            None => Ok(4 - self.header.len()),
            Some(header) => Ok(body_length(*header)?.saturating_sub(self.body.len())),
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        if self.header.len() < 4 {
            self.header.extend_from_slice(bytes)
        } else {
            self.body.extend_from_slice(bytes)
        }
    }
}
