//! The way out of a container: listed hosts through the proxy, nothing else.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use fullsend_sandbox::{
    ByteString, Denied, Endpoint, ExecRequest, NetworkPolicy, PrivateHost, SandboxBackend as _, SandboxSpec,
    Secret,
};
use fullsend_testkit::test_name;

use super::fixture::{Fixture, Runtime};

/// A server on the loopback device that answers every request with what it was asked.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
                request.push(byte[0]);
            }
            let body = String::from_utf8_lossy(&request).into_owned();
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    port
}

/// The server under a name that the system resolves to the loopback device.
fn policy(port: u16) -> NetworkPolicy {
    NetworkPolicy::Limited {
        allowed_hosts: vec![format!("localhost:{port}")],
        denied_hosts: Vec::new(),
        http_rules: Vec::new(),
        private_hosts: vec![
            PrivateHost { host: "localhost".to_owned(), network: "127.0.0.0/8".to_owned() },
            PrivateHost { host: "localhost".to_owned(), network: "::1/128".to_owned() },
        ],
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn listed_hosts_are_reached_and_nothing_else() {
    for runtime in [Runtime::Runc, Runtime::Runsc] {
        let Some(fixture) = Fixture::new(test_name!(), runtime).await else { continue };
        let port = server();
        let id =
            fixture.provision(SandboxSpec { network_policy: policy(port), ..SandboxSpec::default() }).await;
        let get = format!("curl -m 10 -sf --noproxy none http://localhost:{port}/path");
        let result = fixture.shell(&id, &get).await;
        assert!(result.stdout.display().starts_with("GET /path HTTP/1.1\r\n"), "{runtime:?}: {result:?}");
        assert_eq!(result.denials, []);
        let result = fixture.shell(&id, "curl -m 10 -sf --noproxy none http://other.test/").await;
        assert_ne!(result.exit_code, 0, "{runtime:?}: {result:?}");
        let asked: Vec<&Denied> = result.denials.iter().map(|denial| &denial.what).collect();
        assert_eq!(asked, [&Denied::Host { host: "other.test".to_owned(), port: 80 }], "{runtime:?}");
        // Neither the address itself nor the port without the proxy.
        let direct = format!("curl -m 10 -sf --noproxy '*' http://127.0.0.1:{port}/");
        assert_ne!(fixture.shell(&id, &direct).await.exit_code, 0, "{runtime:?}");
        fixture.backend.apply_network_policy(&id, NetworkPolicy::none()).await.unwrap();
        assert_ne!(fixture.shell(&id, &get).await.exit_code, 0, "{runtime:?}");
        fixture.backend.apply_network_policy(&id, policy(port)).await.unwrap();
        assert_eq!(fixture.shell(&id, &get).await.exit_code, 0, "{runtime:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_session_can_be_given_a_way_out() {
    let Some(fixture) = Fixture::new(test_name!(), Runtime::Runc).await else { return };
    let port = server();
    let id = fixture.session().await;
    let get = format!("curl -m 10 -sf --noproxy none -o /dev/null http://localhost:{port}/path");
    assert_ne!(fixture.shell(&id, &get).await.exit_code, 0);
    fixture.backend.apply_network_policy(&id, policy(port)).await.unwrap();
    let result = fixture.shell(&id, &get).await;
    assert_eq!(result.exit_code, 0, "{result:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_that_know_no_proxy_are_led_to_it() {
    for runtime in [Runtime::Runc, Runtime::Runsc] {
        let Some(fixture) = Fixture::new(test_name!(), runtime).await else { continue };
        let port = server();
        let id =
            fixture.provision(SandboxSpec { network_policy: policy(port), ..SandboxSpec::default() }).await;
        let stand_in = "nslookup -type=a localhost | sed -n 's/^Address: *\\(127\\.[0-9.]*\\)$/\\1/p'";
        let get = format!(
            "curl -m 10 -sf --noproxy '*' -H 'Host: localhost:{port}' http://$({stand_in}):{port}/path"
        );
        let result = fixture.shell(&id, &get).await;
        assert!(result.stdout.display().starts_with("GET /path HTTP/1.1\r\n"), "{runtime:?}: {result:?}");
        let result = fixture.shell(&id, "nslookup -type=a other.test").await;
        assert!(!result.stdout.display().contains("Address: 127"), "{runtime:?}: {result:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_services_are_added_outside() {
    let Some(fixture) = Fixture::new(test_name!(), Runtime::Runc).await else { return };
    let endpoint = Endpoint {
        name: "model".to_owned(),
        upstream: format!("http://127.0.0.1:{}/v1", server()),
        headers: vec![("authorization".to_owned(), Secret::new("Bearer key"))],
        rules: Vec::new(),
    };
    let id = fixture.provision(SandboxSpec { endpoints: vec![endpoint], ..SandboxSpec::default() }).await;
    let line = "curl -m 10 -sf --noproxy '*' $FULLSEND_ENDPOINT_MODEL/chat";
    let result = fixture.backend.exec(&id, ExecRequest::shell(line)).await.unwrap();
    let text = result.stdout.display().to_lowercase();
    assert!(
        text.starts_with("get /v1/chat http/1.1\r\n") && text.contains("authorization: bearer key"),
        "{result:?}"
    );
    assert_eq!(fixture.shell(&id, "env | grep -c 'Bearer key'").await.stdout, ByteString::from("0\n"));
}
