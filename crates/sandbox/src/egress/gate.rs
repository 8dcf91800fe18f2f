//! What all connections of one session share: the policy of the moment, the journal and the way out.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::net::TcpStream;
use tokio::sync::watch;

use super::dial;
use super::endpoint::Service;
use super::journal::{Asked, Journal, locked};
use super::names::Names;
use super::policy::CompiledPolicy;
use super::refusal::Refusal;
use super::resolve::Resolve;
use super::target::Target;

/// How long the addresses of this machine are taken to stay the same; reading them is slow where routes are many.
const OWN_ADDRESSES_AGE: Duration = Duration::from_secs(1);

/// Whether the proxy can read what it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carried {
    /// Requests that are checked one by one.
    Requests,
    /// Bytes.
    Bytes,
}

/// How much went each way.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    pub(super) up: AtomicU64,
    pub(super) down: AtomicU64,
}

impl Traffic {
    pub(super) fn totals(&self) -> (u64, u64) {
        (self.up.load(Ordering::Relaxed), self.down.load(Ordering::Relaxed))
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Gate {
    pub(super) policy: watch::Sender<Arc<CompiledPolicy>>,
    pub(super) journal: Journal,
    pub(super) resolver: Arc<dyn Resolve>,
    pub(super) names: Mutex<Names>,
    pub(super) services: Vec<Service>,
    pub(super) connections: AtomicU64,
    /// The addresses of this machine, and when they were looked up.
    pub(super) own: Mutex<Option<(Instant, Arc<[IpAddr]>)>>,
}

impl Gate {
    /// The policy of this moment.
    pub(super) fn policy(&self) -> Arc<CompiledPolicy> {
        Arc::clone(&self.policy.borrow())
    }

    /// A number for a new connection.
    pub(super) fn number(&self) -> u64 {
        self.connections.fetch_add(1, Ordering::Relaxed)
    }

    /// Connects to a target if the policy allows it, and writes that down.
    pub(super) async fn open(
        &self,
        asked: &Asked,
        target: &Target,
    ) -> Result<(TcpStream, SocketAddr), Refusal> {
        let policy = self.policy();
        let (stream, address) =
            dial::dial(&policy, self.resolver.as_ref(), &self.own_addresses(), target).await?;
        self.journal.allow(asked, Some(address.to_string()))?;
        Ok((stream, address))
    }

    fn own_addresses(&self) -> Arc<[IpAddr]> {
        let mut own = locked(&self.own);
        match &*own {
            Some((when, addresses)) if when.elapsed() < OWN_ADDRESSES_AGE => Arc::clone(addresses),
            Some(_) | None => {
                let addresses: Arc<[IpAddr]> = self.resolver.own_addresses().into();
                *own = Some((Instant::now(), Arc::clone(&addresses)));
                addresses
            }
        }
    }

    /// Whether the policy of this moment lets a connection live.
    pub(super) fn permits(&self, target: &Target, address: IpAddr, carried: Carried) -> Result<(), Refusal> {
        let policy = self.policy();
        policy.judge(target)?;
        policy.judge_address(target, address, &self.own_addresses())?;
        if carried == Carried::Bytes && policy.has_rules(target) {
            let sentence = format!(
                "requests to `{target}` have rules in http_rules, which can only be checked in plain HTTP"
            );
            return Err(Refusal::policy("rules-need-plain-http", sentence, None));
        }
        Ok(())
    }

    /// Waits until the policy no longer lets a connection live.
    pub(super) async fn forbidden(&self, target: &Target, address: IpAddr, carried: Carried) -> Refusal {
        let mut changes = self.policy.subscribe();
        loop {
            changes.mark_unchanged();
            if let Err(refusal) = self.permits(target, address, carried) {
                return refusal;
            }
            if changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}
