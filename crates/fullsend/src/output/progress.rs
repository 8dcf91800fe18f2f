//! What is being waited for, on a terminal; nothing where there is none.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fullsend_resolve::Progress;
use indicatif::{HumanBytes, ProgressBar};

/// A line on standard error that is rewritten while downloads come in, and disappears in the end.
#[derive(Debug)]
pub(crate) struct Downloads {
    line: ProgressBar,
    waiting: AtomicU64,
    files: AtomicU64,
    bytes: AtomicU64,
}

impl Downloads {
    /// A line that shows itself when the first download begins, on a terminal only.
    pub(crate) fn new() -> Self {
        Self {
            line: ProgressBar::new_spinner(),
            waiting: AtomicU64::new(0),
            files: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    fn show(&self, host: &str) {
        let (files, bytes) = (self.files.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed));
        let waiting = self.waiting.load(Ordering::Relaxed);
        self.line
            .set_message(format!("{host}: waiting for {waiting}, have {files} files, {}", HumanBytes(bytes)));
    }
}

impl Progress for Downloads {
    fn started(&self, host: &str) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.line.enable_steady_tick(Duration::from_millis(120));
        self.show(host);
    }

    fn arrived(&self, host: &str, files: usize, bytes: u64) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        self.files.fetch_add(files as u64, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.show(host);
    }
}

impl Drop for Downloads {
    fn drop(&mut self) {
        self.line.finish_and_clear();
    }
}
