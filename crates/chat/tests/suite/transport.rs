//! Lines in, lines out.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use fullsend_chat::service::Settings;
use fullsend_chat::store::{Place, Retention, Store};
use fullsend_chat::transport::{TransportError, serve};
use fullsend_guard::SystemClock;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::scripted::{Talk, request};

/// What is answered and told for an input that ends.
async fn exchanged(talk: &Talk, input: &[u8]) -> Vec<Value> {
    let mut output = Vec::new();
    serve(talk.service.clone(), input, &mut output, std::future::pending()).await.unwrap();
    let output = String::from_utf8(output).unwrap();
    assert!(output.is_empty() || output.ends_with('\n'));
    output.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn told(line: &Value) -> String {
    match line["event"]["kind"].as_str() {
        Some(kind) => kind.to_owned(),
        None => format!("{} {}", line["requestId"].as_str().unwrap_or("-"), line["ok"]),
    }
}

fn start() -> String {
    request("start_session", &json!({"sessionId": "s1", "workspace": {"hostPath": "/w"}}))
}

fn turn(id: &str, text: &str) -> String {
    request("start_turn", &json!({"sessionId": "s1", "turnId": id, "input": {"text": text}}))
}

#[tokio::test]
async fn lines_may_end_in_any_way_and_blank_ones_are_passed_over() {
    let talk = Talk::new();
    let input = format!("\n  \r\n{}\r\n\n   {}  \n{}", start(), "not json", request("status", &json!({})));
    let lines = exchanged(&talk, input.as_bytes()).await;
    let told: Vec<String> = lines.iter().map(told).collect();
    assert_eq!(told, ["session_started", "r1 true", "- false", "r1 true"]);
}

#[tokio::test]
async fn what_causes_events_is_answered_after_them() {
    let talk = Talk::new();
    let cancel = request("cancel_turn", &json!({"sessionId": "s1"}));
    let close = request("close_session", &json!({"sessionId": "s1"}));
    let input = format!("{}\n{}\n{cancel}\n{close}\n", start(), turn("t1", "wait"));
    let lines = exchanged(&talk, input.as_bytes()).await;
    let told: Vec<String> = lines.iter().map(told).collect();
    let place = |what: &str| told.iter().position(|one| one == what).unwrap();
    assert_eq!(told[..4], ["session_started", "r1 true", "turn_started", "r1 true"]);
    assert_eq!(told[4], "turn_canceled");
    assert!(place("status_changed") < place("session_closed"));
    assert_eq!(told.last().unwrap(), "r1 true");
}

#[tokio::test]
async fn a_line_that_is_too_long_or_no_text_is_answered_and_the_next_is_read() {
    let talk = Talk::new();
    let mut input = vec![b'x'; (8 << 20) + 1];
    input.extend(b"\n\"\xff\xfe\"\n");
    input.extend(request("status", &json!({})).into_bytes());
    let lines = exchanged(&talk, &input).await;
    assert_eq!(lines.len(), 3);
    for line in &lines[..2] {
        assert_eq!(line["error"]["code"], "invalid_request");
        assert_eq!(line["requestId"], Value::Null);
    }
    assert_eq!(lines[2]["ok"], true);
}

#[tokio::test]
async fn the_end_of_the_input_waits_for_turns() {
    let talk = Talk::new();
    let input = format!("{}\n{}", start(), turn("t1", "stay"));
    let gate = talk.script.gate.clone();
    let ended = async {
        let lines = exchanged(&talk, input.as_bytes()).await;
        assert_eq!(told(lines.last().unwrap()), "turn_completed");
    };
    let release = async {
        talk.event("turn_started").await;
        gate.notify_one();
    };
    tokio::join!(ended, release);
}

#[tokio::test]
async fn a_signal_ends_turns_and_then_the_service() {
    let talk = Talk::new();
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(theirs);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let service = talk.service.clone();
    let serving = tokio::spawn(async move {
        serve(service, reader, writer, async {
            stopped.await.unwrap();
        })
        .await
    });
    let (mut output, mut input) = tokio::io::split(ours);
    input.write_all(format!("{}\n{}\n", start(), turn("t1", "wait")).as_bytes()).await.unwrap();
    talk.event("turn_started").await;
    stop.send(()).unwrap();
    serving.await.unwrap().unwrap();
    let mut text = String::new();
    output.read_to_string(&mut text).await.unwrap();
    let told: Vec<String> = text.lines().map(|line| told(&serde_json::from_str(line).unwrap())).collect();
    assert_eq!(told[told.len() - 2..], ["turn_canceled", "status_changed"]);
    assert_eq!(talk.event("turn_canceled").await["reason"], "service_stopped");
}

/// Takes some writes, and then no more.
struct Closing {
    writes: Arc<AtomicUsize>,
    most: usize,
}

impl AsyncWrite for Closing {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.writes.fetch_add(1, Ordering::SeqCst) < self.most {
            return Poll::Ready(Ok(bytes.len()));
        }
        Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn when_nobody_reads_any_more_turns_come_to_their_end_and_then_the_service() {
    let talk = Talk::new();
    let (mut input, reader) = tokio::io::duplex(1 << 16);
    let writer = Closing { writes: Arc::default(), most: 2 };
    let service = talk.service.clone();
    let serving = tokio::spawn(async move { serve(service, reader, writer, std::future::pending()).await });
    input.write_all(format!("{}\n{}\n", start(), turn("t1", "stay")).as_bytes()).await.unwrap();
    talk.event("turn_started").await;
    assert!(!serving.is_finished());
    talk.script.gate.notify_one();
    let error = serving.await.unwrap().unwrap_err();
    assert!(matches!(error, TransportError::Write(_)), "{error:?}");
    assert_eq!(talk.ended("s1", "t1").await["status"], "completed");
}

#[tokio::test]
async fn what_a_slow_client_has_not_read_comes_from_the_store() {
    for room in [0, 1, 2, 4096] {
        let talk = Talk::with(None, Settings { room, ..Settings::default() });
        let (ours, theirs) = tokio::io::duplex(16);
        let (reader, writer) = tokio::io::split(theirs);
        let service = talk.service.clone();
        let serving =
            tokio::spawn(async move { serve(service, reader, writer, std::future::pending()).await });
        let (mut output, mut input) = tokio::io::split(ours);
        // More happens than fits between the two, and nobody reads it until all has happened.
        talk.start("s1").await;
        for number in 0..20 {
            talk.said("s1", &format!("t{number}"), "write").await;
        }
        input.write_all(format!("{}\n", request("status", &json!({}))).as_bytes()).await.unwrap();
        input.shutdown().await.unwrap();
        let mut text = String::new();
        output.read_to_string(&mut text).await.unwrap();
        serving.await.unwrap().unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let (answer, events) = lines.split_last().unwrap();
        assert_eq!(answer["ok"], true);
        assert_eq!(events, talk.events().await, "with room for {room}");
    }
}

#[tokio::test]
async fn what_was_pruned_before_a_slow_client_read_it_is_passed_over() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("chat.db");
    let talk = Talk::with(Some(&file), Settings { room: 0, ..Settings::default() });
    talk.start("s1").await;
    for number in 0..20 {
        talk.said("s1", &format!("t{number}"), "write").await;
    }
    let other = Store::open(&Place::Existing(file), Arc::new(SystemClock)).unwrap();
    let pruned = other.prune(&Retention { keep_events: Some(5), older_than: None }).unwrap();
    assert!(pruned.events > 50, "{pruned:?}");
    let lines = exchanged(&talk, request("status", &json!({})).as_bytes()).await;
    let (answer, events) = lines.split_last().unwrap();
    assert_eq!(answer["ok"], true);
    assert_eq!(events, talk.events().await, "what is left is told");
}
