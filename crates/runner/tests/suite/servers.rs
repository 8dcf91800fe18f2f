//! Servers beside the sandbox, with real processes.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use fullsend_runner::api_servers::{ApiServerError, ApiServers, ServerWanted};
use fullsend_runtimes::cancellation;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::support::Folder;

/// Answers with its token's header, and has a child of its own that must end too.
const SERVER: &str = r#"#!/usr/bin/env python3
import subprocess, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
child = subprocess.Popen(["sleep", "600"])
open("pids", "w").write(str(child.pid))
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        good = self.headers["Authorization"] == "Bearer " + options["--token"]
        self.send_response(200 if good else 401)
        self.end_headers()
    def log_message(self, *args): pass
HTTPServer((options["--bind-address"], int(options["--port"])), Handler).serve_forever()
"#;

fn wanted(folder: &Folder, name: &str, script: &str) -> ServerWanted {
    let script = folder.write(&format!("{name}.sh"), script);
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let env = BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap())]);
    ServerWanted { name: name.to_owned(), script, port: None, env }
}

async fn start(folder: &Folder, server: ServerWanted) -> Result<ApiServers, ApiServerError> {
    let (_canceller, cancel) = cancellation();
    ApiServers::start(&[server], folder.path(), folder.path(), &cancel).await
}

/// A process that is over may still be listed until its new parent has noticed.
async fn is_gone(pid: &str) -> bool {
    let status = format!("/proc/{pid}/status");
    for _ in 0..200 {
        match std::fs::read_to_string(&status) {
            Err(_) => return true,
            Ok(text) if text.contains("State:\tZ") => return true,
            Ok(_) => tokio::time::sleep(Duration::from_millis(25)).await,
        }
    }
    false
}

#[tokio::test]
async fn a_server_is_a_service_with_a_token_and_ends_with_all_its_children() {
    for by_drop in [false, true] {
        let folder = Folder::new();
        let server = wanted(&folder, "tickets", SERVER);
        let servers = start(&folder, server).await.unwrap();
        let endpoint = servers.endpoints().remove(0);
        assert_eq!(endpoint.name, "tickets");
        let address = endpoint.upstream.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).await.unwrap();
        let header = format!("{}: {}", endpoint.headers[0].0, endpoint.headers[0].1.expose());
        stream.write_all(format!("GET / HTTP/1.0\r\n{header}\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.contains(" 200 "), "{answer}");
        let child = folder.read("pids");
        if by_drop {
            drop(servers);
        } else {
            let (_canceller, cancel) = cancellation();
            servers.stop(&cancel).await;
        }
        assert!(is_gone(&child).await, "the child of the server lives on");
        assert!(!format!("{endpoint:?}").contains(endpoint.headers[0].1.expose()));
    }
}

#[tokio::test]
async fn a_server_that_ends_or_is_not_there_is_an_error() {
    let folder = Folder::new();
    let ends = wanted(&folder, "ends", "#!/bin/sh\necho broken; exit 3\n");
    let error = start(&folder, ends).await.unwrap_err();
    assert!(matches!(&error, ApiServerError::Ended { status, .. } if status.code() == Some(3)), "{error}");
    assert_eq!(folder.read("api-ends.log"), "broken\n");
    let missing = ServerWanted { script: "/none".into(), ..wanted(&folder, "missing", "") };
    assert!(matches!(start(&folder, missing).await, Err(ApiServerError::Start { .. })));
}

#[tokio::test]
async fn waiting_for_a_server_can_be_cancelled() {
    let folder = Folder::new();
    let server = wanted(&folder, "slow", "#!/bin/sh\necho $$ > pid; exec sleep 600\n");
    let (canceller, cancel) = cancellation();
    let log = Path::new("pid");
    let starting = async {
        let servers = [server];
        ApiServers::start(&servers, folder.path(), folder.path(), &cancel).await
    };
    let cancelling = async {
        while !folder.path().join(log).exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        canceller.cancel(2);
    };
    let (started, ()) = tokio::join!(starting, cancelling);
    assert!(matches!(started, Err(ApiServerError::Cancelled)));
    assert!(is_gone(folder.read("pid").trim()).await);
}
