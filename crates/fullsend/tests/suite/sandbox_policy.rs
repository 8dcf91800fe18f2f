//! Policy files of `fullsend sandbox`.

use std::fs;
use std::path::{Path, PathBuf};

use fullsend_testkit::test_name;
use serde_json::{Value, json};

use crate::suite::loopback::Loopback;
use crate::suite::running::{Place, Ran};
use crate::suite::users::{User, each_user};

/// The arguments for a line of shell in a sandbox with the policy `p.yaml`.
fn shell<'a>(options: &[&'a str], line: &'a str) -> Vec<&'a str> {
    [&["sandbox", "exec", "--policy", "p.yaml"], options, &["--", "sh", "-c", line]].concat()
}

fn with_policy(user: &User, policy: &str, options: &[&str], line: &str) -> Ran {
    user.write("p.yaml", policy);
    user.run(&shell(options, line))
}

#[test]
fn files_are_as_the_policy_grants_them() {
    for user in each_user(test_name!()) {
        for directory in ["src", "src/.git", "docs", "secret"] {
            user.write(&format!("{directory}/file"), directory);
        }
        let policy = "read: [docs, src/.git]\nwrite: [src/**]\nexec: ['**']\n";
        let line = "cd .. && cat docs/file src/file; echo new > src/file; echo new > src/.git/file; echo new > docs/file; cat secret/file";
        let ran = with_policy(&user, policy, &[], line);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), "docssrc"), "{ran:?}");
        let read = |name: &str| fs::read_to_string(user.path().join(name)).unwrap();
        assert_eq!(
            (read("src/file"), read("src/.git/file"), read("docs/file")),
            ("new\n".into(), "src/.git".into(), "docs".into())
        );
    }
}

#[test]
fn options_add_to_the_policy() {
    for user in each_user(test_name!()) {
        for directory in ["a", "b", "c"] {
            user.write(&format!("{directory}/file"), directory);
        }
        let policy = "read: [a, b]\nexec: ['**']\nlimits: {timeout: 60, file_size_mb: 1}\n";
        let here = fs::canonicalize(user.path()).unwrap();
        let line = format!(
            "cd {}; echo new > a/file; cat a/file b/file c/file; head -c 2000000 /dev/zero > /tmp/big || echo large",
            here.display()
        );
        let ran = with_policy(&user, policy, &["--rw", "a", "--ro", "b", "--ro", "c"], &line);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "new\nbclarge\n"), "{ran:?}");

        let timed = with_policy(&user, policy, &["--timeout", "0.3"], "sleep 30");
        assert_eq!(timed.code, Some(124), "a limit of an option wins: {timed:?}");
        let timed = with_policy(&user, "exec: [sh, sleep]\nlimits: {timeout: 0.3}\n", &[], "sleep 30");
        assert_eq!(timed.code, Some(124), "{timed:?}");
    }
}

#[test]
fn only_listed_programs_run() {
    for user in each_user(test_name!()) {
        let ran = with_policy(&user, "exec: [sh, echo]\n", &[], "/bin/echo yes; ls / || echo no");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "yes\nno\n"), "{ran:?}");
        for nothing in ["", "exec: []\n", "exec:\nread: ['.']\n"] {
            let ran = with_policy(&user, nothing, &[], "echo ran");
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
            assert!(
                ran.stderr.contains("`p.yaml` lets nothing run") && ran.stderr.contains("`exec"),
                "{ran:?}"
            );
        }
    }
}

