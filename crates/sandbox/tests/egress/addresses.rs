//! Where names may lead: one resolution, every address judged, the judged address dialled.

use std::sync::Arc;

use fullsend_sandbox::egress::Resolve;
use fullsend_sandbox::{NetworkPolicy, PrivateHost};

use super::support::{Origin, Proxy, Table, read_head};

async fn connect(proxy: &Proxy, authority: &str) -> String {
    use tokio::io::AsyncWriteExt as _;
    let mut stream = proxy.connect().await;
    let request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let head = read_head(&mut stream).await;
    let code = head.split("X-Fullsend-Reason: ").nth(1).and_then(|rest| rest.lines().next());
    code.unwrap_or_else(|| head.lines().next().unwrap_or_default()).to_owned()
}

fn opened(host: &str, port: u16, private: &[(&str, &str)]) -> NetworkPolicy {
    let private = private
        .iter()
        .map(|(host, network)| PrivateHost { host: (*host).into(), network: (*network).into() });
    NetworkPolicy::Limited {
        allowed_hosts: vec![format!("{host}:{port}")],
        denied_hosts: vec![],
        http_rules: vec![],
        private_hosts: private.collect(),
    }
}

#[derive(Debug)]
struct Shared(Arc<Table>);

impl Resolve for Shared {
    fn resolve<'a>(&'a self, host: &'a str) -> fullsend_sandbox::egress::Resolving<'a> {
        self.0.resolve(host)
    }

    fn own_addresses(&self) -> Vec<std::net::IpAddr> {
        self.0.own_addresses()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_may_not_lead_inside() {
    let origin = Origin::on("0.0.0.0:0", "").await;
    for (address, code) in [
        ("127.0.0.1", "address-not-public"),
        ("10.0.0.1", "address-not-public"),
        ("192.168.1.1", "address-not-public"),
        ("0.0.0.0", "address-not-public"),
        ("::1", "address-not-public"),
        ("::ffff:127.0.0.1", "address-not-public"),
        ("64:ff9b::7f00:1", "address-not-public"),
        ("fe80::1", "address-not-public"),
        ("169.254.169.254", "metadata-service"),
        ("fd00:ec2::254", "metadata-service"),
        ("9.9.9.9", "address-not-public"),
    ] {
        let mut table = Table::new(&[("ok.test", &[&[address]])]);
        table.own = vec!["9.9.9.9".parse().unwrap()];
        let proxy = Proxy::with(&opened("ok.test", origin.port(), &[]), table, vec![], vec![]);
        assert_eq!(connect(&proxy, &format!("ok.test:{}", origin.port())).await, code, "{address}");
        let denials = proxy.denials();
        assert_eq!(denials.len(), 1);
        assert_eq!(denials[0].remedy.is_some(), code == "address-not-public", "{address}");
    }
    assert_eq!(origin.connections(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_network_is_opened_for_one_host_only() {
    let origin = Origin::on("127.0.0.2:0", "").await;
    let port = origin.port();
    let table = || Table::new(&[("ok.test", &[&["127.0.0.2"]]), ("other.test", &[&["127.0.0.2"]])]);
    let policy = NetworkPolicy::Limited {
        allowed_hosts: vec![format!("ok.test:{port}"), format!("other.test:{port}")],
        denied_hosts: vec![],
        http_rules: vec![],
        private_hosts: vec![PrivateHost { host: "ok.test".into(), network: "127.0.0.2/32".into() }],
    };
    let proxy = Proxy::with(&policy, table(), vec![], vec![]);
    assert_eq!(connect(&proxy, &format!("ok.test:{port}")).await, "HTTP/1.1 200 Connection established");
    assert_eq!(connect(&proxy, &format!("other.test:{port}")).await, "address-not-public");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_address_that_was_judged_is_the_one_that_is_dialled() {
    let meant = Origin::on("127.0.0.2:0", "").await;
    let port = meant.port();
    let victim = Origin::on(&format!("127.0.0.3:{port}"), "").await;
    let rebinding = Arc::new(Table::new(&[("ok.test", &[&["127.0.0.2"], &["127.0.0.3"]])]));
    let policy = opened("ok.test", port, &[("ok.test", "127.0.0.2/32")]);
    let proxy = Proxy::with(&policy, Shared(Arc::clone(&rebinding)), vec![], vec![]);
    let authority = format!("ok.test:{port}");
    assert_eq!(connect(&proxy, &authority).await, "HTTP/1.1 200 Connection established");
    assert_eq!(rebinding.asked.lock().unwrap().len(), 1, "a second question could have a second answer");
    assert_eq!(connect(&proxy, &authority).await, "address-not-public");
    assert_eq!((meant.connections(), victim.connections()), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_addresses_only_usable_ones_are_tried() {
    let meant = Origin::on("127.0.0.2:0", "").await;
    let port = meant.port();
    let victim = Origin::on(&format!("127.0.0.3:{port}"), "").await;
    let table = Table::new(&[("ok.test", &[&["127.0.0.3", "127.0.0.4", "127.0.0.2"]])]);
    let policy = opened("ok.test", port, &[("ok.test", "127.0.0.2/32"), ("ok.test", "127.0.0.4/32")]);
    let proxy = Proxy::with(&policy, table, vec![], vec![]);
    assert_eq!(connect(&proxy, &format!("ok.test:{port}")).await, "HTTP/1.1 200 Connection established");
    assert_eq!((meant.connections(), victim.connections()), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_is_reached_only_if_it_is_listed_itself() {
    let origin = Origin::on("127.0.0.2:0", "").await;
    let port = origin.port();
    let table = || Table::new(&[("ok.test", &[&["127.0.0.2"]])]);
    let by_name =
        Proxy::with(&opened("ok.test", port, &[("ok.test", "127.0.0.2/32")]), table(), vec![], vec![]);
    assert_eq!(connect(&by_name, &format!("127.0.0.2:{port}")).await, "address-not-allowed");
    let listed = Proxy::with(&opened("127.0.0.2", port, &[]), table(), vec![], vec![]);
    assert_eq!(connect(&listed, &format!("127.0.0.2:{port}")).await, "address-not-public");
    let opened = opened("127.0.0.2", port, &[("127.0.0.2", "127.0.0.2/32")]);
    let opened = Proxy::with(&opened, table(), vec![], vec![]);
    assert_eq!(connect(&opened, &format!("127.0.0.2:{port}")).await, "HTTP/1.1 200 Connection established");
    assert_eq!(origin.connections(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_of_the_other_side_are_not_denials() {
    let port = Origin::start().await.port();
    let table = Table::new(&[("ok.test", &[&["127.0.0.2"]])]);
    let policy = NetworkPolicy::Limited {
        allowed_hosts: vec![format!("ok.test:{port}"), "nowhere.test".into()],
        denied_hosts: vec![],
        http_rules: vec![],
        private_hosts: vec![PrivateHost { host: "ok.test".into(), network: "127.0.0.2".into() }],
    };
    let proxy = Proxy::with(&policy, table, vec![], vec![]);
    assert_eq!(connect(&proxy, &format!("ok.test:{port}")).await, "unreachable");
    assert_eq!(connect(&proxy, "nowhere.test:443").await, "unresolved");
    assert_eq!(proxy.socks(b"nowhere.test", 443).await.0, 4);
    assert_eq!(proxy.denials(), []);
    let log = proxy.log();
    assert!(log.iter().all(|line| line["event"] == "failure" && line.get("decision").is_none()), "{log:?}");
}
