//! Runtimes, the real programs among them, in the sandbox of this machine.

mod suite {
    pub(crate) mod claude;
}
mod support {
    pub(crate) mod scenario;
    pub(crate) mod scene;
}
