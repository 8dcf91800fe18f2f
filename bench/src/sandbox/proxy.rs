//! Connections through the egress proxy beside direct ones: how much gets through, and how soon the first byte does.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use anyhow::Result;
use fullsend_sandbox::{NetworkPolicy, PrivateHost, SandboxSpec};

use super::Bench;
use super::probe::Probe;
use super::rounds::{Round, Rounds};
use super::table::Table;

const ROUNDS: usize = 11;
/// 512 MiB.
const BYTES: &str = "536870912";
const CONNECTIONS: &str = "100";

pub(super) fn measure(bench: &Bench, probe: &Probe, table: &mut Table) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || serve(&listener));
    let id = bench.session(SandboxSpec {
        mounts: vec![probe.mount()],
        network_policy: NetworkPolicy::Limited {
            allowed_hosts: vec![format!("127.0.0.1:{port}")],
            denied_hosts: Vec::new(),
            http_rules: Vec::new(),
            private_hosts: vec![PrivateHost {
                host: "127.0.0.1".to_owned(),
                network: "127.0.0.1/32".to_owned(),
            }],
        },
        ..SandboxSpec::default()
    })?;
    let port = port.to_string();
    let mut rounds = Rounds::default();
    for _ in 0..ROUNDS {
        let mut round = Round::default();
        let (bulk, first) = (["bulk", &port, BYTES], ["first", &port, CONNECTIONS]);
        round.set("bulk, direct", probe.outside(&bulk)?);
        round.set("bulk, proxy", probe.inside(bench, &id, &bulk)?);
        round.set("direct", probe.outside(&first)?);
        round.set("proxy", probe.inside(bench, &id, &first)?);
        rounds.push(round);
    }
    bench.end(&id)?;
    table.compare("512 MiB through the proxy", &rounds, ("bulk, proxy", "bulk, direct"), "<= 3.33x");
    if let Some(throughput) = rounds.median(|round| round.ratio("bulk, direct", "bulk, proxy")) {
        table.alone("throughput of the proxy", format!("{throughput:.2}x direct"), ">= 0.30x");
    }
    table.compare("first byte through the proxy", &rounds, ("proxy", "direct"), "<= 2x");
    Ok(())
}

fn serve(listener: &TcpListener) {
    for connection in listener.incoming().flatten() {
        std::thread::spawn(move || answer(connection));
    }
}

/// One byte for who asks for one, and bytes without end for others.
fn answer(mut connection: TcpStream) {
    let mut asked = [0];
    if connection.set_nodelay(true).is_err() || connection.read_exact(&mut asked).is_err() {
        return;
    }
    if asked == [1] {
        // A client that has gone does not want it any more.
        drop(connection.write_all(&[0]));
        return;
    }
    let block = vec![0; 256 << 10];
    while connection.write_all(&block).is_ok() {}
}
