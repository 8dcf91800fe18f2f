//! Programs that know nothing of proxies: stand-in addresses from the name server, and connections to them.

use std::net::{Ipv4Addr, SocketAddr};

use fullsend_sandbox::Denied;
use fullsend_sandbox::egress::Entrance;
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpStream, UdpSocket};

use super::support::{Origin, Proxy, allow, listen, read_all};

const A: u16 = 1;
const AAAA: u16 = 28;
const REFUSED: u8 = 5;

fn query(name: &str, kind: u16) -> Vec<u8> {
    let mut bytes = vec![7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        bytes.push(u8::try_from(label.len()).unwrap());
        bytes.extend(label.as_bytes());
    }
    bytes.push(0);
    bytes.extend(kind.to_be_bytes());
    bytes.extend([0, 1]);
    bytes
}

/// The code of an answer, and its address if it has one.
fn read(answer: &[u8]) -> (u8, Option<Ipv4Addr>) {
    assert_eq!(answer[..2], [7, 7]);
    let has_answer = answer[7] == 1;
    let address = has_answer.then(|| <[u8; 4]>::try_from(&answer[answer.len() - 4..]).unwrap().into());
    (answer[3] & 15, address)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_without_a_proxy_reaches_listed_hosts_only() {
    let origin = Origin::start().await;
    let port = origin.port();
    let proxy = Proxy::start(&allow(&[&format!("ok.test:{port}")]));
    let names = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let server = names.local_addr().unwrap();
    proxy.egress.answer_names(names).unwrap();
    let entrance = listen(&proxy.egress, Entrance::Transparent { port });
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.send_to(&query("Ok.Test", A), server).await.unwrap();
    let mut buffer = [0; 512];
    let length = socket.recv(&mut buffer).await.unwrap();
    let (0, Some(stand_in)) = read(&buffer[..length]) else {
        panic!("no address in {:?}", &buffer[..length])
    };
    assert_eq!(stand_in.octets()[..2], [127, 64]);

    let mut stream = TcpStream::connect(SocketAddr::from((stand_in, entrance.port()))).await.unwrap();
    stream.write_all(b"GET /x HTTP/1.1\r\nHost: ok.test\r\nConnection: close\r\n\r\n").await.unwrap();
    let answer = read_all(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let line = proxy.logged(&[("entrance", json!("transparent")), ("path", json!("/x"))]).await;
    assert_eq!((&line["host"], &line["port"]), (&json!("ok.test"), &json!(port)));

    let mut stream = TcpStream::connect(SocketAddr::from((stand_in, entrance.port()))).await.unwrap();
    stream.write_all(b"GET /x HTTP/1.1\r\nHost: evil.test\r\n\r\n").await.unwrap();
    assert!(read_all(&mut stream).await.starts_with("HTTP/1.1 400"));

    // Another port of the same host, and addresses that nobody was given.
    let closed = listen(&proxy.egress, Entrance::Transparent { port: 443 });
    for (address, code) in [
        (SocketAddr::from((stand_in, closed.port())), "port-not-allowed"),
        (entrance, "address-unknown"),
        (SocketAddr::from(([127, 64, 9, 9], entrance.port())), "address-unknown"),
    ] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        assert_eq!(read_all(&mut stream).await, "");
        let line = proxy.logged(&[("reason", json!(code)), ("decision", json!("deny"))]).await;
        assert_eq!(line["entrance"], json!("transparent"));
    }
    assert_eq!(origin.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_no_way_to_carry_data_out() {
    let proxy = Proxy::start(&allow(&["ok.test", "*.wild.test"]));
    let ask = |name: &str, kind: u16| read(&proxy.egress.answer_name(&query(name, kind)).unwrap());
    assert!(matches!(ask("ok.test", A), (0, Some(_))));
    assert_eq!(ask("ok.test", AAAA), (0, None));
    for kind in [2, 5, 6, 10, 12, 15, 16, 33, 43, 64, 65, 251, 252, 255] {
        assert_eq!(ask("ok.test", kind), (REFUSED, None), "type {kind}");
    }
    let same = ask("ok.test", A);
    assert_eq!((ask("OK.TEST", A), ask("ok.test", A)), (same, same));
    for name in [
        "evil.test",
        "c2VjcmV0.evil.test",
        "ok.test.evil.com",
        "wild.test",
        "metadata.google.internal",
        "a_b.wild.test",
    ] {
        for kind in [A, AAAA, 16] {
            assert_eq!(ask(name, kind), (REFUSED, None), "{name} {kind}");
        }
    }
    let denials = proxy.denials();
    let evil = Denied::Host { host: "evil.test".into(), port: 0 };
    let denial = denials.iter().find(|denial| denial.what == evil).expect("a denial");
    assert_eq!(denial.remedy.as_deref(), Some("allowed_hosts: [\"evil.test\"] or --allow-host evil.test"));
    let resolver_was_asked = proxy.log().iter().any(|line| line.get("address").is_some());
    assert!(!resolver_was_asked, "nothing is resolved for a question alone");
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_that_make_no_sense_are_answered_or_dropped() {
    let proxy = Proxy::start(&allow(&["ok.test"]));
    let mut long_label = query("ok.test", A);
    long_label[12] = 200;
    let mut response = query("ok.test", A);
    response[2] |= 0x80;
    let mut two = query("ok.test", A);
    two[5] = 2;
    assert_eq!(proxy.egress.answer_name(&long_label).unwrap()[3] & 15, 1);
    assert_eq!(proxy.egress.answer_name(&two).unwrap()[3] & 15, 1);
    assert_eq!(proxy.egress.answer_name(&response), None);
    assert_eq!(proxy.egress.answer_name(&[0; 11]), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_names_do_not_fill_the_memory_and_keep_their_meaning() {
    let origin = Origin::start().await;
    let port = origin.port();
    let proxy = Proxy::start(&allow(&[&format!("*.wild.test:{port}")]));
    let ask = |name: &str| read(&proxy.egress.answer_name(&query(name, A)).unwrap()).1.unwrap();
    let first = ask("first.wild.test");
    for number in 0..5000 {
        ask(&format!("n{number}.wild.test"));
    }
    let entrance = listen(&proxy.egress, Entrance::Transparent { port });
    let mut stream = TcpStream::connect(SocketAddr::from((first, entrance.port()))).await.unwrap();
    assert_eq!(read_all(&mut stream).await, "");
    let line = proxy.logged(&[("reason", json!("address-unknown"))]).await;
    assert_eq!(line["host"], json!(first.to_string()), "a forgotten name has made room");
    let again = ask("a.wild.test");
    let mut stream = TcpStream::connect(SocketAddr::from((again, entrance.port()))).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a.wild.test\r\nConnection: close\r\n\r\n").await.unwrap();
    assert!(read_all(&mut stream).await.starts_with("HTTP/1.1 200"));
}
