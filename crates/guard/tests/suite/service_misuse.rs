//! The hook service among hostile processes.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use fullsend_guard::hook::HookPhase;
use fullsend_guard::service::{AskError, Counts, Limits, ask};

use crate::suite::service::{PATIENCE, Served};

/// What a process in the sandbox would like to read in the log.
const FORGED: &str = "FORGED: all is well";

/// Limits under which a test of waiting does not take long.
fn hasty() -> Limits {
    Limits { patience: Duration::from_millis(200), ..Limits::default() }
}

/// Reads until the service closes the connection; whether it sent anything.
fn is_answered(mut stream: UnixStream) -> bool {
    let mut answer = Vec::new();
    let _reset_is_no_answer_either = stream.read_to_end(&mut answer);
    !answer.is_empty()
}

#[test]
fn whatever_is_not_a_question_is_refused_and_recorded_in_our_words() {
    let line = format!(r#"{{"seq":0,"trace_id":"x","phase":"hook_pretool","detail":"{FORGED}"}}{}"#, "\n");
    let question = [&b"fsq1\x01\0\0\0\x13"[..], FORGED.as_bytes()].concat();
    let table: [(&str, Vec<u8>, &str); 9] = [
        ("a log line", line.into_bytes(), "sent something that is not a question"),
        ("HTTP", b"GET / HTTP/1.1\r\n\r\n".to_vec(), "sent something that is not a question"),
        ("nothing", Vec::new(), "closed the connection before the end of a question"),
        ("half a head", b"fsq1\x01\0".to_vec(), "closed the connection before the end of a question"),
        ("half an input", question[..20].to_vec(), "closed the connection before the end of a question"),
        ("no such phase", b"fsq1\x03\0\0\0\0".to_vec(), "sent something that is not a question"),
        ("a huge length", b"fsq1\x01\xff\xff\xff\xff".to_vec(), "announced a question of 4294967295 bytes"),
        ("more", [&question[..], b"!"].concat(), "sent more than one question"),
        ("two", question.repeat(2), "sent more than one question"),
    ];
    let served = Served::new(Limits::default());
    for (name, bytes, _) in &table {
        let mut stream = served.connect();
        let _refused_early = stream.write_all(bytes);
        let _refused_early = stream.shutdown(std::net::Shutdown::Write);
        assert!(!is_answered(stream), "{name}");
        assert_eq!(served.ask("{}").exit, 0, "after {name}");
    }
    let (counts, all) = served.finish();
    assert_eq!(counts, Counts { answered: 9, misused: 9, entries: 9, ..Counts::default() });
    let us = std::process::id();
    let expected: Vec<_> = table
        .iter()
        .map(|(_, _, problem)| ("channel_misuse".to_owned(), format!("process {us} {problem}")))
        .collect();
    assert_eq!(all, expected);
}

#[test]
fn a_peer_that_is_silent_or_slow_is_refused() {
    let served = Served::new(hasty());
    let mut silent = served.connect();
    silent.write_all(b"fsq1\x01\0\0\0\x20abc").unwrap();
    let mut slow = served.connect();
    let dripping = std::thread::spawn(move || {
        let piece = [&b"fsq1\x01\0\0\x10\0"[..], &[b'x'; 4000]].concat();
        piece.iter().find(|byte| {
            std::thread::sleep(Duration::from_millis(20));
            slow.write_all(&[**byte]).is_err()
        });
        is_answered(slow)
    });
    assert!(!is_answered(silent));
    assert!(!dripping.join().unwrap(), "pieces in time do not make a question in time");
    let (counts, all) = served.finish();
    assert_eq!(counts, Counts { misused: 2, entries: 2, ..Counts::default() });
    assert!(all.iter().all(|(_, detail)| detail.ends_with("was too slow to ask")), "{all:?}");
}

#[test]
fn thousands_of_connections_leave_a_service_that_answers_and_a_short_log() {
    let served = Served::new(Limits { misuse_entries: 10, ..Limits::default() });
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for number in 0..250 {
                    let mut stream = served.connect();
                    if number % 2 == 0 {
                        let _refused_early = stream.write_all(FORGED.as_bytes());
                    }
                }
            });
        }
    });
    served.wait_until(|counts| counts.misused == 2000);
    assert_eq!(served.ask("bad").stderr, "no");
    let text = std::fs::read_to_string(served.log.path()).unwrap();
    assert!(!text.contains("FORGED"), "{text}");
    let (counts, all) = served.finish();
    // Ten one by one, the finding, and one that counts the rest.
    assert_eq!(counts, Counts { answered: 1, misused: 2000, entries: 12, ..Counts::default() });
    assert_eq!(all.last().unwrap().1, "and 1990 more connections that were not questions");
}

#[test]
fn connections_that_say_nothing_delay_others_but_no_stop() {
    let served =
        Served::new(Limits { connections: 3, patience: Duration::from_secs(3600), ..Limits::default() });
    let occupied: Vec<_> = (0..3).map(|_| served.connect()).collect();
    let socket = served.service.socket();
    let hurried = ask(&socket, HookPhase::PreTool, b"{}", Duration::from_millis(100));
    assert!(matches!(hurried, Err(AskError::TimedOut)), "{hurried:?}");
    drop(occupied);
    assert_eq!(served.ask("{}").exit, 0);
    served.wait_until(|counts| counts.misused == 3);
    let occupied: Vec<_> = (0..40).map(|_| served.connect()).collect();
    let (counts, _) = served.finish();
    assert_eq!((counts.denied, counts.misused), (0, 3), "what a stop interrupts is not misuse");
    assert!(occupied.into_iter().all(|stream| !is_answered(stream)));
}

#[test]
fn a_peer_that_does_not_take_its_answer_changes_nothing() {
    let served = Served::new(hasty());
    for _ in 0..20 {
        let mut stream = served.connect();
        stream.write_all(b"fsq1\x01\0\0\0\x03bad").unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
    }
    assert_eq!(ask(&served.service.socket(), HookPhase::PreTool, b"bad", PATIENCE).unwrap().exit, 2);
    served.wait_until(|counts| counts.answered + counts.unheard == 21);
    let (counts, all) = served.finish();
    assert_eq!((counts.answered + counts.unheard, counts.entries, counts.misused), (21, 21, 0));
    assert!(all.iter().all(|(rule, _)| rule == "unreadable"), "what was asked was decided and recorded");
}
