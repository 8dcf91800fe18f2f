//! Commands under way: output as it comes, input, signals, terminals.

use std::time::Duration;

use fullsend_sandbox::{ExecEvent, ExecExit, ExecRequest, Running, TerminalSize};

use crate::support::context::{Context, text};
use crate::support::host;

/// Reads until standard output ends with `end`: all that came since the last time.
async fn until(running: &mut Running, end: &str) -> String {
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).ends_with(end) {
        match running.next().await.unwrap() {
            ExecEvent::Stdout(bytes) => seen.extend_from_slice(&bytes),
            ExecEvent::Stderr(bytes) => panic!("on standard error: {bytes:?}"),
            ExecEvent::Exited(exit) => panic!("ended ({exit:?}) after {:?}", String::from_utf8_lossy(&seen)),
        }
    }
    String::from_utf8(seen).unwrap()
}

/// Reads to the end.
async fn exit(running: &mut Running) -> (String, ExecExit) {
    let mut seen = Vec::new();
    loop {
        match running.next().await.unwrap() {
            ExecEvent::Stdout(bytes) | ExecEvent::Stderr(bytes) => seen.extend_from_slice(&bytes),
            ExecEvent::Exited(exit) => return (String::from_utf8_lossy(&seen).into_owned(), exit),
        }
    }
}

fn interactive(request: ExecRequest) -> ExecRequest {
    ExecRequest { interactive: true, ..request }
}

fn on_terminal(request: ExecRequest) -> ExecRequest {
    ExecRequest { terminal: Some(TerminalSize { rows: 24, columns: 80 }), ..interactive(request) }
}

pub(crate) async fn output_comes_while_the_command_runs(cx: &Context) {
    let id = cx.session().await;
    let line = "echo ready; read x; echo got $x; read y; echo got $y; cat; echo over";
    let mut running = cx.backend.spawn(&id, interactive(cx.line(line))).await.unwrap();
    assert_eq!(until(&mut running, "\n").await, "ready\n");
    running.feed("one\n");
    assert_eq!(until(&mut running, "\n").await, "got one\n");
    running.feed("two\nrest");
    assert_eq!(until(&mut running, "rest").await, "got two\nrest");
    running.finish_input();
    let (said, exit) = exit(&mut running).await;
    assert_eq!((said.as_str(), exit.exit_code), ("over\n", 0));
}

pub(crate) async fn the_order_within_a_stream_is_kept(cx: &Context) {
    let id = cx.session().await;
    let mut running = cx.backend.spawn(&id, cx.line("seq 1 50000")).await.unwrap();
    let (said, _) = exit(&mut running).await;
    assert!(said == (1..=50_000).map(|number| format!("{number}\n")).collect::<String>());
}

pub(crate) async fn a_wait_that_is_given_up_loses_nothing(cx: &Context) {
    let id = cx.session().await;
    let line = "for i in 1 2 3 4 5 6 7 8 9; do echo $i; sleep 0.02; done; cat; exit 6";
    let mut running = cx.backend.spawn(&id, interactive(cx.line(line))).await.unwrap();
    running.feed(vec![b'x'; 300_000]);
    running.finish_input();
    let mut seen = Vec::new();
    let code = loop {
        match tokio::time::timeout(Duration::from_millis(1), running.next()).await {
            Err(_) => {}
            Ok(Ok(ExecEvent::Stdout(bytes))) => seen.extend_from_slice(&bytes),
            Ok(Ok(ExecEvent::Exited(exit))) => break exit.exit_code,
            Ok(other) => panic!("{other:?}"),
        }
    };
    assert_eq!(code, 6);
    let expected = [b"1\n2\n3\n4\n5\n6\n7\n8\n9\n".to_vec(), vec![b'x'; 300_000]].concat();
    assert!(seen == expected, "{} bytes of {}", seen.len(), expected.len());
}

pub(crate) async fn a_dropped_command_ends_with_its_children(cx: &Context) {
    let id = cx.session().await;
    let line = "setsid sleep 1000 & (sleep 1000 &) ; trap '' TERM; echo up; sleep 1000";
    let mut running = cx.backend.spawn(&id, cx.line(line)).await.unwrap();
    assert_eq!(until(&mut running, "up\n").await, "up\n");
    drop(running);
    tokio::task::block_in_place(|| host::expect_gone(cx.mark()));
    assert_eq!(cx.out(&id, "echo next").await, "next");
}

