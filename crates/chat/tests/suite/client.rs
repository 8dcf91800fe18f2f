//! The typed client against a peer that says what a test wants it to say.

use std::time::Duration;

use fullsend_chat::client::{Client, ClientError, ConnectionError, EventStream, LONGEST_LINE, UNREAD_EVENTS};
use fullsend_chat::protocol::{
    CancelTurn, CloseSession, Decision, ErrorCode, ListEvents, ListTurns, ResolveApproval, StartSession,
    StartTurn, StatusQuery,
};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};

struct Peer {
    requests: Lines<BufReader<ReadHalf<DuplexStream>>>,
    output: WriteHalf<DuplexStream>,
}

impl Peer {
    fn met() -> (Self, Client, EventStream) {
        let (ours, theirs) = tokio::io::duplex(512);
        let (reader, writer) = tokio::io::split(ours);
        let (client, events) = Client::connect(reader, writer);
        let (input, output) = tokio::io::split(theirs);
        (Self { requests: BufReader::new(input).lines(), output }, client, events)
    }

    async fn heard(&mut self) -> Option<Value> {
        let line = self.requests.next_line().await.unwrap()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    async fn say(&mut self, text: impl AsRef<[u8]>) {
        self.output.write_all(text.as_ref()).await.unwrap();
    }

    async fn answer(&mut self, request: &Value, result: Value) {
        let answer = json!({"type": "fullsend.chat.response", "protocolVersion": 1,
            "requestId": request["requestId"], "ok": true, "result": result});
        self.say(format!("{answer}\n")).await;
    }

    async fn refuse(&mut self, request: &Value, error: Value) {
        let answer = json!({"type": "fullsend.chat.response", "protocolVersion": 1,
            "requestId": request["requestId"], "ok": false, "error": error});
        self.say(format!("{answer}\n")).await;
    }

    async fn tell(&mut self, sequence: u64, text: &str) {
        self.say(format!("{}\n", delta(sequence, text))).await;
    }
}

fn delta(sequence: u64, text: &str) -> Value {
    json!({"type": "fullsend.chat.event", "protocolVersion": 1, "emittedAt": "2026-01-01T00:00:00.000Z",
        "sessionId": "s", "turnId": "t", "sequence": sequence, "event": {"kind": "assistant_delta", "text": text}})
}

fn capabilities() -> Value {
    serde_json::to_value(fullsend_chat::protocol::Capabilities::default()).unwrap()
}

fn session() -> Value {
    json!({"sessionId": "s", "status": "idle", "reusable": true, "turnCount": 0,
        "createdAt": "2026-01-01T00:00:00.000Z", "updatedAt": "2026-01-01T00:00:00.000Z",
        "workspace": {"hostPath": "/w"}, "capabilities": capabilities(),
        "policy": {"type": "fullsend.chat-policy", "toolMode": "workspace-write", "allowedToolIds": ["bash"],
            "allowedSubagentProfiles": []}})
}

fn turn() -> Value {
    json!({"turnId": "t", "status": "running", "startedAt": "2026-01-01T00:00:00.000Z",
        "updatedAt": "2026-01-01T00:00:00.000Z"})
}

fn start_session() -> StartSession {
    serde_json::from_value(json!({"workspace": {"hostPath": "/w"}})).unwrap()
}

fn start_turn() -> StartTurn {
    serde_json::from_value(json!({"sessionId": "s", "input": {"text": "Hello."}})).unwrap()
}

#[tokio::test]
async fn every_request_is_written_as_the_protocol_says_and_its_result_is_typed() {
    let (mut peer, client, _events) = Peer::met();
    let service = tokio::spawn(async move {
        let mut heard = Vec::new();
        while let Some(request) = peer.heard().await {
            let result = match request["method"].as_str().unwrap() {
                "hello" => json!({"protocolVersion": 1, "supportedVersions": [1], "service": "fullsend",
                    "serviceVersion": "0", "capabilities": capabilities()}),
                "start_turn" => turn(),
                "status" => json!({"sessions": [session()]}),
                "list_events" => json!({"events": [delta(7, "x")], "latestSequence": 9}),
                "list_turns" => json!({"turns": []}),
                _ => session(),
            };
            peer.answer(&request, result).await;
            heard.push((request["method"].clone(), request["params"].clone()));
        }
        heard
    });
    assert_eq!(client.hello("tests").await.unwrap().supported_versions, [1]);
    assert_eq!(
        serde_json::to_value(client.start_session(start_session()).await.unwrap()).unwrap(),
        session()
    );
    assert_eq!(serde_json::to_value(client.start_turn(start_turn()).await.unwrap()).unwrap(), turn());
    let cancel = CancelTurn { session_id: "s".into(), turn_id: Some("t".into()), reason: None };
    assert_eq!(client.cancel_turn(cancel).await.unwrap().session_id, "s");
    let yes = ResolveApproval { session_id: "s".into(), approval_id: "a".into(), decision: Decision::Allow };
    assert_eq!(client.resolve_approval(yes).await.unwrap().session_id, "s");
    let close = CloseSession { session_id: "s".into(), reason: Some("done".into()) };
    assert_eq!(client.close_session(close).await.unwrap().session_id, "s");
    assert_eq!(client.status(StatusQuery::default()).await.unwrap().sessions.len(), 1);
    let query = ListEvents { session_id: None, after_sequence: Some(6), limit: Some(1) };
    let list = client.list_events(query).await.unwrap();
    assert_eq!((list.events[0].sequence, list.latest_sequence), (7, 9));
    assert!(client.list_turns(ListTurns::default()).await.unwrap().turns.is_empty());

    drop(client);
    let heard = service.await.unwrap();
    let expected = [
        ("hello", json!({"protocolVersions": [1], "client": "tests"})),
        ("start_session", json!({"workspace": {"hostPath": "/w"}})),
        ("start_turn", json!({"sessionId": "s", "input": {"text": "Hello."}})),
        ("cancel_turn", json!({"sessionId": "s", "turnId": "t"})),
        ("resolve_approval", json!({"sessionId": "s", "approvalId": "a", "decision": "allow"})),
        ("close_session", json!({"sessionId": "s", "reason": "done"})),
        ("status", json!({})),
        ("list_events", json!({"afterSequence": 6, "limit": 1})),
        ("list_turns", json!({})),
    ];
    assert_eq!(heard, expected.map(|(method, params)| (json!(method), params)));
}

#[tokio::test]
async fn answers_find_their_requests_in_any_order_and_events_stream_beside_them() {
    let (mut peer, client, mut events) = Peer::met();
    let one = tokio::spawn({
        let client = client.clone();
        async move { client.start_turn(start_turn()).await }
    });
    let first = peer.heard().await.unwrap();
    let two = tokio::spawn({
        let client = client.clone();
        async move { client.status(StatusQuery::default()).await }
    });
    let second = peer.heard().await.unwrap();
    assert_ne!(first["requestId"], second["requestId"]);
    peer.tell(3, "a").await;
    peer.answer(&second, json!({"sessions": []})).await;
    assert!(two.await.unwrap().unwrap().sessions.is_empty());
    // Between events another process may have made some: numbers rise, with gaps.
    peer.tell(9, "b").await;
    peer.say("\r\n  \n").await;
    peer.refuse(&first, json!({"code": "turn_already_running", "message": "busy", "retryable": true})).await;
    peer.tell(10, "c").await;
    let refused = one.await.unwrap().unwrap_err();
    assert_eq!((refused.code(), refused.to_string()), (Some(ErrorCode::TurnAlreadyRunning), "busy".into()));
    let mut sequences = Vec::new();
    for _ in 0..3 {
        sequences.push(events.next().await.unwrap().unwrap().sequence);
    }
    assert_eq!(sequences, [3, 9, 10]);
    drop((peer, client));
    assert!(events.next().await.unwrap().is_none());
}

#[tokio::test]
async fn a_service_that_ends_or_talks_nonsense_is_an_error_that_says_so() {
    let cases: [(&str, &str); 12] = [
        ("", "the chat service ended; its standard error says why"),
        ("{\"type\":", "ended in the middle of a line, after 8 bytes"),
        ("hello\n", "line 1 of the chat service is not one of this protocol: expected value"),
        ("\u{0}\n", "line 1 of the chat service is not one of this protocol"),
        ("{\"type\":\"x\",\"protocolVersion\":1}\n", "its type is \"x\""),
        ("{\"type\":\"fullsend.chat.event\",\"protocolVersion\":2}\n", "its version is 2, not 1"),
        ("{\"type\":\"fullsend.chat.event\",\"protocolVersion\":1}\n", "missing field `emittedAt`"),
        (
            "{\"type\":\"fullsend.chat.response\",\"protocolVersion\":1,\"requestId\":\"1\",\"ok\":true}\n",
            "an answer that is ok has a result",
        ),
        (
            "{\"type\":\"fullsend.chat.response\",\"protocolVersion\":1,\"requestId\":\"1\",\"ok\":false,\"result\":1}\n",
            "an answer that is not ok has an error",
        ),
        (
            "{\"type\":\"fullsend.chat.response\",\"protocolVersion\":1,\"requestId\":\"77\",\"ok\":true,\"result\":1}\n",
            "answers a request that was not made: 77",
        ),
        (
            "{\"type\":\"fullsend.chat.response\",\"protocolVersion\":1,\"requestId\":null,\"ok\":true,\"result\":1}\n",
            "answers a request that was not made: it bears no id",
        ),
        (
            "{\"type\":\"fullsend.chat.response\",\"protocolVersion\":1,\"requestId\":\"1\",\"ok\":true,\"result\":{}}\n",
            "result of `status` has not the form that it should have: missing field `sessions`",
        ),
    ];
    for (said, expected) in cases {
        let (mut peer, client, mut events) = Peer::met();
        let asked = tokio::spawn({
            let client = client.clone();
            async move { client.status(StatusQuery::default()).await.map(|_| ()) }
        });
        peer.heard().await.unwrap();
        peer.say(said).await;
        drop(peer);
        let error = asked.await.unwrap().unwrap_err();
        assert_eq!(error.code(), None);
        assert!(error.to_string().contains(expected), "{said:?}: {error}");
        // And so is whatever comes after it.
        if !expected.contains("result of") {
            let later = client.status(StatusQuery::default()).await.unwrap_err();
            assert_eq!(later.to_string(), error.to_string());
            match events.next().await {
                Ok(none) => assert!(none.is_none() && said.is_empty(), "{said:?}"),
                Err(same) => assert_eq!(same.to_string(), error.to_string()),
            }
        }
    }
}

#[tokio::test]
async fn events_that_do_not_rise_and_lines_without_end_are_nonsense() {
    for (first, second) in [(5, 5), (5, 4), (0, 0)] {
        let (mut peer, _client, mut events) = Peer::met();
        peer.tell(first, "a").await;
        peer.tell(second, "b").await;
        let mut told = events.next().await;
        if first > 0 {
            assert_eq!(told.unwrap().unwrap().sequence, first);
            told = events.next().await;
        }
        assert!(matches!(told, Err(ConnectionError::OutOfOrder { .. })), "{first} {second}: {told:?}");
    }
    let (mut peer, _client, mut events) = Peer::met();
    let endless = tokio::spawn(async move {
        let piece = vec![b' '; 1 << 20];
        // The client goes away once it has had too much, which ends this.
        let mut sent = 0;
        while peer.output.write_all(&piece).await.is_ok() {
            sent += piece.len();
        }
        sent
    });
    assert!(matches!(events.next().await, Err(ConnectionError::TooLong { line: 1 })));
    drop((events, _client));
    assert!(endless.await.unwrap() <= LONGEST_LINE + (2 << 20));
}

#[tokio::test]
async fn a_client_that_takes_no_events_stops_reading_but_still_gets_its_answers() {
    let (mut peer, client, mut events) = Peer::met();
    let many = 3 * UNREAD_EVENTS as u64;
    let telling = tokio::spawn(async move {
        for sequence in 1..=many {
            peer.tell(sequence, "x").await;
        }
        while let Some(request) = peer.heard().await {
            peer.answer(&request, json!({"sessions": []})).await;
        }
    });
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!telling.is_finished());
    // The answer stands behind all events; asking makes the client read up to it.
    assert!(client.status(StatusQuery::default()).await.unwrap().sessions.is_empty());
    drop(client);
    for sequence in 1..=many {
        assert_eq!(events.next().await.unwrap().unwrap().sequence, sequence);
    }
    assert!(events.next().await.unwrap().is_none());
    telling.await.unwrap();
}

