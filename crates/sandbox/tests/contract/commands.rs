//! Commands: how they start, what they are given, how they end.

use std::time::Duration;

use fullsend_sandbox::{ByteString, ExecRequest, SandboxError};

use crate::support::context::{Context, text};

pub(crate) async fn exit_codes_are_the_commands(cx: &Context) {
    let id = cx.session().await;
    for code in [0, 1, 3, 77, 124, 126, 127, 255] {
        let result = cx.sh(&id, &format!("exit {code}")).await;
        assert_eq!((result.exit_code, result.signal, result.timed_out), (code, None, false));
        assert_eq!(result.success(), code == 0);
    }
}

pub(crate) async fn a_signal_is_told_from_an_exit_code(cx: &Context) {
    let Some(mount) = cx.probe_mount() else { return };
    let id = cx.with_mounts(vec![mount]).await;
    for signal in [1, 2, 6, 9, 11, 13, 15] {
        let result = cx.exec(&id, cx.probe(&format!("die {signal}"))).await;
        assert_eq!((result.exit_code, result.signal), (128 + signal, Some(signal)), "{result:?}");
    }
    let result = cx.sh(&id, "exit 137").await;
    assert_eq!((result.exit_code, result.signal), (137, None));
}

pub(crate) async fn no_shell_reads_the_arguments(cx: &Context) {
    let id = cx.session().await;
    let odd = ["$HOME", "a b", "'\"`;|&*?", "", "-n", "line\nend", "ü\u{1F600}"];
    let result = cx.exec(&id, ExecRequest::new("/usr/bin/printf", ["%s|"].iter().chain(&odd).copied())).await;
    assert_eq!(text(&result), odd.iter().map(|word| format!("{word}|")).collect::<String>());
}

pub(crate) async fn long_arguments_arrive(cx: &Context) {
    let id = cx.session().await;
    let long = "x".repeat(100_000);
    let many = vec![long.clone(); 8];
    let result =
        cx.exec(&id, ExecRequest::new("/usr/bin/printf", ["%s".to_owned()].into_iter().chain(many))).await;
    assert!(result.stdout.0 == long.repeat(8).into_bytes(), "{} bytes", result.stdout.0.len());
}

pub(crate) async fn programs_are_found_by_name_and_by_path(cx: &Context) {
    let id = cx.session().await;
    for command in ["true", "/bin/true"] {
        assert!(cx.exec(&id, ExecRequest::new(command, Vec::<String>::new())).await.success(), "{command}");
    }
}

pub(crate) async fn what_cannot_be_started_is_an_error(cx: &Context) {
    let id = cx.session().await;
    for command in ["no-such-program", "/no/such/program", "/etc", "/dev/null"] {
        let error = cx.backend.exec(&id, ExecRequest::new(command, ["x"])).await.unwrap_err();
        assert!(matches!(error, SandboxError::NotStarted { .. }), "{command}: {error:?}");
    }
    for command in ["", " ", "a\0b"] {
        let error = cx.backend.exec(&id, ExecRequest::new(command, ["x"])).await.unwrap_err();
        assert!(matches!(error, SandboxError::InvalidRequest(_)), "{command:?}: {error:?}");
    }
    let error = cx.backend.exec(&id, ExecRequest::new("true", ["a\0b"])).await.unwrap_err();
    assert!(matches!(error, SandboxError::InvalidRequest(_)), "{error:?}");
    assert_eq!(cx.out(&id, "echo still here").await, "still here");
}

pub(crate) async fn a_command_starts_where_it_is_told(cx: &Context) {
    let id = cx.session().await;
    let place = cx.out(&id, "pwd").await;
    assert!(place.starts_with('/'), "{place}");
    for cwd in ["/", "/usr/bin", "/mnt/session/outputs"] {
        let request = ExecRequest { cwd: Some(cwd.to_owned()), ..cx.line("pwd") };
        assert_eq!(text(&cx.exec(&id, request).await).trim_end(), cwd);
    }
    for cwd in ["/no/such/directory", "/bin/true"] {
        let request = ExecRequest { cwd: Some(cwd.to_owned()), ..cx.line("pwd") };
        let error = cx.backend.exec(&id, request).await.unwrap_err();
        assert!(matches!(error, SandboxError::InvalidRequest(_)), "{error:?}");
    }
}

