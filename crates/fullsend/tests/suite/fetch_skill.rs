//! `fullsend fetch-skill`: against a service that says what it is told to say, and in a sandbox without a network.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use fullsend_fetch::cache::{FileMode, Listing, TreeFile};
use fullsend_fetch::get::Mode;
use fullsend_fetch::{Audit, Cache, FetchRules, Fetcher, SystemClock};
use fullsend_guard::log::TraceId;
use fullsend_guard::{Checks, FindingsLog, Policy};
use fullsend_harness::Library;
use fullsend_origin::{AllowList, ForgeHosts, RemoteUrl, TreePath};
use fullsend_resolve::Store;
use fullsend_resolve::forge::{ForgeOptions, Forges, allowed_hosts};
use fullsend_runner::{FetchService, RuntimeFetcher, RuntimeFetcherConfig};
use fullsend_runtimes::Stage;
use fullsend_sandbox::{
    ExecRequest, FilesystemMount, LocalBackend, LocalConfig, SandboxBackend, SandboxError, SandboxSpec,
};
use fullsend_testkit::{declare_skip, test_name};

use crate::suite::forge_place::tree;
use crate::suite::running::{Place, Ran};

const URL: &str = "https://github.com/org/r/tree/main/skills/s";

/// Runs the command with this address and token.
fn fetch(address: &str, token: &str, arguments: &[&str]) -> Ran {
    let place = Place::new();
    let all: Vec<&str> = ["fetch-skill"].iter().chain(arguments).copied().collect();
    let mut command = place.command(&all);
    command.env("FULLSEND_FETCH_URL", address).env("FULLSEND_FETCH_TOKEN", token);
    // Nobody listens there: a request that went to a proxy would fail.
    for proxy in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        command.env(proxy, "http://127.0.0.1:1");
    }
    Ran::from(command.output().unwrap())
}

/// A service that gives one reply, and tells what it was asked.
fn service(reply: &str) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/some/path?x=1", listener.local_addr().unwrap());
    let reply = reply.to_owned();
    let asked = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut text = String::new();
        let mut buffer = [0; 4096];
        while !text.ends_with('}') {
            let count = stream.read(&mut buffer).unwrap();
            assert_ne!(count, 0, "the client hung up: {text}");
            text.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
        }
        stream.write_all(reply.as_bytes()).unwrap();
        text
    });
    (address, asked)
}

