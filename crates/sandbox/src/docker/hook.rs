//! A place for whoever has something to do beside a container.

use std::fmt;

/// Told about each container before it starts and after it has ended.
pub trait ContainerHook: fmt::Debug + Send + Sync {
    /// The engine has made a container, which it calls by the first word of this, and has not started it. When this fails,
    /// the container is removed and never starts.
    fn created(&self, container_id: &str) -> Result<(), String>;

    /// The container is over.
    fn ended(&self, container_id: &str);
}