#[tokio::test]
async fn unwanted_events_are_forgotten_and_given_up_requests_do_no_harm() {
    let (mut peer, client, events) = Peer::met();
    drop(events);
    for sequence in 1..=2 * UNREAD_EVENTS as u64 {
        peer.tell(sequence, "x").await;
    }
    let given_up =
        tokio::time::timeout(Duration::from_millis(50), client.status(StatusQuery::default())).await;
    assert!(given_up.is_err());
    let request = peer.heard().await.unwrap();
    let asked = tokio::spawn({
        let client = client.clone();
        async move { client.start_session(start_session()).await }
    });
    let next = peer.heard().await.unwrap();
    peer.answer(&request, json!({"sessions": []})).await;
    peer.answer(&next, session()).await;
    assert_eq!(asked.await.unwrap().unwrap().session_id, "s");
}

#[tokio::test]
async fn a_service_that_takes_no_requests_is_an_error() {
    let (ours, theirs) = tokio::io::duplex(64);
    let (closed, gone) = tokio::io::duplex(64);
    drop(gone);
    let (client, mut events) = Client::connect(ours, closed);
    let error = client.start_turn(start_turn()).await.unwrap_err();
    assert!(matches!(error, ClientError::Connection(ConnectionError::Write(_))), "{error}");
    drop(theirs);
    assert!(events.next().await.unwrap().is_none());
    let later = client.start_turn(start_turn()).await.unwrap_err();
    assert!(later.to_string().contains("cannot write to the chat service"), "{later}");
}