fn reply(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

fn failed(message: &str) -> Ran {
    Ran { code: Some(1), stdout: String::new(), stderr: format!("Error: {message}\n") }
}

#[test]
fn the_path_is_all_that_is_printed() {
    let (address, asked) = service(&reply("200 OK", "{\"local_path\":\"/sandbox/skills/1-s\",\"more\":1}\n"));
    let ran = fetch(&address, "t0ken", &["any thing \"at\" all"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "/sandbox/skills/1-s\n", ""));
    let asked = asked.join().unwrap();
    let (head, body) = asked.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /some/path?x=1 HTTP/1.1\r\n"), "{head}");
    let head = head.to_lowercase();
    for line in ["authorization: bearer t0ken", "content-type: application/json", "host: 127.0.0.1:"] {
        assert!(head.contains(line), "{head}");
    }
    assert_eq!(body, "{\"url\":\"any thing \\\"at\\\" all\"}");
}

#[test]
fn failures_are_one_line_and_exit_with_one() {
    for (status, body, message) in [
        ("403 Forbidden", "{\"error\":\"no\"}", "no"),
        ("200 OK", "{\"error\":\"no\",\"local_path\":\"/x\"}", "no"),
        ("500 Oops", "{}", "fetch service returned status 500"),
        ("500 Oops", "{\"error\":\"\"}", "fetch service returned status 500"),
        ("302 Found\r\nLocation: http://127.0.0.1:1/", "{}", "fetch service returned status 302"),
    ] {
        let (address, asked) = service(&reply(status, body));
        assert_eq!(fetch(&address, "t", &[URL]), failed(message), "{status} {body}");
        asked.join().unwrap();
    }
    let (address, _asked) = service(&reply("401 Unauthorized", "unauthorized\n"));
    let ran = fetch(&address, "t", &[URL]);
    assert!(ran.stderr.starts_with("Error: failed to decode response (HTTP 401): "), "{ran:?}");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    for (address, start) in [
        ("http://127.0.0.1:1/fetch", "Error: fetch request failed: "),
        ("https://127.0.0.1:1/fetch", "Error: failed to create request: "),
        ("nonsense", "Error: failed to create request: "),
    ] {
        let ran = fetch(address, "t", &[URL]);
        assert!(ran.stderr.starts_with(start) && ran.stderr.lines().count() == 1, "{ran:?}");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    }
    // What a service says cannot command a terminal.
    let (address, _asked) = service(&reply("400 Bad", "{\"error\":\"a\\u001b[2Jb\"}"));
    assert!(!fetch(&address, "t", &[URL]).stderr.contains('\u{1b}'));
}

#[test]
fn without_the_variables_of_a_run_it_says_so() {
    let not_enabled = "FULLSEND_FETCH_URL is not set (is runtime fetch enabled in the harness?)";
    assert_eq!(Place::new().run(&["fetch-skill", URL]), failed(not_enabled));
    assert_eq!(fetch("", "t", &[URL]), failed(not_enabled));
    assert_eq!(fetch("http://127.0.0.1:1/", "", &[URL]), failed("FULLSEND_FETCH_TOKEN is not set"));
    for arguments in [&[][..], &[URL, URL], &["--nonsense", URL]] {
        let ran = fetch("http://127.0.0.1:1/", "t", arguments);
        assert!(ran.stderr.starts_with("Error: "), "{ran:?}");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{arguments:?}");
    }
    assert_eq!(fetch("", "", &["--help"]).code, Some(0));
}

/// A fetcher that has one skill, and no network.
fn fetcher(place: &Place, stage: &Stage, files: &[(&str, &str)]) -> RuntimeFetcher {
    let hosts = ForgeHosts::new();
    let mut rules = FetchRules::new(allowed_hosts(&hosts));
    rules.mode = Mode::Offline;
    let fetcher = Fetcher::new(rules).unwrap();
    let forges = Forges::new(&fetcher, &hosts, &[], &ForgeOptions::default()).unwrap();
    let cache = Cache::open(place.path()).unwrap();
    let tree_file = |(path, text): &(&str, &str)| TreeFile {
        path: TreePath::parse(path).unwrap(),
        bytes: text.as_bytes().to_vec(),
        mode: FileMode::Regular,
    };
    let files: Vec<TreeFile> = files.iter().map(tree_file).collect();
    cache.put_tree(&RemoteUrl::parse(URL).unwrap(), &files, Listing::Full).unwrap();
    let audit = Audit::open(place.path(), "run", Arc::new(SystemClock)).unwrap();
    let log = place.path().join("run/findings.jsonl");
    let log = FindingsLog::create(&log, TraceId::generate(), Arc::new(fullsend_guard::SystemClock)).unwrap();
    let path = place.write(
        "h.yaml",
        "role: r\nallow_runtime_fetch: true\nallowed_remote_resources: [https://github.com/org/]\n",
    );
    let loaded = Library::new(place.path()).harness(&path, &mut Vec::new()).unwrap();
    let config = RuntimeFetcherConfig {
        harness: &loaded.harness.unwrap(),
        org: &AllowList::parse(["https://github.com/org/"]).unwrap(),
        store: Arc::new(Store::new(fetcher, cache, audit, forges, hosts)),
        stage,
        skills_dir: stage.config().join("skills"),
        config_dir: "/sandbox/claude-config",
        checks: Checks::default(),
        policy: Policy::default(),
        log,
        told: None,
    };
    RuntimeFetcher::for_harness(config).unwrap().unwrap()
}

#[test]
fn a_sandbox_without_a_network_gets_skills_and_nothing_else() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(in_a_sandbox(test_name!()));
}

