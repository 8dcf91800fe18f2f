//! A proxy on loopback, servers behind it, and a resolver that says what the test wants.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fullsend_sandbox::egress::{CompiledPolicy, Egress, EgressConfig, Entrance, Resolve, Resolving};
use fullsend_sandbox::{Denial, Endpoint, NetworkPolicy, PrivateHost};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Longer than anything here takes; only a broken proxy gets that far.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// Answers from a table; several answers for a name are given one after the other, the last one for ever.
#[derive(Debug, Default)]
pub(super) struct Table {
    answers: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    pub(super) asked: Mutex<Vec<String>>,
    pub(super) own: Vec<IpAddr>,
}

impl Table {
    pub(super) fn new(names: &[(&str, &[&[&str]])]) -> Self {
        let parse = |answer: &&[&str]| answer.iter().map(|address| address.parse().unwrap()).collect();
        let answers =
            names.iter().map(|(name, answers)| ((*name).to_owned(), answers.iter().map(parse).collect()));
        Self { answers: Mutex::new(answers.collect()), ..Self::default() }
    }
}

impl Resolve for Table {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a> {
        self.asked.lock().unwrap().push(host.to_owned());
        let mut answers = self.answers.lock().unwrap();
        let answer = match answers.get_mut(host) {
            Some(left) if left.len() > 1 => Ok(left.remove(0)),
            Some(left) => Ok(left[0].clone()),
            None => Err(std::io::Error::other("no such name")),
        };
        Box::pin(async move { answer })
    }

    fn own_addresses(&self) -> Vec<IpAddr> {
        self.own.clone()
    }
}

/// `ok.test`, `other.test` and `a.wild.test` are on loopback.
pub(super) fn names() -> Table {
    let here: &[&[&str]] = &[&["127.0.0.1"]];
    Table::new(&[("ok.test", here), ("other.test", here), ("a.wild.test", here), ("evil.test", here)])
}

/// Allows `hosts`; the names of [`names`] may be on loopback.
pub(super) fn allow(hosts: &[&str]) -> NetworkPolicy {
    let private = ["ok.test", "other.test", "a.wild.test", "evil.test"];
    let private = private.map(|host| PrivateHost { host: host.into(), network: "127.0.0.0/8".into() });
    NetworkPolicy::Limited {
        allowed_hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        denied_hosts: vec![],
        http_rules: vec![],
        private_hosts: private.to_vec(),
    }
}

/// A proxy with its log.
#[derive(Debug)]
pub(super) struct Proxy {
    pub(super) egress: Egress,
    pub(super) address: SocketAddr,
    log: PathBuf,
    _directory: TempDir,
}

impl Proxy {
    pub(super) fn start(policy: &NetworkPolicy) -> Self {
        Self::with(policy, names(), vec![], vec![])
    }

    pub(super) fn with(
        policy: &NetworkPolicy,
        resolver: impl Resolve + 'static,
        endpoints: Vec<Endpoint>,
        roots: Vec<CertificateDer<'static>>,
    ) -> Self {
        let directory = TempDir::new().unwrap();
        let log = directory.path().join("egress.jsonl");
        let egress = Egress::start(EgressConfig {
            policy: CompiledPolicy::compile(policy).unwrap(),
            endpoints,
            log: Some(log.clone()),
            session: "session-1".to_owned(),
            resolver: Arc::new(resolver),
            roots,
        })
        .unwrap();
        let address = listen(&egress, Entrance::Proxy);
        Self { egress, address, log, _directory: directory }
    }

