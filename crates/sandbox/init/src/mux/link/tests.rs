//! Two links that talk to each other through buffers.

use super::super::frame::{self, BadFrame, Kind};
use super::{Event, Input, Link, OUTGOING, STREAMS, Side, WINDOW};

fn pair() -> (Link, Link) {
    (Link::new(Side::Host), Link::new(Side::Guest))
}

/// Carries everything that `from` may send now to `to`.
fn carry(from: &mut Link, to: &mut Link) -> Vec<Event> {
    let mut events = Vec::new();
    while from.has_something_to_send() {
        let mut bytes = Vec::new();
        from.transmit(&mut bytes, 1);
        // In small pieces, as pipes like to deliver.
        for piece in bytes.chunks(1000) {
            events.extend(to.receive(piece).unwrap());
        }
    }
    events
}

/// Everything that can be read now.
fn read(link: &mut Link, stream: u32) -> (Vec<u8>, Input) {
    let mut all = Vec::new();
    let mut piece = [0; 5000];
    loop {
        match link.read(stream, &mut piece) {
            Input::Bytes(count) => all.extend_from_slice(&piece[..count]),
            other @ (Input::Nothing | Input::End | Input::Cut) => return (all, other),
        }
    }
}

fn opened(host: &mut Link, guest: &mut Link) -> u32 {
    let stream = host.open(b"what it is").unwrap();
    let header = b"what it is".to_vec();
    assert_eq!(carry(host, guest), [Event::Opened { stream, header }]);
    stream
}

#[test]
fn bytes_arrive_in_order_and_so_does_their_end() {
    let (mut host, mut guest) = pair();
    let stream = opened(&mut host, &mut guest);
    let sent: Vec<u8> = (0..1_000_000_u32).map(|number| number.to_le_bytes()[0] ^ 0x5a).collect();
    let (mut rest, mut received) = (sent.as_slice(), Vec::new());
    while !rest.is_empty() {
        let count = host.write(stream, rest).unwrap();
        rest = &rest[count..];
        carry(&mut host, &mut guest);
        received.extend(read(&mut guest, stream).0);
        carry(&mut guest, &mut host);
    }
    host.finish(stream);
    assert_eq!(host.write(stream, b"too late"), None);
    carry(&mut host, &mut guest);
    assert!(received == sent, "{} of {}", received.len(), sent.len());
    assert_eq!(read(&mut guest, stream), (Vec::new(), Input::End));
}

#[test]
fn a_stream_that_nobody_reads_holds_up_nothing_else_and_stays_within_its_window() {
    let (mut host, mut guest) = pair();
    let stalled = opened(&mut host, &mut guest);
    let lively = opened(&mut host, &mut guest);
    let mut accepted = 0;
    while let Some(count @ 1..) = host.write(stalled, &[7; 10_000]) {
        accepted += count;
        carry(&mut host, &mut guest);
    }
    assert_eq!(accepted, WINDOW + OUTGOING);
    for _ in 0..10 {
        assert_eq!(host.write(lively, &[8; 60_000]), Some(60_000));
        carry(&mut host, &mut guest);
        assert_eq!(read(&mut guest, lively).0.len(), 60_000);
        carry(&mut guest, &mut host);
    }
    assert_eq!(read(&mut guest, stalled).0.len(), WINDOW);
    carry(&mut guest, &mut host);
    carry(&mut host, &mut guest);
    assert_eq!(read(&mut guest, stalled).0.len(), OUTGOING);
}

#[test]
fn streams_take_turns() {
    let (mut host, mut guest) = pair();
    let streams: Vec<u32> = (0..3).map(|_| opened(&mut host, &mut guest)).collect();
    for stream in &streams {
        host.write(*stream, &[1; OUTGOING]).unwrap();
    }
    let mut order = Vec::new();
    for _ in 0..6 {
        order.extend(host.transmit(&mut Vec::new(), 1));
    }
    let expected: Vec<u32> = streams.iter().chain(&streams).copied().collect();
    assert_eq!(order, expected);
}

#[test]
fn messages_arrive_whole_and_overtake_data() {
    let (mut host, mut guest) = pair();
    let stream = opened(&mut host, &mut guest);
    host.write(stream, &[1; OUTGOING]).unwrap();
    let long = vec![9; 3 * 1024 * 1024];
    host.message(&long).unwrap();
    host.message(b"").unwrap();
    let events = carry(&mut host, &mut guest);
    assert_eq!(events[..2], [Event::Message(long), Event::Message(Vec::new())]);
    assert!(host.message(&vec![0; frame::MESSAGE + 1]).is_err());
}