#[test]
fn requests_are_held_to_rules_and_private_addresses_to_their_range() {
    for user in each_user(test_name!()) {
        let server = Loopback::start();
        let port = server.address.port();
        let rules =
            format!("http_rules:\n  - {{host: 'localhost:{port}', methods: [GET], paths: [/v1/*]}}\n");
        let base = format!("exec: ['**']\nnet: ['localhost:{port}']\n{rules}");
        let open = format!("{base}private_hosts:\n  - {{host: localhost, network: 127.0.0.0/8}}\n");
        let curl = |rest: &str| format!("curl -4 -sS --noproxy '' --max-time 20 {rest}");

        let line = curl(&format!("http://localhost:{port}/v1/x"));
        let ran = with_policy(&user, &open, &[], &line);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "GET /v1/x\n"), "{ran:?}");
        assert_eq!(server.taken().len(), 1);

        for rest in [format!("http://localhost:{port}/v2"), format!("-X POST http://localhost:{port}/v1/x")] {
            let ran = with_policy(&user, &open, &[], &curl(&format!("-f {rest}")));
            assert_ne!(ran.code, Some(0), "{rest}: {ran:?}");
            assert!(ran.stderr.contains("to allow it: http_rules: ["), "the line of the file: {ran:?}");
            assert!(!ran.stderr.contains("--allow-host"), "which would not help: {ran:?}");
        }
        let ran = with_policy(&user, &base, &[], &format!("{line} -f"));
        assert_ne!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stderr.contains("to allow it: private_hosts: ["), "{ran:?}");
        let denied = format!("{open}deny: [localhost]\n");
        let ran = with_policy(&user, &denied, &[], &format!("{line} -f"));
        assert_ne!(ran.code, Some(0), "{ran:?}");
        assert_eq!(server.taken(), Vec::<String>::new(), "nothing else has arrived");
    }
}

#[test]
fn endpoints_have_keys_and_rules() {
    for user in each_user(test_name!()) {
        let server = Loopback::start();
        let policy = format!(
            "exec: ['**']\nendpoints:\n  - name: model\n    url: http://{}/v1\n    key_env: KEY\n    rules:\n      - {{methods: [POST], paths: [/ask]}}\n",
            server.address
        );
        user.write("p.yaml", &policy);
        let line = "curl -sS --max-time 20 -d x $FULLSEND_ENDPOINT_MODEL/ask; curl -sS -f --max-time 20 $FULLSEND_ENDPOINT_MODEL/ask; env | grep -c hunter2";
        let ran = Ran::from(user.command(&shell(&[], line)).env("KEY", "hunter2").output().unwrap());
        assert_eq!(ran.stdout, "POST /v1/ask\n0\n", "{ran:?}");
        let requests = server.taken();
        let [only] = requests.as_slice() else { panic!("{requests:?}") };
        assert!(only.to_lowercase().contains("\r\nauthorization: bearer hunter2\r\n"), "{only}");

        let unset = user.run(&shell(&[], "echo ran"));
        assert_eq!((unset.code, unset.stdout.as_str()), (Some(2), ""), "{unset:?}");
        assert!(unset.stderr.contains("`KEY`"), "{unset:?}");
        let shown = user.run(&["sandbox", "policy", "p.yaml"]);
        assert_eq!(shown.code, Some(0), "no key is needed to look: {shown:?}");
        assert!(shown.stdout.contains("with Authorization added outside; only POST on /ask\n"), "{shown:?}");
        let again = user.run(&shell(&["--endpoint", "model=https://m.test"], "true"));
        assert!(again.stderr.contains("two endpoints with the name `model`"), "{again:?}");
    }
}

const EVERYTHING: &str = "\
read: [docs]
write: ['src/**']
exec: [git, make]
net: [api.test:8443, '*.example.com']
deny: [x.example.com]
http_rules:
  - {host: '*.example.com', methods: [GET, HEAD], paths: ['/pub/*']}
private_hosts:
  - {host: api.test, network: 10.1.0.0/16}
endpoints:
  - {name: model, url: 'https://m.test/v1', key_env: KEY}
limits: {timeout: 1.5, memory_mb: 512, cpus: 2, processes: 64, file_size_mb: 10, scratch_mb: 100}
";

fn place(policy: &str) -> Place {
    let place = Place::new();
    place.write("docs/file", "");
    place.write("src/file", "");
    place.write("p.yaml", policy);
    place
}