    /// All log lines so far.
    pub(super) fn log(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.log).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(super) fn log_text(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// Waits for a log line with these values.
    pub(super) async fn logged(&self, wanted: &[(&str, Value)]) -> Value {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let fits = |line: &Value| wanted.iter().all(|(key, value)| line[*key] == *value);
            if let Some(line) = self.log().into_iter().find(fits) {
                return line;
            }
            assert!(tokio::time::Instant::now() < deadline, "no line with {wanted:?} in {}", self.log_text());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub(super) fn denials(&self) -> Vec<Denial> {
        self.egress.take_denials()
    }

    pub(super) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends bytes and reads everything until the proxy hangs up.
    pub(super) async fn send(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut stream = self.connect().await;
        // A proxy that has seen enough may hang up in the middle.
        let _ = stream.write_all(bytes.as_ref()).await;
        read_all(&mut stream).await
    }

    /// A tunnel by CONNECT; the answer's head must be a 200.
    pub(super) async fn tunnel(&self, authority: &str) -> TcpStream {
        let mut stream = self.connect().await;
        let request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let head = read_head(&mut stream).await;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        stream
    }

    /// A SOCKS connection to a name; the reply code.
    pub(super) async fn socks(&self, host: &[u8], port: u16) -> (u8, TcpStream) {
        let mut stream = self.connect().await;
        let name = [&[5, 1, 0, 5, 1, 0, 3, u8::try_from(host.len()).unwrap()], host, &port.to_be_bytes()[..]]
            .concat();
        stream.write_all(&name).await.unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(answer[..2], [5, 0]);
        (answer[3], stream)
    }
}

/// A listener on loopback that leads to an entrance.
pub(super) fn listen(egress: &Egress, entrance: Entrance) -> SocketAddr {
    let listener = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    egress.listen(entrance, listener).unwrap();
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// Everything until the end; a reset is an end too.
pub(super) async fn read_all(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut bytes = Vec::new();
    let reading = async {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut buffer).await {
            bytes.extend_from_slice(&buffer[..count]);
        }
    };
    tokio::time::timeout(PATIENCE, reading).await.expect("the connection should have ended");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Everything up to and with an empty line.
pub(super) async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> String {
    read_until(stream, "\r\n\r\n").await
}

/// Everything up to and with `end`.
pub(super) async fn read_until(stream: &mut (impl AsyncRead + Unpin), end: &str) -> String {
    let mut bytes = Vec::new();
    let reading = async {
        while !bytes.ends_with(end.as_bytes()) {
            match stream.read_u8().await {
                Ok(byte) => bytes.push(byte),
                Err(_) => break,
            }
        }
    };
    tokio::time::timeout(PATIENCE, reading).await.expect("an answer");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A plain HTTP server that remembers what it gets and answers everything the same way.
#[derive(Debug)]
pub(super) struct Origin {
    pub(super) address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    connections: Arc<Mutex<usize>>,
    accepting: JoinHandle<()>,
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Origin {
    pub(super) async fn start() -> Self {
        Self::on("127.0.0.1:0", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await
    }

    pub(super) async fn on(address: &str, reply: &'static str) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let connections: Arc<Mutex<usize>> = Arc::default();
        let (heard, count) = (Arc::clone(&requests), Arc::clone(&connections));
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                *count.lock().unwrap() += 1;
                tokio::spawn(serve_origin(stream, Arc::clone(&heard), reply));
            }
        });
        Self { address, requests, connections, accepting }
    }

    pub(super) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    pub(super) fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }
}

async fn serve_origin(mut stream: TcpStream, heard: Arc<Mutex<Vec<String>>>, reply: &'static str) {
    loop {
        let mut message = read_head(&mut stream).await;
        if message.is_empty() {
            return;
        }
        let lower = message.to_ascii_lowercase();
        if lower.contains("transfer-encoding: chunked") {
            message += &read_until(&mut stream, "0\r\n\r\n").await;
        } else if let Some((_, rest)) = lower.split_once("content-length: ") {
            let length: usize = rest.lines().next().unwrap().parse().unwrap();
            let mut body = vec![0; length];
            stream.read_exact(&mut body).await.unwrap();
            message += &String::from_utf8(body).unwrap();
        }
        heard.lock().unwrap().push(message);
        if stream.write_all(reply.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// A certificate authority in the form that clients take.
pub(super) fn der(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
}

/// The configuration of a client that trusts one authority.
pub(super) fn client_config(pem: &str) -> rustls::ClientConfig {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(der(pem)).unwrap();
    rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// A TLS handshake over a tunnel, as `name`.
pub(super) async fn handshake(
    config: rustls::ClientConfig,
    name: &str,
    stream: TcpStream,
) -> std::io::Result<tokio_rustls::client::TlsStream<TcpStream>> {
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    let name = ServerName::try_from(name.to_owned()).unwrap();
    tokio::time::timeout(PATIENCE, connector.connect(name, stream)).await.expect("an answer")
}
