//! Telling someone what is being waited for.

use std::fmt;

/// Hears of downloads while they happen. Calls come from any thread, and must not block.
pub trait Progress: fmt::Debug + Send + Sync {
    /// A download from a host begins.
    fn started(&self, host: &str);

    /// A download from a host has arrived.
    fn arrived(&self, host: &str, files: usize, bytes: u64);
}

/// Nobody listens.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn started(&self, _host: &str) {}

    fn arrived(&self, _host: &str, _files: usize, _bytes: u64) {}
}