#[test]
fn what_a_policy_grants_is_shown_without_running_anything() {
    let place = place(EVERYTHING);
    let ran = place.run(&["sandbox", "policy", "p.yaml"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let here = fs::canonicalize(place.path()).unwrap().display().to_string();
    let expected = "\
A command in this sandbox can
  read   /usr, /bin, /sbin, /lib, /lib64, /etc (programs, libraries and public settings of the system)
         /mnt/memory (the session's own, gone with it)
         HERE/docs
  write  /tmp, /dev/shm, $HOME, /mnt/session/outputs (the session's own, gone with it)
         HERE/src
  run    only git, make
  reach  api.test on port 8443
         *.example.com on ports 80 and 443
         on *.example.com only: GET, HEAD on /pub/*
         api.test also at addresses in 10.1.0.0/16
         never x.example.com
         no other host
         https://m.test/v1 by $FULLSEND_ENDPOINT_MODEL, with Authorization added outside
  use    1.5 s for each command
         2 processors
         512 MiB of memory
         64 processes
         10 MiB in one file
         100 MiB of private files
         16777216 bytes of each output, where it is kept (default)
         up to 65536 open files in each process (default)
It cannot see other files of the host, other processes of the host, the caller's environment variables, the caller's credentials.
";
    assert_eq!(ran.stdout.replace(&here, "HERE"), expected);

    let ran = place.run(&["sandbox", "policy", "p.yaml", "--format", "json"]);
    let value: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(value["run"], json!({ "only": ["git", "make"] }));
    assert_eq!(value["limits"]["memory_mb"], 512);
    assert_eq!(value["default_limits"], json!(["output_bytes"]));
}

#[test]
fn json_says_the_same_as_yaml() {
    let json = r#"{"read": ["docs"], "exec": ["**"], "net": ["a.test"], "limits": {"timeout": 2}}"#;
    let yaml = "read:\n  - docs\nexec:\n  - '**'\nnet: [a.test]\nlimits:\n  timeout: 2\n";
    let shown = |policy: &str| {
        let place = place(policy);
        let ran = place.run(&["sandbox", "policy", "p.yaml"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.stdout.replace(&fs::canonicalize(place.path()).unwrap().display().to_string(), "HERE")
    };
    assert_eq!(shown(json), shown(yaml));
}

#[test]
fn the_example_in_the_guide_is_a_policy() {
    let guide =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide.md")).unwrap();
    let section = guide.split("### Policy files").nth(1).unwrap();
    let example = section.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let ran = place(&example.replace("/opt/models", "docs")).run(&["sandbox", "policy", "p.yaml"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    assert!(ran.stdout.contains("registry.corp.example also at addresses in 10.20.0.0/16\n"), "{ran:?}");
}

#[test]
fn a_policy_cannot_be_both_open_and_filtered() {
    let place = place("exec: ['**']\ndeny: [a.test]\n");
    let ran = place.run(&shell(&["--allow-network"], "echo ran"));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    assert!(ran.stderr.contains("opens the network"), "{ran:?}");
}

#[test]
fn a_file_that_is_not_there_is_told() {
    let place = Place::new();
    for arguments in [&["sandbox", "policy", "p.yaml"][..], &shell(&[], "echo ran")] {
        let ran = place.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains("cannot read `p.yaml`") && ran.stderr.contains("help: "), "{ran:?}");
    }
}

/// Each `tests/malformed_policies/<name>.yaml` must give exactly `<name>.txt`. After a deliberate change run with
/// `FULLSEND_UPDATE_EXPECTED=1` and read the difference.
#[test]
fn every_malformed_policy_gets_its_place_and_a_fix() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/malformed_policies");
    let mut cases: Vec<PathBuf> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "yaml"))
        .collect();
    cases.sort();
    assert!(cases.len() >= 10, "{cases:?}");
    let mut wrong = Vec::new();
    for case in cases {
        let place = place(&fs::read_to_string(&case).unwrap());
        let ran = place.run(&["sandbox", "policy", "p.yaml"]);
        let name = case.file_stem().unwrap().to_string_lossy().into_owned();
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{name}: {ran:?}");
        let problems = ran.stderr.matches("error[").count();
        assert!(problems > 0, "{name}: {ran:?}");
        assert_eq!(
            ran.stderr.matches("\nhelp: ").count(),
            problems,
            "{name}: every problem has a fix: {ran:?}"
        );
        assert!(ran.stderr.matches("--> p.yaml:").count() >= problems, "{name}: and a place: {ran:?}");
        let expected = case.with_extension("txt");
        if std::env::var_os("FULLSEND_UPDATE_EXPECTED").is_some() {
            fs::write(&expected, &ran.stderr).unwrap();
        } else if fs::read_to_string(&expected).ok().as_deref() != Some(&ran.stderr) {
            wrong.push(format!("{name}:\n{}", ran.stderr));
        }
        // And nothing runs with it.
        let ran = place.run(&shell(&[], "echo ran"));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{name}: {ran:?}");
    }
    assert_eq!(wrong, Vec::<String>::new(), "these differ from their .txt file");
}
