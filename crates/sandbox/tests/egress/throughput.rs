//! How fast bytes go through the proxy, and how soon the first one arrives, beside a direct connection. Run by hand:
//! `cargo test --release -p fullsend-sandbox --test all -- --ignored --nocapture throughput`.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

use super::support::{Proxy, allow};

const TOTAL: usize = 2 << 30;
const ROUNDS: usize = 5;

/// A server that sends zeros as fast as it can, once it has heard a byte.
fn source() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let block = vec![0; 256 * 1024];
                stream.read_exact(&mut [0]).unwrap();
                for _ in 0..TOTAL / block.len() {
                    stream.write_all(&block).unwrap();
                }
            });
        }
    });
    port
}

/// Reads everything; bytes per second.
fn drain(mut stream: TcpStream) -> f64 {
    let mut buffer = vec![0; 256 * 1024];
    let started = Instant::now();
    stream.write_all(&[0]).unwrap();
    let mut left = TOTAL;
    while left > 0 {
        let count = stream.read(&mut buffer).unwrap();
        assert_ne!(count, 0, "the stream ended early");
        left -= count;
    }
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let bytes = TOTAL as f64;
    bytes / started.elapsed().as_secs_f64()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement, only of use in a release build on a quiet machine"]
async fn a_tunnel_keeps_a_third_of_loopback() {
    let port = source();
    let authority = format!("ok.test:{port}");
    let proxy = Proxy::start(&allow(&[&authority]));
    let mut ratios = Vec::new();
    for _ in 0..ROUNDS {
        let direct =
            tokio::task::spawn_blocking(move || drain(TcpStream::connect(("127.0.0.1", port)).unwrap()))
                .await;
        let tunnel = proxy.tunnel(&authority).await.into_std().unwrap();
        tunnel.set_nonblocking(false).unwrap();
        let through = tokio::task::spawn_blocking(move || drain(tunnel)).await;
        let (direct, through) = (direct.unwrap(), through.unwrap());
        let line = format!(
            "direct {:.0} MB/s, proxy {:.0} MB/s, {:.2}\n",
            direct / 1e6,
            through / 1e6,
            through / direct
        );
        std::io::stdout().write_all(line.as_bytes()).unwrap();
        ratios.push(through / direct);
    }
    ratios.sort_by(f64::total_cmp);
    assert!(ratios[ROUNDS / 2] >= 0.30, "{ratios:?}");
}

/// A server that answers the first bytes of every connection, whatever they are.
fn responder() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 1024]).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok").unwrap();
        }
    });
    port
}

/// Seconds from connecting to the first byte of the answer.
fn first_byte(to: std::net::SocketAddr, request: &str) -> f64 {
    let started = Instant::now();
    let mut stream = TcpStream::connect(to).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    stream.read_exact(&mut [0]).unwrap();
    started.elapsed().as_secs_f64()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement, only of use in a release build on a quiet machine"]
async fn the_first_byte_comes_nearly_as_soon() {
    let port = responder();
    let authority = format!("ok.test:{port}");
    let proxy = Proxy::start(&allow(&[&authority]));
    let (direct, through) = (std::net::SocketAddr::from(([127, 0, 0, 1], port)), proxy.address);
    let measured = tokio::task::spawn_blocking(move || {
        let (mut near, mut far) = (Vec::new(), Vec::new());
        for _ in 0..1000 {
            near.push(first_byte(direct, &format!("GET / HTTP/1.1\r\nHost: {authority}\r\n\r\n")));
            far.push(first_byte(
                through,
                &format!("GET http://{authority}/ HTTP/1.1\r\nHost: {authority}\r\n\r\n"),
            ));
        }
        near.sort_by(f64::total_cmp);
        far.sort_by(f64::total_cmp);
        (near[500], far[500])
    });
    let (near, far) = measured.await.unwrap();
    let line = format!("direct {:.0} us, proxy {:.0} us, {:.2}\n", near * 1e6, far * 1e6, far / near);
    std::io::stdout().write_all(line.as_bytes()).unwrap();
}
