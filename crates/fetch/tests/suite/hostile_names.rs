//! Names whose addresses are not what they should be.

use std::time::Duration;

use fullsend_fetch::get::PrivateHost;
use fullsend_origin::HostPattern;
use fullsend_testkit::Reply;

use super::network::{Answer, NAME, Network};

fn network(answers: &[Answer]) -> Network {
    let network = Network::with_answers(answers);
    network.server.route("/x", Reply::ok("hello"));
    network
}

/// Opens every range for the server's name and port.
fn open_everything(network: &mut Network) {
    let port = network.server.address().port();
    let host = || HostPattern::parse(NAME).unwrap();
    for cidr in ["0.0.0.0/0", "::/0"] {
        network.rules.private_hosts.push(PrivateHost { host: host(), port, cidr: cidr.parse().unwrap() });
    }
}

#[test]
fn an_answer_holds_for_all_attempts_of_a_request() {
    let network = {
        let mut network = network(&[Answer::of(&["127.0.0.1"]), Answer::of(&["10.0.0.1"])]);
        network.rules.retries.max_retries = 3;
        network.server.route("/x", Reply::flapping(3, Reply::status(503), Reply::ok("hello")));
        network
    };
    assert_eq!(network.get().unwrap().bytes, b"hello");
    assert_eq!(network.server.connections(), 4);
    assert_eq!(network.resolver.calls(), 1, "the name was resolved again");
}

#[test]
fn a_name_that_turns_private_is_refused_the_next_time() {
    let network = network(&[Answer::of(&["127.0.0.1"]), Answer::of(&["10.0.0.1"])]);
    network.get().unwrap();
    assert_eq!(network.get().unwrap_err().code(), "fetch-address-refused");
    assert_eq!(network.server.connections(), 1);
}

#[test]
fn one_bad_address_among_good_ones_is_enough() {
    for bad in ["10.0.0.1", "fd00::1", "::1", "::ffff:192.168.0.1", "64:ff9b::a00:1", "0.0.0.0"] {
        let network = network(&[Answer::of(&["127.0.0.1", "8.8.8.8", bad])]);
        let error = network.refused();
        assert_eq!(error.code(), "fetch-address-refused", "{bad}");
        assert!(error.to_string().contains(NAME));
        assert_eq!(network.server.connections(), 0, "{bad}");
    }
}

#[test]
fn metadata_services_are_never_open() {
    for bad in ["169.254.169.254", "fd00:ec2::254", "::ffff:169.254.169.254", "168.63.129.16"] {
        let mut network = network(&[Answer::of(&["127.0.0.1", bad])]);
        open_everything(&mut network);
        assert_eq!(network.refused_code(), "fetch-metadata-address", "{bad}");
        assert_eq!(network.server.connections(), 0, "{bad}");
    }
}

#[test]
fn a_range_is_open_for_its_own_host_only() {
    let mut network = network(&[Answer::of(&["127.0.0.1"])]);
    let port = network.server.address().port();
    let entry = |host: &str, port, cidr: &str| PrivateHost {
        host: HostPattern::parse(host).unwrap(),
        port,
        cidr: cidr.parse().unwrap(),
    };
    for (entries, code) in [
        (vec![entry("other.test", port, "127.0.0.0/8")], "fetch-port-not-allowed"),
        (vec![entry(NAME, port + 1, "127.0.0.0/8")], "fetch-port-not-allowed"),
        (vec![entry(NAME, port, "127.0.0.2/32")], "fetch-address-refused"),
        (
            vec![entry(NAME, port, "127.0.0.2/32"), entry("other.test", port, "127.0.0.1/32")],
            "fetch-address-refused",
        ),
    ] {
        network.rules.private_hosts = entries;
        assert_eq!(network.refused_code(), code, "{:?}", network.rules.private_hosts);
    }
    assert_eq!(network.server.connections(), 0);
    network.rules.private_hosts = vec![entry(NAME, port, "127.0.0.1/32")];
    assert_eq!(network.get().unwrap().bytes, b"hello");
}

#[test]
fn no_addresses_is_a_failure() {
    let network = network(&[Answer::of(&[])]);
    assert_eq!(network.refused_code(), "fetch-dns");
    let network = self::network(&[Answer::Failure]);
    assert_eq!(network.refused_code(), "fetch-dns");
}

#[test]
fn a_resolver_that_never_answers_runs_into_the_total_limit() {
    let mut network = network(&[Answer::Never]);
    network.rules.total_timeout = Duration::from_millis(100);
    assert_eq!(network.refused_code(), "fetch-timeout");
    assert_eq!(network.resolver.calls(), 1);
}

#[test]
fn further_addresses_are_tried_when_the_first_is_dead() {
    // Nothing listens on the other loopback addresses.
    let network = network(&[Answer::of(&["127.0.0.2", "127.0.0.3", "127.0.0.1"])]);
    assert_eq!(network.get().unwrap().peer, network.server.address());
}
