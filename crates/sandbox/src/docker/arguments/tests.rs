use std::collections::BTreeMap;
use std::path::Path;

use super::{Bind, Container, ContainerUser, Limits, create, mount, run, start};

fn container<'a>() -> Container<'a> {
    Container {
        name: "fullsend-x",
        labels: BTreeMap::from([("b", "2"), ("a", "1,\"x\"")]),
        image: "image:tag",
        runtime: None,
        network: "none",
        names_inside: false,
        user: ContainerUser { uid: 1000, gid: 1001 },
        keep_id: false,
        limits: Limits { memory_mb: 512, processes: 99, cpus: 2, scratch_mb: 64 },
        binds: vec![Bind { source: Path::new("/host/w").into(), target: "/work", writable: true }],
    }
}

#[test]
fn every_restriction_is_on_the_command_line() {
    let words = run(&container()).unwrap().join(" ");
    let expected = "run --interactive --rm --pull never --log-driver none --sig-proxy=false \
        --name fullsend-x --hostname sandbox --label a=1,\"x\" --label b=2 \
        --network none --ipc private --read-only --cap-drop ALL --security-opt no-new-privileges \
        --user 1000:1001 --memory 512m --memory-swap 512m --pids-limit 99 --cpus 2 --ulimit core=0 \
        --tmpfs /tmp:rw,exec,nosuid,nodev,size=16m,nr_inodes=65536,mode=1777,uid=1000,gid=1001 \
        --tmpfs /var/tmp:rw,exec,nosuid,nodev,size=16m,nr_inodes=65536,mode=1777,uid=1000,gid=1001 \
        --tmpfs /home/agent:rw,exec,nosuid,nodev,size=16m,nr_inodes=65536,mode=0700,uid=1000,gid=1001 \
        --shm-size 16m \
        --mount type=bind,src=/host/w,dst=/work \
        --workdir / --entrypoint /.fullsend/init image:tag container";
    assert_eq!(words, expected);
}

#[test]
fn a_container_that_is_started_later_is_made_the_same() {
    let (ran, made) = (run(&container()).unwrap(), create(&container()).unwrap());
    let options = |words: &[String]| {
        words.iter().skip(1).filter(|word| *word != "--sig-proxy=false").cloned().collect()
    };
    let (ran_with, made_with): (Vec<String>, Vec<String>) = (options(&ran), options(&made));
    assert_eq!((ran_with, made.first().map(String::as_str)), (made_with, Some("create")));
    assert_eq!(start("x"), ["start", "--attach", "--interactive", "x"]);
}

#[test]
fn a_runtime_and_the_identity_of_the_caller_are_options() {
    let words = run(&Container { runtime: Some("runsc"), keep_id: true, ..container() }).unwrap();
    let follows = |option: &str| {
        words
            .iter()
            .zip(words.iter().skip(1))
            .find(|(word, _)| *word == option)
            .map(|(_, value)| value.as_str())
    };
    assert_eq!(follows("--runtime"), Some("runsc"));
    assert_eq!(follows("--userns"), Some("keep-id"));
    assert_eq!(follows("--dns"), None);
    let words = run(&Container { names_inside: true, ..container() }).unwrap().join(" ");
    assert!(words.contains("--dns 127.0.0.1 --sysctl net.ipv4.ip_unprivileged_port_start=0"), "{words}");
}

#[test]
fn paths_are_written_so_that_the_engine_reads_the_same_or_refused() {
    let cases = [
        ("/plain", "/t", Some("type=bind,src=/plain,dst=/t,readonly")),
        ("/a,readonly=false", "/t", Some("type=bind,\"src=/a,readonly=false\",dst=/t,readonly")),
        ("/q\"q", "/t,u", Some("type=bind,\"src=/q\"\"q\",\"dst=/t,u\",readonly")),
        ("/with space", "/t", Some("type=bind,src=/with space,dst=/t,readonly")),
        ("/k=v", "/t", Some("type=bind,src=/k=v,dst=/t,readonly")),
        ("/new\nline", "/t", None),
        ("/trailing ", "/t", None),
    ];
    for (source, target, expected) in cases {
        let written = mount(&Bind { source: Path::new(source).into(), target, writable: false });
        assert_eq!(written.ok().as_deref(), expected, "{source:?}");
    }
    let odd = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"/\xff");
    assert!(mount(&Bind { source: Path::new(odd).into(), target: "/t", writable: true }).is_err());
}
