//! The network policy as the backend itself sees it: none, all, and what is refused.

use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use fullsend_sandbox::{ExecEvent, NetworkPolicy, SandboxError, SandboxSpec};

use crate::support::context::{Context, text};

pub(crate) async fn there_is_no_network_by_default(cx: &Context) {
    let Some(mount) = cx.probe_mount() else { return };
    let id = cx.with_mounts(vec![mount]).await;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let result = cx.exec(&id, cx.probe(&format!("tcp 127.0.0.1 {port}"))).await;
    assert!(text(&result).starts_with("BLOCKED"), "{result:?}");
    let devices = cx.out(&id, "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '").await;
    assert!(devices.is_empty() || devices == "lo", "{devices}");
}

pub(crate) async fn nobody_outside_reaches_a_listener_inside(cx: &Context) {
    let Some(mount) = cx.probe_mount() else { return };
    let id = cx.with_mounts(vec![mount]).await;
    // A port that is free on the host.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut running = cx.backend.spawn(&id, cx.probe(&format!("serve {port}"))).await.unwrap();
    if let ExecEvent::Stdout(said) = running.next().await.unwrap() {
        assert!(said.starts_with(b"LISTENING") || said.starts_with(b"BLOCKED"), "{said:?}");
    }
    let address = format!("127.0.0.1:{port}").parse().unwrap();
    let reached = TcpStream::connect_timeout(&address, Duration::from_secs(2));
    assert!(reached.is_err(), "the host reaches into the sandbox");
}

pub(crate) async fn sessions_do_not_reach_each_other(cx: &Context) {
    let Some(mount) = cx.probe_mount() else { return };
    let (one, two) = (cx.with_mounts(vec![mount.clone()]).await, cx.with_mounts(vec![mount]).await);
    let mut running = cx.backend.spawn(&one, cx.probe("serve 5000")).await.unwrap();
    running.next().await.unwrap();
    let result = cx.exec(&two, cx.probe("tcp 127.0.0.1 5000")).await;
    assert!(text(&result).starts_with("BLOCKED"), "{result:?}");
}

pub(crate) async fn the_whole_network_is_there_or_refused(cx: &Context) {
    let Some(mount) = cx.probe_mount() else { return };
    let spec = SandboxSpec {
        mounts: vec![mount],
        network_policy: NetworkPolicy::Unrestricted,
        ..SandboxSpec::default()
    };
    let id = match cx.try_provision(spec).await {
        Err(SandboxError::Unsupported { .. }) => return cx.skip("the host's network cannot be given here"),
        other => other.unwrap(),
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let _ = std::io::Write::write_all(&mut stream, b"hello");
        }
    });
    let request = || cx.probe(&format!("tcp 127.0.0.1 {port}"));
    let result = cx.exec(&id, request()).await;
    assert!(text(&result).starts_with("REACHED"), "{result:?}");
    // What is taken away is gone; a backend that cannot take it away says so.
    match cx.backend.apply_network_policy(&id, NetworkPolicy::none()).await {
        Ok(()) => {
            let result = cx.exec(&id, request()).await;
            assert!(text(&result).starts_with("BLOCKED"), "{result:?}");
        }
        Err(error) => assert!(matches!(error, SandboxError::Unsupported { .. }), "{error:?}"),
    }
}

pub(crate) async fn hosts_that_are_none_are_refused(cx: &Context) {
    if !cx.backend.capabilities().network_policy {
        return cx.skip("this backend enforces no lists of hosts here");
    }
    let id = cx.session().await;
    for bad in [
        "",
        "*",
        "a b",
        "https://ok.test/",
        "ok.test:0",
        "ok.test:99999",
        "user@ok.test",
        "ok..test",
        "*.*.test",
    ] {
        let network_policy = NetworkPolicy::limited([bad]);
        let spec = SandboxSpec { network_policy: network_policy.clone(), ..SandboxSpec::default() };
        let errors = [
            cx.try_provision(spec).await.unwrap_err(),
            cx.backend.apply_network_policy(&id, network_policy).await.unwrap_err(),
        ];
        for error in errors {
            let told = matches!(error, SandboxError::NetworkPolicy(_) | SandboxError::InvalidRequest(_));
            assert!(told, "{bad:?}: {error:?}");
        }
    }
}
