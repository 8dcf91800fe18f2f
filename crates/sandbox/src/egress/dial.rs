//! Connections to the other side: one resolution, every address judged, only judged addresses dialled.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::policy::CompiledPolicy;
use super::refusal::Refusal;
use super::resolve::Resolve;
use super::target::{Host, Target};

/// How long resolving may take, and how long connecting may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Connects to a target that the policy allows. `own` are the addresses of this machine.
pub(super) async fn dial(
    policy: &CompiledPolicy,
    resolver: &dyn Resolve,
    own: &[IpAddr],
    target: &Target,
) -> Result<(TcpStream, SocketAddr), Refusal> {
    policy.judge(target)?;
    let found = addresses(resolver, &target.host).await?;
    let mut usable = Vec::new();
    let mut refused = None;
    for address in found {
        match policy.judge_address(target, address, own) {
            Ok(()) => usable.push(address),
            Err(refusal) => refused = refused.or(Some(refusal)),
        }
    }
    match refused {
        Some(refusal) if usable.is_empty() => Err(refusal),
        Some(_) | None => connect(target, &usable).await,
    }
}

/// All addresses of a host; at least one.
pub(super) async fn addresses(resolver: &dyn Resolve, host: &Host) -> Result<Vec<IpAddr>, Refusal> {
    let name = match host {
        Host::Address(address) => return Ok(vec![*address]),
        Host::Name(name) => name,
    };
    let unresolved = |why: String| Refusal::upstream("unresolved", format!("`{name}` has no address: {why}"));
    match timeout(PATIENCE, resolver.resolve(name)).await {
        Err(_) => Err(unresolved("the resolver does not answer".to_owned())),
        Ok(Err(error)) => Err(unresolved(error.to_string())),
        Ok(Ok(found)) if found.is_empty() => Err(unresolved("the answer is empty".to_owned())),
        Ok(Ok(found)) => Ok(found),
    }
}

/// Connects to the first of `addresses` that accepts.
pub(super) async fn connect(
    target: &Target,
    addresses: &[IpAddr],
) -> Result<(TcpStream, SocketAddr), Refusal> {
    let share = PATIENCE / u32::try_from(addresses.len().clamp(1, 4)).unwrap_or(1);
    let mut why = "no address is left to try".to_owned();
    for address in addresses {
        let socket = SocketAddr::new(*address, target.port);
        match timeout(share, TcpStream::connect(socket)).await {
            Ok(Ok(stream)) => {
                // Small messages go out at once; a socket that cannot do that still works.
                let _ = stream.set_nodelay(true);
                return Ok((stream, socket));
            }
            Ok(Err(error)) => why = error.to_string(),
            Err(_) => why = "it does not answer".to_owned(),
        }
    }
    Err(Refusal::upstream("unreachable", format!("`{target}` cannot be reached: {why}")))
}
