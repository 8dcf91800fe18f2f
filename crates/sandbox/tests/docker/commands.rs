//! Commands: what goes in, what comes out, how they end.

use std::time::Duration;

use fullsend_sandbox::{
    ByteString, ExecEvent, ExecRequest, NetworkPolicy, ResourceLimits, SandboxBackend as _, SandboxError,
    SandboxSpec, TerminalSize,
};
use fullsend_testkit::test_name;

use super::fixture::{Fixture, Runtime};

#[tokio::test(flavor = "multi_thread")]
async fn output_is_exact_with_every_runtime() {
    for runtime in [Runtime::Runc, Runtime::Runsc] {
        let Some(fixture) = Fixture::new(test_name!(), runtime).await else { continue };
        let id = fixture.session().await;
        let result = fixture.shell(&id, "printf 'a\\0\\377b'; printf err >&2; exit 3").await;
        assert_eq!((result.stdout.0.as_slice(), result.stderr.0.as_slice()), (&b"a\0\xffb"[..], &b"err"[..]));
        assert_eq!((result.exit_code, result.timed_out, result.signal), (3, false, None), "{runtime:?}");
        let result = fixture.shell(&id, "kill -SEGV $$").await;
        assert_eq!((result.exit_code, result.signal), (139, Some(11)), "{runtime:?}");
        fixture.backend.terminate(&id).await.unwrap();
        assert_eq!(fixture.containers(), Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn megabytes_go_through_both_ways_and_are_the_same() {
    for runtime in [Runtime::Runc, Runtime::Runsc] {
        let Some(fixture) = Fixture::new(test_name!(), runtime).await else { continue };
        let id = fixture.session().await;
        let input: Vec<u8> = (0..5_000_000_u32).map(|number| (number * 7 / 3).to_le_bytes()[0]).collect();
        let request =
            ExecRequest { stdin: Some(ByteString(input.clone())), ..ExecRequest::new("cat", ["-"]) };
        let result = fixture.backend.exec(&id, request).await.unwrap();
        assert!(result.stdout.0 == input, "{runtime:?}: {} bytes", result.stdout.0.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_does_not_read_its_input_is_no_error() {
    let Some(fixture) = Fixture::new(test_name!(), Runtime::Runc).await else { return };
    let id = fixture.session().await;
    let request = ExecRequest {
        stdin: Some(ByteString(vec![0; 10_000_000])),
        ..ExecRequest::shell("exec <&-; echo done")
    };
    let result = fixture.backend.exec(&id, request).await.unwrap();
    assert_eq!(result.stdout, ByteString::from("done\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_is_cut_and_a_stalled_command_holds_up_no_other() {
    let Some(fixture) = Fixture::new(test_name!(), Runtime::Runc).await else { return };
    let limits = ResourceLimits { output_bytes: Some(1000), ..ResourceLimits::default() };
    let id = fixture.provision(SandboxSpec { limits, ..SandboxSpec::default() }).await;
    // Nobody reads this one.
    let stalled = fixture.backend.spawn(&id, ExecRequest::shell("yes")).await.unwrap();
    let result = fixture.shell(&id, "head -c 20000000 /dev/zero; echo end").await;
    assert_eq!(result.stdout.0.len(), 1000);
    assert_eq!(result.stdout_omitted, 20_000_004 - 1000);
    assert!(result.stdout.0.ends_with(b"end\n"));
    drop(stalled);
    let result = fixture.shell(&id, "sleep 0.2; pidof yes").await;
    assert_eq!(result.exit_code, 1, "{result:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_limit_ends_everything_that_was_started() {
    let Some(fixture) = Fixture::new(test_name!(), Runtime::Runc).await else { return };
    let id = fixture.session().await;
    let request = ExecRequest {
        timeout: Some(Duration::from_millis(700)),
        ..ExecRequest::shell("echo begun; trap '' TERM; setsid sleep 1234 & sleep 1234")
    };
    let result = fixture.backend.exec(&id, request).await.unwrap();
    assert_eq!((result.exit_code, result.timed_out), (124, true));
    assert_eq!(result.stdout, ByteString::from("begun\n"));
    let result = fixture.shell(&id, "pidof sleep").await;
    assert_eq!(result.exit_code, 1, "{result:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_kills_everyone_does_not_end_the_session() {
    for runtime in [Runtime::Runc, Runtime::Runsc] {
        let Some(fixture) = Fixture::new(test_name!(), runtime).await else { continue };
        let id = fixture.session().await;
        fixture.shell(&id, "kill -9 -1").await;
        let result = fixture.shell(&id, "echo alive").await;
        assert_eq!(result.stdout, ByteString::from("alive\n"), "{runtime:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_run_beside_each_other_and_input_is_interactive() {
    let Some(fixture) = Fixture::new(test_name!(), Runtime::Runc).await else { return };
    let id = fixture.session().await;
    let request = ExecRequest {
        interactive: true,
        ..ExecRequest::shell("while read l; do echo got $l; done; echo over")
    };
    let mut talking = fixture.backend.spawn(&id, request).await.unwrap();
    for word in ["one", "two"] {
        talking.feed(format!("{word}\n"));
        assert_eq!(talking.next().await.unwrap(), ExecEvent::Stdout(format!("got {word}\n").into()));
        assert_eq!(fixture.shell(&id, "echo other").await.stdout, ByteString::from("other\n"));
    }
    talking.finish_input();
    assert_eq!(talking.collect().await.unwrap().stdout, ByteString::from("over\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_is_one() {
    for runtime in [Runtime::Runc, Runtime::Runsc] {
        let Some(fixture) = Fixture::new(test_name!(), runtime).await else { continue };
        let id = fixture.session().await;
        let terminal = Some(TerminalSize { rows: 33, columns: 99 });
        let request = ExecRequest {
            terminal,
            interactive: true,
            ..ExecRequest::shell("stty size; read x; stty size; tty")
        };
        let mut running = fixture.backend.spawn(&id, request).await.unwrap();
        let ExecEvent::Stdout(first) = running.next().await.unwrap() else { panic!("no output") };
        assert_eq!(first, "33 99\r\n");
        running.resize(TerminalSize { rows: 20, columns: 40 }).unwrap();
        running.feed("\n");
        let result = running.collect().await.unwrap();
        let text = result.stdout.display().into_owned();
        assert!(text.contains("20 40\r\n/dev/pts/"), "{runtime:?}: {text}");
        assert_eq!(result.exit_code, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_the_host_is_inside() {
    for runtime in [Runtime::Runc, Runtime::Runsc] {
        let Some(fixture) = Fixture::new(test_name!(), runtime).await else { continue };
        let id = fixture.session().await;
        let checks = [
            ("test $(id -u) -ne 0", 0),
            ("env | grep -i docker", 1),
            ("touch /x", 1),
            ("touch /mnt/memory/x", 1),
            ("touch /mnt/session/outputs/x /tmp/x ~/x", 0),
            ("grep CapBnd /proc/self/status | grep -v 0000000000000000", 1),
            ("mount -t tmpfs x /tmp", 1),
            ("unshare -U true", 1),
            ("ping -c 1 -W 1 192.0.2.1", 1),
            ("echo x > /proc/sys/kernel/core_pattern", 1),
        ];
        // The kernel of runsc shows a process to others of its user, whatever it asks for.
        let hidden = [
            ("ls -A /proc/self/fd | sort -n | tail -1 | grep -x '[0-3]'", 0),
            ("cat /proc/1/environ", 1),
            ("cat /proc/1/maps", 1),
            ("ls /proc/1/fd/", 1),
            ("ls /proc/1/root/", 1),
        ];
        let hidden = hidden.into_iter().filter(|_| matches!(runtime, Runtime::Runc));
        for (line, code) in checks.into_iter().chain(hidden) {
            let result = fixture.shell(&id, line).await;
            assert_eq!(result.exit_code.min(1), code, "{runtime:?}: {line}: {result:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_done_is_refused() {
    let Some(fixture) = Fixture::new(test_name!(), Runtime::Runc).await else { return };
    let id = fixture.session().await;
    let missing = fixture.backend.exec(&id, ExecRequest::new("/no/such", ["x"])).await.unwrap_err();
    assert!(matches!(&missing, SandboxError::NotStarted { .. }), "{missing}");
    for request in [ExecRequest::new(" ", [""; 0]), ExecRequest::new("a\0b", [""; 0])] {
        let error = fixture.backend.exec(&id, request).await.unwrap_err();
        assert!(matches!(error, SandboxError::InvalidRequest(_)), "{error}");
    }
    let specs = [
        SandboxSpec { programs: Some(vec!["sh".to_owned()]), ..SandboxSpec::default() },
        SandboxSpec { watch_paths: true, ..SandboxSpec::default() },
    ];
    for spec in specs {
        let error = fixture.backend.provision(spec).await.unwrap_err();
        assert!(matches!(error, SandboxError::Unsupported { .. }), "{error}");
    }
    let twice = SandboxSpec { session_id: Some(id.clone()), ..SandboxSpec::default() };
    assert!(matches!(fixture.backend.provision(twice).await, Err(SandboxError::InvalidRequest(_))));
    assert_eq!(fixture.shell(&id, "echo still here").await.exit_code, 0);
    fixture.backend.apply_network_policy(&id, NetworkPolicy::none()).await.unwrap();
}
