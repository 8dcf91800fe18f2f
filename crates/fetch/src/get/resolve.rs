//! From host names to addresses.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;

/// A resolution under way.
pub type Resolving<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Finds the addresses of a host. Asked once per request; the whole answer is judged.
pub trait Resolve: fmt::Debug + Send + Sync {
    /// All addresses of `host`, in the order in which they should be tried.
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a>;
}

/// The resolver of the system, with its hosts file and its name servers.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}
