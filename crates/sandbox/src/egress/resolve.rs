//! From host names to addresses, and the addresses that this machine has itself.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::Semaphore;

/// Where the kernel lists IPv4 routes; those to this machine are marked `LOCAL`.
const ROUTES_V4: &str = "/proc/net/fib_trie";
/// Where the kernel lists the IPv6 addresses of interfaces.
const ADDRESSES_V6: &str = "/proc/net/if_inet6";

/// A resolution under way.
pub type Resolving<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Finds the addresses of a host. Asked once per connection; the whole answer is judged.
pub trait Resolve: fmt::Debug + Send + Sync {
    /// All addresses of `host`, in the order in which they should be tried.
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a>;

    /// The addresses of this machine's interfaces: services listening on them do not expect visits from a sandbox.
    fn own_addresses(&self) -> Vec<IpAddr> {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        let mut found = local_v4(&read(ROUTES_V4));
        found.extend(local_v6(&read(ADDRESSES_V6)));
        found
    }
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

/// How many names a session may have looked up at once. Each takes a thread of the caller's, of which all sessions
/// together have a few hundred, for as long as a name server chooses not to answer.
const MOST_LOOKUPS: usize = 32;

/// A resolver that lets others have their turn.
#[derive(Debug)]
pub(super) struct Patient {
    inner: Arc<dyn Resolve>,
    turns: Semaphore,
}

impl Patient {
    pub(super) fn new(inner: Arc<dyn Resolve>) -> Self {
        Self { inner, turns: Semaphore::new(MOST_LOOKUPS) }
    }
}

impl Resolve for Patient {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a> {
        Box::pin(async move {
            let _turn = self.turns.acquire().await.map_err(io::Error::other)?;
            self.inner.resolve(host).await
        })
    }

    fn own_addresses(&self) -> Vec<IpAddr> {
        self.inner.own_addresses()
    }
}

/// The addresses that are followed by a line `/32 host LOCAL`.
fn local_v4(table: &str) -> Vec<IpAddr> {
    let mut last: Option<Ipv4Addr> = None;
    let mut found = Vec::new();
    for line in table.lines().map(str::trim) {
        if let Some(address) = line.strip_prefix("|-- ") {
            last = address.parse().ok();
        } else if line.starts_with("/32 host LOCAL") {
            found.extend(last.map(IpAddr::V4));
        }
    }
    found
}

/// The first field of each line: 32 hexadecimal digits.
fn local_v6(table: &str) -> Vec<IpAddr> {
    let digits = table.lines().filter_map(|line| line.split_ascii_whitespace().next());
    let bits = digits.filter_map(|digits| u128::from_str_radix(digits, 16).ok());
    bits.map(|bits| IpAddr::V6(Ipv6Addr::from_bits(bits))).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::{MOST_LOOKUPS, Patient, Resolve, Resolving, SystemResolver, local_v4, local_v6};

    /// Counts who waits, and lets nobody go before as many do as can.
    #[derive(Debug, Default)]
    struct Slow {
        waiting: AtomicUsize,
        most: AtomicUsize,
    }

    impl Resolve for Slow {
        fn resolve<'a>(&'a self, _host: &'a str) -> Resolving<'a> {
            Box::pin(async move {
                let waiting = self.waiting.fetch_add(1, Ordering::SeqCst) + 1;
                self.most.fetch_max(waiting, Ordering::SeqCst);
                for _ in 0..1000 {
                    tokio::task::yield_now().await;
                }
                self.waiting.fetch_sub(1, Ordering::SeqCst);
                Ok(vec![])
            })
        }
    }

    #[tokio::test]
    async fn a_flood_of_names_does_not_take_every_thread() {
        let slow = Arc::new(Slow::default());
        let patient = Arc::new(Patient::new(Arc::clone(&slow) as Arc<dyn Resolve>));
        let lookups: Vec<_> = (0..200)
            .map(|_| Arc::clone(&patient))
            .map(|patient| tokio::spawn(async move { patient.resolve("x.test").await.is_ok() }))
            .collect();
        for lookup in lookups {
            assert!(lookup.await.unwrap());
        }
        assert_eq!(slow.most.load(Ordering::SeqCst), MOST_LOOKUPS);
    }

    #[test]
    fn the_kernels_tables_are_read() {
        let v4 = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 10.1.2.0\n        /24 link UNICAST\n\
                  Local:\n     |-- 10.1.2.3\n        /32 host LOCAL\n     |-- 10.1.2.255\n        /32 link BROADCAST\n";
        assert_eq!(local_v4(v4), ["10.1.2.3".parse::<std::net::IpAddr>().unwrap()]);
        let v6 = "20010db8000000000000000000000001 02 40 00 80     eth0\n\
                  00000000000000000000000000000001 01 80 10 80       lo\n";
        let expected: [std::net::IpAddr; 2] = ["2001:db8::1".parse().unwrap(), "::1".parse().unwrap()];
        assert_eq!(local_v6(v6), expected);
        assert_eq!((local_v4("x\n|-- \n/32 host LOCAL"), local_v6("zz\n\n")), (vec![], vec![]));
    }

    #[test]
    fn this_machine_knows_its_loopback() {
        assert!(SystemResolver.own_addresses().contains(&"127.0.0.1".parse().unwrap()));
    }
}
