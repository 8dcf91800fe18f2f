//! How much a directory may be.

/// The limits of one directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeLimits {
    /// The most files.
    pub max_files: usize,
    /// The most bytes of all files together.
    pub max_bytes: u64,
    /// The most requests for the listing. Files are not counted here.
    pub max_requests: usize,
}

impl Default for TreeLimits {
    /// 1000 files, 50 MiB, 100 requests.
    fn default() -> Self {
        Self { max_files: 1000, max_bytes: 50 * 1024 * 1024, max_requests: 100 }
    }
}