async fn in_a_sandbox(test: &str) {
    let place = Place::new();
    let config =
        LocalConfig { state_dir: place.path().join("state"), egress_log: None, endpoint_roots: vec![] };
    let backend = match LocalBackend::start(config) {
        Ok(backend) => backend,
        Err(error @ SandboxError::Unsupported { .. }) => return declare_skip(test, &error.to_string()),
        Err(error) => panic!("{error}"),
    };
    let stage = Stage::create(&place.path().join("stage"), "repo").unwrap();
    let files =
        [("SKILL.md", "---\nname: s\ndescription: A skill.\n---\nHow.\n"), ("scripts/a.sh", "echo a\n")];
    let service = FetchService::start(fetcher(&place, &stage, &files)).await.unwrap();
    std::fs::write(stage.fixed().join("env"), service.env_lines()).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_fullsend")).parent().unwrap();
    let mounts = vec![
        FilesystemMount::read_write(stage.config(), "/sandbox/claude-config"),
        service.mount(),
        FilesystemMount::read_only(program, "/sandbox/bin"),
        FilesystemMount::read_only(stage.fixed(), "/sandbox/fixed"),
    ];
    let spec = SandboxSpec { mounts, endpoints: vec![service.endpoint()], ..SandboxSpec::default() };
    let session = backend.provision(spec).await.unwrap();
    let exec = async |line: &str| {
        let line =
            format!(". /sandbox/fixed/env; fetch() {{ /sandbox/bin/fullsend fetch-skill \"$@\"; }}; {line}");
        let request = ExecRequest { env: BTreeMap::new(), ..ExecRequest::shell(line) };
        let result = backend.exec(&session.id, request).await.unwrap();
        (result.exit_code, result.stdout.display().into_owned(), result.stderr.display().into_owned())
    };
    let pinned = format!("{URL}#sha256={}", tree(&files));
    let path = format!("/sandbox/claude-config/skills/{}-s", &tree(&files)[..8]);

    let all =
        exec(&format!("dir=$(fetch '{pinned}') && echo $dir && cat $dir/SKILL.md $dir/scripts/a.sh")).await;
    assert_eq!(all, (0, format!("{path}\n{}{}", files[0].1, files[1].1), String::new()));

    // What was scanned is what is there: the agent cannot change it.
    let (code, _, _) = exec(&format!("echo more >> {path}/SKILL.md")).await;
    assert_ne!(code, 0);
    assert_eq!(
        std::fs::read_to_string(
            stage.config().join("skills").join(path.rsplit('/').next().unwrap()).join("SKILL.md")
        )
        .unwrap(),
        files[0].1
    );

    // Another skill is refused, with the reason.
    let evil = pinned.replace("/org/", "/evil/");
    let (code, stdout, stderr) = exec(&format!("fetch '{evil}'")).await;
    assert_eq!((code, stdout.as_str()), (1, ""));
    assert!(stderr.contains("is not in allowed_remote_resources"), "{stderr}");

    // Through the endpoint, only requests for skills.
    for (path, method) in
        [("/healthz", "GET"), ("/healthz", "POST"), ("/fetch", "GET"), ("/fetch/", "POST"), ("/", "GET")]
    {
        let line = format!(
            "port=${{FULLSEND_ENDPOINT_FETCH##*:}}; exec 3<>/dev/tcp/127.0.0.1/$port; printf \
             '{method} {path} HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n' >&3; head -n 1 <&3"
        );
        let (_, stdout, stderr) = exec(&format!("bash -c '{}'", line.replace('\'', "'\\''"))).await;
        assert!(stdout.starts_with("HTTP/1.1 403"), "{method} {path}: {stdout} {stderr}");
    }
    // Around the endpoint, nothing: the port of the host is not there.
    let direct = format!("FULLSEND_FETCH_URL=http://{}/fetch fetch '{pinned}'", service.address());
    let (code, stdout, stderr) = exec(&direct).await;
    assert_eq!((code, stdout.as_str()), (1, ""));
    assert!(stderr.starts_with("Error: fetch request failed: "), "{stderr}");

    backend.terminate(&session.id).await.unwrap();
    service.stop().await;
}