pub(crate) async fn an_exec_that_is_given_up_ends(cx: &Context) {
    let id = cx.session().await;
    let wait = cx.backend.exec(&id, cx.line("setsid sleep 1000 & sleep 1000"));
    assert!(tokio::time::timeout(Duration::from_millis(500), wait).await.is_err());
    tokio::task::block_in_place(|| host::expect_gone(cx.mark()));
    assert_eq!(cx.out(&id, "echo next").await, "next");
}

pub(crate) async fn signals_reach_the_command(cx: &Context) {
    let id = cx.session().await;
    let line = "trap 'echo caught; exit 9' TERM; echo up; while :; do sleep 0.05; done";
    let mut running = cx.backend.spawn(&id, cx.line(line)).await.unwrap();
    until(&mut running, "up\n").await;
    running.signal(15).unwrap();
    let (said, end) = exit(&mut running).await;
    assert!(said.contains("caught"), "{said}");
    assert_eq!((end.exit_code, end.signal), (9, None));

    let mut running = cx
        .backend
        .spawn(&id, cx.line("setsid sleep 1000 & trap '' TERM INT; echo up; sleep 1000"))
        .await
        .unwrap();
    until(&mut running, "up\n").await;
    running.signal(9).unwrap();
    let (_, end) = exit(&mut running).await;
    assert_eq!((end.exit_code, end.signal), (137, Some(9)));
    tokio::task::block_in_place(|| host::expect_gone(cx.mark()));
}

pub(crate) async fn a_terminal_is_one(cx: &Context) {
    let id = cx.session().await;
    let line =
        "test -t 0 && test -t 1 && test -t 2 && echo error >&2; stty size; tty; : > /dev/tty && echo own";
    let mut running = cx.backend.spawn(&id, on_terminal(cx.line(line))).await.unwrap();
    let (said, end) = exit(&mut running).await;
    assert_eq!(end.exit_code, 0, "{said}");
    assert!(said.starts_with("error\r\n24 80\r\n") && said.ends_with("own\r\n"), "{said:?}");
}

pub(crate) async fn a_terminal_changes_its_size(cx: &Context) {
    let id = cx.session().await;
    let line = "trap 'stty size' WINCH; stty -echo; echo up; read x; stty size";
    let mut running = cx.backend.spawn(&id, on_terminal(cx.line(line))).await.unwrap();
    until(&mut running, "up\r\n").await;
    running.resize(TerminalSize { rows: 50, columns: 132 }).unwrap();
    running.feed("x\n");
    let (said, _) = exit(&mut running).await;
    assert!(said.ends_with("50 132\r\n"), "{said:?}");

    let mut plain = cx.backend.spawn(&id, interactive(cx.line("read x"))).await.unwrap();
    assert!(plain.resize(TerminalSize { rows: 1, columns: 1 }).is_err(), "it has no terminal");
    plain.finish_input();
    exit(&mut plain).await;
}

pub(crate) async fn a_terminal_interrupts(cx: &Context) {
    let id = cx.session().await;
    let mut running = cx.backend.spawn(&id, on_terminal(cx.line("echo up; exec sleep 1000"))).await.unwrap();
    until(&mut running, "up\r\n").await;
    running.feed("\u{3}");
    let (_, end) = exit(&mut running).await;
    assert_eq!((end.exit_code, end.signal), (130, Some(2)));
}

pub(crate) async fn nothing_is_put_into_a_terminal(cx: &Context) {
    let Some(mount) = cx.probe_mount() else { return };
    let id = cx.with_mounts(vec![mount]).await;
    let mut running = cx.backend.spawn(&id, on_terminal(cx.probe("tiocsti_stdin"))).await.unwrap();
    let (said, _) = exit(&mut running).await;
    assert!(said.contains("BLOCKED"), "{said}");
}

pub(crate) async fn a_terminal_has_a_time_limit_too(cx: &Context) {
    let id = cx.session().await;
    let request = ExecRequest {
        timeout: Some(Duration::from_millis(300)),
        ..on_terminal(cx.line("echo up; sleep 1000"))
    };
    let result = cx.exec(&id, request).await;
    assert_eq!((result.timed_out, text(&result).as_str()), (true, "up\r\n"));
}