pub(crate) async fn output_is_kept_whatever_it_says(cx: &Context) {
    let id = cx.session().await;
    let words = "Permission denied. Operation not permitted. Access is denied.";
    let result = cx.sh(&id, &format!("echo out: {words}; echo err: {words} >&2; exit 3")).await;
    assert_eq!(result.exit_code, 3);
    assert_eq!(text(&result), format!("out: {words}\n"));
    assert_eq!(result.stderr.display(), format!("err: {words}\n"));
}

pub(crate) async fn output_is_byte_exact(cx: &Context) {
    let id = cx.session().await;
    let result = cx.sh(&id, r"printf '\377\000\376\r\n\303('; printf '\200\000' >&2").await;
    assert_eq!(result.stdout.0, b"\xff\x00\xfe\r\n\xc3(");
    assert_eq!(result.stderr.0, b"\x80\x00");
}

pub(crate) async fn both_streams_can_be_full_at_once(cx: &Context) {
    let id = cx.session().await;
    let line = "head -c 3000000 /dev/zero >&2 & head -c 3000000 /dev/zero; wait";
    let result = cx.sh(&id, line).await;
    assert_eq!(result.stdout.0.len() as u64 + result.stdout_omitted, 3_000_000);
    assert_eq!(result.stderr.0.len() as u64 + result.stderr_omitted, 3_000_000);
}

pub(crate) async fn standard_input_is_at_its_end_unless_given(cx: &Context) {
    let id = cx.session().await;
    assert_eq!(cx.out(&id, "cat | wc -c").await, "0");
}

pub(crate) async fn standard_input_may_be_large_and_anything(cx: &Context) {
    let id = cx.session().await;
    for size in [0_usize, 1, 200_000, 3_000_000] {
        let bytes: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
        let request = ExecRequest { stdin: Some(ByteString(bytes.clone())), ..cx.line("cksum") };
        let inside = text(&cx.exec(&id, request).await);
        let file = cx.place.path("input");
        std::fs::write(&file, bytes).unwrap();
        let outside =
            std::process::Command::new("sh").arg("-c").arg("cksum < $0").arg(&file).output().unwrap();
        assert_eq!(inside, String::from_utf8(outside.stdout).unwrap(), "{size} bytes");
    }
}

pub(crate) async fn input_that_nobody_reads_is_no_error(cx: &Context) {
    let id = cx.session().await;
    let stdin = Some(ByteString(vec![0; 10_000_000]));
    for line in ["exit 5", "exec <&-; exit 5", "head -c 10 > /dev/null; exit 5"] {
        let result = cx.exec(&id, ExecRequest { stdin: stdin.clone(), ..cx.line(line) }).await;
        assert_eq!(result.exit_code, 5, "{line}: {result:?}");
    }
}

pub(crate) async fn input_is_in_no_command_line(cx: &Context) {
    let id = cx.session().await;
    let secret = "only-in-the-input-4711";
    let line = "read x; cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c \"$x\"; true";
    let request = ExecRequest { stdin: Some(format!("{secret}\n").as_str().into()), ..cx.line(line) };
    // The search itself shows once at most: as the argument of grep.
    let count: u32 = text(&cx.exec(&id, request).await).trim().parse().unwrap();
    assert!(count <= 1, "{count}");
}

pub(crate) async fn usage_is_told(cx: &Context) {
    let id = cx.session().await;
    let result = cx.sh(&id, "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done").await;
    assert!(result.usage.user > Duration::ZERO, "{:?}", result.usage);
    assert!(result.usage.max_rss_kb > 100, "{:?}", result.usage);
    assert!(result.usage.wall + Duration::from_millis(50) > result.usage.user, "{:?}", result.usage);
    let result = cx.sh(&id, "sleep 0.2").await;
    assert!(result.usage.wall >= Duration::from_millis(200), "{:?}", result.usage);
}

pub(crate) async fn a_plain_command_was_refused_nothing(cx: &Context) {
    let id = cx.session().await;
    let result = cx.sh(&id, "echo hello").await;
    assert_eq!((result.denials, result.limits_hit), (vec![], vec![]));
}
