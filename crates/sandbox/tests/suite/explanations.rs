//! What a spec grants, in words and as data.

use std::time::Duration;

use fullsend_sandbox::policy::{Ground, explain, explain_on};
use fullsend_sandbox::{
    Endpoint, FilesystemMount, HttpRule, NetworkPolicy, PrivateHost, ResourceLimits, SandboxSpec, Secret,
};
use serde_json::json;

fn rich_spec() -> SandboxSpec {
    SandboxSpec {
        network_policy: NetworkPolicy::Limited {
            allowed_hosts: vec![
                "a.test".to_owned(),
                "*.b.test:8443".to_owned(),
                "[2001:db8::1]:1".to_owned(),
            ],
            denied_hosts: vec!["x.b.test".to_owned()],
            http_rules: vec![HttpRule {
                host: "a.test".to_owned(),
                methods: vec!["GET".to_owned()],
                paths: vec!["/api/*".to_owned()],
            }],
            private_hosts: vec![PrivateHost { host: "a.test".to_owned(), network: "10.0.0.0/8".to_owned() }],
        },
        mounts: vec![
            FilesystemMount::read_write("/work", "/work"),
            FilesystemMount::read_only("/work/.git", "/work/.git"),
            FilesystemMount::read_only("/srv/docs", "/docs"),
            FilesystemMount::overlay("/srv/data", "/data/"),
            FilesystemMount::read_write("", "/mnt/memory"),
        ],
        limits: ResourceLimits {
            wall_time: Some(Duration::from_millis(1500)),
            cpu_count: Some(1),
            memory_mb: Some(512),
            processes: Some(64),
            ..ResourceLimits::default()
        },
        programs: Some(vec!["git".to_owned(), "/usr/bin/make".to_owned()]),
        endpoints: vec![Endpoint {
            name: "model".to_owned(),
            upstream: "https://api.test/v1".to_owned(),
            headers: vec![("Authorization".to_owned(), Secret::new("Bearer hunter2"))],
            rules: Vec::new(),
        }],
        ..SandboxSpec::default()
    }
}

#[test]
fn everything_granted_is_in_the_text() {
    let expected = "\
A command in this sandbox can
  read   /usr, /bin, /sbin, /lib, /lib64, /etc (programs, libraries and public settings of the system)
         /work/.git (an exception inside /work)
         /docs, which is /srv/docs on the host
  write  /tmp, /dev/shm, $HOME, /mnt/session/outputs, /mnt/memory (the session's own, gone with it)
         /work
         /data, which is /srv/data on the host (changes stay in the session, the files themselves are not changed)
  run    only git, /usr/bin/make
  reach  a.test on ports 80 and 443
         *.b.test on port 8443
         [2001:db8::1] on port 1
         on a.test only: GET on /api/*
         a.test also at addresses in 10.0.0.0/8
         never x.b.test
         no other host
         https://api.test/v1 by $FULLSEND_ENDPOINT_MODEL, with Authorization added outside
  use    1.5 s for each command
         1 processor
         512 MiB of memory
         64 processes
         4096 MiB in one file (default)
         256 MiB of private files (default)
         16777216 bytes of each output, where it is kept (default)
         up to 65536 open files in each process (default)
It cannot see other files of the host, other processes of the host, the caller's environment variables, the caller's credentials.
";
    assert_eq!(explain(&rich_spec()).to_string(), expected);
}

#[test]
fn the_defaults_are_told_too() {
    let expected = "\
A command in this sandbox can
  read   /usr, /bin, /sbin, /lib, /lib64, /etc (programs, libraries and public settings of the system)
         /mnt/memory (the session's own, gone with it)
  write  /tmp, /dev/shm, $HOME, /mnt/session/outputs (the session's own, gone with it)
  run    every program that it can read
  reach  no host
  use    2048 processes (default)
         4096 MiB in one file (default)
         1024 MiB of private files (default)
         16777216 bytes of each output, where it is kept (default)
         up to 65536 open files in each process (default)
         time, processors and memory without a limit (default)
It cannot see other files of the host, other processes of the host, the caller's environment variables, the caller's credentials.
";
    assert_eq!(explain(&SandboxSpec::default()).to_string(), expected);
}

#[test]
fn containers_have_a_ground_and_defaults_of_their_own() {
    let expected = "\
A command in this sandbox can
  read   /mnt/memory (the session's own, gone with it)
         everything in the image debian:12
  write  /tmp, /dev/shm, $HOME, /mnt/session/outputs (the session's own, gone with it)
  run    every program that it can read
  reach  no host
  use    4096 MiB of memory (default)
         2048 processes (default)
         4096 MiB in one file (default)
         1024 MiB of private files (default)
         16777216 bytes of each output, where it is kept (default)
         time and processors without a limit (default)
It cannot see other files of the host, other processes of the host, the caller's environment variables, the caller's credentials.
";
    let ground = Ground::Image("debian:12".to_owned());
    let explanation = explain_on(&SandboxSpec::default(), &ground);
    assert_eq!(explanation.to_string(), expected);
    let value = serde_json::to_value(explanation).unwrap();
    assert_eq!(value["read"][0], json!({ "path": "/", "origin": "image", "image": "debian:12" }));
}

#[test]
fn nothing_and_everything_are_told_apart() {
    let nothing = SandboxSpec { programs: Some(Vec::new()), ..SandboxSpec::default() };
    assert!(explain(&nothing).to_string().contains("  run    nothing\n"));
    let everything = SandboxSpec { network_policy: NetworkPolicy::Unrestricted, ..SandboxSpec::default() };
    assert!(
        explain(&everything)
            .to_string()
            .contains("  reach  everything that this machine can reach, unfiltered\n")
    );
}

#[test]
fn the_same_is_there_as_data_without_secrets() {
    let value = serde_json::to_value(explain(&rich_spec())).unwrap();
    assert!(!value.to_string().contains("hunter2"));
    assert_eq!(value["run"], json!({ "only": ["git", "/usr/bin/make"] }));
    assert_eq!(
        value["read"].as_array().unwrap()[6..],
        [
            json!({ "path": "/work/.git", "origin": "exception", "source": "/work/.git", "inside": "/work" }),
            json!({ "path": "/docs", "origin": "host", "source": "/srv/docs" }),
        ]
    );
    assert_eq!(value["reach"]["mode"], "hosts");
    assert_eq!(value["reach"]["allowed"][1], json!({ "host": "*.b.test", "ports": ["8443"] }));
    assert_eq!(value["endpoints"][0]["headers"], json!(["Authorization"]));
    assert_eq!(
        (&value["limits"]["memory_mb"], &value["limits"]["file_size_mb"]),
        (&json!(512), &json!(4096))
    );
    assert_eq!(value["default_limits"], json!(["file_size_mb", "scratch_mb", "output_bytes"]));
}

#[test]
fn a_name_cannot_draw_lines_of_its_own() {
    let spec = SandboxSpec {
        programs: Some(vec!["git\n  reach  everything\u{1b}[2K".to_owned()]),
        ..SandboxSpec::default()
    };
    let text = explain(&spec).to_string();
    assert!(!text.contains('\u{1b}') && !text.contains("\n  reach  everything"), "{text}");
}
