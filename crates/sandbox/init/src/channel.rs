//! Messages with descriptors over a stream socket, read and written to their end.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

use crate::wire::{Malformed, Wire};

/// How many descriptors a message may carry.
pub const MOST_DESCRIPTORS: usize = 64;
/// No message is larger: arguments and environment together are limited to a few megabytes by the kernel.
pub const LARGEST_MESSAGE: usize = 16 << 20;

/// One end of a connection between two programs of ours, used by one side at a time.
#[derive(Debug)]
pub struct Channel(OwnedFd);

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Channel {
    /// Wraps a connected stream socket in blocking mode.
    pub fn new(socket: OwnedFd) -> Self {
        Self(socket)
    }

    /// The socket.
    pub fn into_inner(self) -> OwnedFd {
        self.0
    }

    /// Sends a message with descriptors.
    pub fn send(&self, message: &impl Wire, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let frame = frame(&message.to_bytes())?;
        let mut rest = frame.as_slice();
        let mut descriptors = descriptors;
        while !rest.is_empty() {
            let sent = send_part(self.as_fd(), rest, descriptors, SendFlags::NOSIGNAL)?;
            rest = rest.get(sent..).unwrap_or_default();
            descriptors = &[];
        }
        Ok(())
    }

    /// Receives a message with its descriptors; `None` when the other side is gone.
    pub fn receive<T: Wire>(&self) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
        let mut descriptors = Vec::new();
        let mut header = [0; 4];
        if !self.fill(&mut header, &mut descriptors)? {
            return Ok(None);
        }
        let mut body = vec![0; body_length(header)?];
        if !self.fill(&mut body, &mut descriptors)? {
            return Ok(None);
        }
        let message = T::from_bytes(&body).map_err(malformed)?;
        Ok(Some((message, descriptors)))
    }

    fn fill(&self, buffer: &mut [u8], descriptors: &mut Vec<OwnedFd>) -> io::Result<bool> {
        let mut rest = buffer;
        while !rest.is_empty() {
            match receive_part(self.as_fd(), rest, descriptors) {
                Ok(0) => return Ok(false),
                Ok(count) => rest = rest.get_mut(count..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

/// A message with its length in front.
pub fn frame(body: &[u8]) -> io::Result<Vec<u8>> {
    if body.len() > LARGEST_MESSAGE {
        return Err(io::Error::from_raw_os_error(libc::E2BIG));
    }
    let mut frame = Vec::with_capacity(body.len() + 4);
    frame.extend_from_slice(&(body.len() as u32).to_le_bytes());
    frame.extend_from_slice(body);
    Ok(frame)
}

/// The length that a header announces, if it is one that we would send.
pub fn body_length(header: [u8; 4]) -> io::Result<usize> {
    let length = u32::from_le_bytes(header) as usize;
    if length > LARGEST_MESSAGE { Err(malformed(Malformed)) } else { Ok(length) }
}

/// Sends as much as the socket takes; the descriptors go with the first byte.
pub fn send_part(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
    flags: SendFlags,
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(sendmsg(socket, &[IoSlice::new(bytes)], &mut ancillary, flags)?)
}

/// Receives what is there, descriptors included; zero bytes mean that the other side is gone.
pub fn receive_part(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
    descriptors: &mut Vec<OwnedFd>,
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(socket, &mut [IoSliceMut::new(buffer)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(passed) = message {
            descriptors.extend(passed);
        }
    }
    Ok(received.bytes)
}

fn malformed(error: Malformed) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
