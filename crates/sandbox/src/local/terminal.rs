//! The host's side of a command's terminal.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use bytes::Bytes;
use tokio::io::unix::AsyncFd;

use super::watched::watch;

/// Terminals give out a few kilobytes at a time.
const CHUNK: usize = 16 << 10;

/// The master side of a terminal.
#[derive(Debug)]
pub(crate) struct Terminal {
    master: AsyncFd<OwnedFd>,
    open: bool,
}

impl Terminal {
    pub(crate) fn new(master: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&master, true)?;
        Ok(Self { master: watch(master)?, open: true })
    }

    /// Whether output can still come.
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    pub(crate) fn close_output(&mut self) {
        self.open = false;
    }

    /// The next output; `None` when nobody has the terminal open any more.
    pub(crate) async fn read(&self) -> Option<Bytes> {
        loop {
            let mut ready = self.master.readable().await.ok()?;
            match ready.try_io(|master| read_some(master.get_ref())) {
                Ok(read) => return read.ok().flatten(),
                Err(_would_block) => {}
            }
        }
    }

    /// Output that is there already.
    pub(crate) fn read_now(&self) -> Option<Bytes> {
        read_some(self.master.get_ref()).ok().flatten()
    }

    pub(crate) async fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let mut ready = self.master.writable().await?;
            match ready.try_io(|master| Ok(rustix::io::write(master.get_ref(), bytes)?)) {
                Ok(written) => return written,
                Err(_would_block) => {}
            }
        }
    }

    /// The character that ends input at a terminal with default settings.
    pub(crate) fn end_of_file(&self) -> Bytes {
        Bytes::from_static(&[4])
    }
}

impl AsFd for Terminal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.master.get_ref().as_fd()
    }
}

/// A terminal whose other side is closed reports an input/output error rather than an end.
fn read_some(master: &OwnedFd) -> io::Result<Option<Bytes>> {
    let mut chunk = [0; CHUNK];
    match rustix::io::read(master, &mut chunk) {
        Ok(0) | Err(rustix::io::Errno::IO) => Ok(None),
        Ok(count) => Ok(Some(Bytes::copy_from_slice(chunk.get(..count).unwrap_or_default()))),
        Err(error) => Err(error.into()),
    }
}
