//! Our standard input, for the command.

use std::io::{self, Read as _};
use std::thread;

use bytes::Bytes;
use tokio::sync::mpsc;

/// What is read at a time.
const CHUNK: usize = 64 * 1024;

/// Reads standard input in a thread of its own: only a thread can wait for any kind of file. The channel ends with it.
pub(super) fn start() -> mpsc::Receiver<Bytes> {
    let (sender, receiver) = mpsc::channel(1);
    thread::spawn(move || {
        let mut buffer = vec![0; CHUNK];
        loop {
            match io::stdin().lock().read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Input that cannot be read is at its end, as for any program.
                Ok(0) | Err(_) => return,
                Ok(count) => {
                    let chunk = Bytes::copy_from_slice(buffer.get(..count).unwrap_or_default());
                    if sender.blocking_send(chunk).is_err() {
                        return;
                    }
                }
            }
        }
    });
    receiver
}