#[test]
fn a_cut_stream_says_so_and_what_still_arrives_for_it_is_dropped() {
    let (mut host, mut guest) = pair();
    let stream = opened(&mut host, &mut guest);
    guest.write(stream, b"under way").unwrap();
    host.close(stream);
    assert_eq!(carry(&mut guest, &mut host), []);
    assert_eq!(carry(&mut host, &mut guest), [Event::Reset(stream)]);
    assert_eq!(guest.write(stream, b"more"), None);
    assert_eq!(read(&mut guest, stream), (Vec::new(), Input::Cut));
}

#[test]
fn what_was_finished_is_delivered_although_the_sender_has_let_go() {
    let (mut host, mut guest) = pair();
    let stream = opened(&mut host, &mut guest);
    host.write(stream, b"last words").unwrap();
    host.finish(stream);
    host.close(stream);
    carry(&mut host, &mut guest);
    assert_eq!(read(&mut guest, stream), (b"last words".to_vec(), Input::End));
}

#[test]
fn streams_that_came_to_their_end_are_forgotten_without_a_word() {
    let (mut host, mut guest) = pair();
    let stream = opened(&mut host, &mut guest);
    host.finish(stream);
    guest.finish(stream);
    carry(&mut host, &mut guest);
    carry(&mut guest, &mut host);
    host.close(stream);
    guest.close(stream);
    assert!(!host.has_something_to_send() && !guest.has_something_to_send());
    assert!(host.streams.is_empty() && guest.streams.is_empty());
}

#[test]
fn the_other_side_cannot_open_streams_without_limit() {
    let (mut host, mut guest) = pair();
    let numbers: Vec<u32> = (0..=STREAMS).map(|_| guest.open(b"").unwrap()).collect();
    assert_eq!(carry(&mut guest, &mut host).len(), STREAMS);
    assert_eq!(carry(&mut host, &mut guest), [Event::Reset(numbers[STREAMS])]);
    host.close(numbers[0]);
    guest.open(b"").unwrap();
    assert_eq!(carry(&mut guest, &mut host).len(), 1);
}

#[test]
fn what_breaks_the_protocol_is_refused() {
    let window = |more: u32| frames(&[(2, Kind::Window, &more.to_be_bytes())]);
    let full = frames(&[(2, Kind::Data, &[0; frame::DATA])]).repeat(WINDOW / frame::DATA + 1);
    let cases = [
        (frames(&[(1, Kind::Message, b"")]), "a frame with the wrong stream number"),
        (frames(&[(0, Kind::Data, b"")]), "a frame with the wrong stream number"),
        (frames(&[(4, Kind::Open, b"")]), "a stream number that is not the next"),
        (frames(&[(3, Kind::Open, b""), (3, Kind::Open, b"")]), "a stream number that is not the next"),
        (frames(&[(3, Kind::Open, b""), (1, Kind::Open, b"")]), "a stream number that is not the next"),
        (frames(&[(9, Kind::Data, b"x")]), "an unknown stream"),
        (frames(&[(4, Kind::Finish, b"")]), "an unknown stream"),
        (frames(&[(2, Kind::Finish, b""), (2, Kind::Data, b"x")]), "more data than there is room for"),
        (full, "more data than there is room for"),
        (frames(&[(2, Kind::Window, b"abc")]), "a window without a number"),
        (window(1), "a window that is too large"),
        (window(u32::MAX), "a window that is too large"),
    ];
    for (bytes, reason) in cases {
        let mut host = Link::new(Side::Host);
        assert_eq!(host.open(b""), Ok(2));
        assert_eq!(host.receive(&bytes), Err(BadFrame(reason)));
    }
}

#[test]
fn a_peer_that_asks_and_never_reads_is_given_up() {
    let mut host = Link::new(Side::Host);
    let mut result = Ok(Vec::new());
    for number in (1..u32::MAX).step_by(2) {
        result = host.receive(&frames(&[(number, Kind::Open, b"")]));
        if result.is_err() {
            break;
        }
    }
    assert_eq!(result, Err(BadFrame("it asks and does not read the answers")));
}

fn frames(list: &[(u32, Kind, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (stream, kind, payload) in list {
        frame::put(&mut bytes, *stream, *kind, payload);
    }
    bytes
}
