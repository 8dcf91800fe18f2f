//! Many commands and many sessions, one after the other: nothing grows.

use std::fs;

use fullsend_sandbox::{
    ExecRequest, FilesystemMount, LocalBackend, NetworkPolicy, ResourceLimits, SandboxBackend as _,
    SandboxSpec,
};

use super::watch::{Watch, block_on, descendants, scaled};
use crate::support::host;

/// What a process has, in numbers.
#[derive(Debug)]
struct Owned {
    descriptors: usize,
    threads: usize,
    processes: usize,
    namespaces: usize,
    mounts: usize,
    groups: usize,
    resident_kb: u64,
}

impl Owned {
    fn now(watch: &Watch) -> Self {
        let count = |path: &str| fs::read_dir(path).unwrap().count();
        Self {
            descriptors: count("/proc/self/fd"),
            threads: count("/proc/self/task"),
            processes: descendants().len(),
            namespaces: namespaces(),
            mounts: host::mounts_with(&watch.place.root().display().to_string()).len(),
            groups: host::groups_with(&format!("fullsend-{}-", std::process::id())).len(),
            resident_kb: status("VmRSS:"),
        }
    }

    /// No more than before, but for what a warm allocator keeps.
    fn expect_no_more_than(&self, before: &Self) {
        let pairs = [
            (self.descriptors, before.descriptors + 2),
            (self.threads, before.threads + 2),
            (self.processes, before.processes),
            (self.namespaces, before.namespaces),
            (self.mounts, before.mounts),
            (self.groups, before.groups),
        ];
        let grown = pairs.iter().any(|(now, allowed)| now > allowed);
        assert!(!grown && self.resident_kb <= before.resident_kb + 16_384, "before {before:?}, now {self:?}");
    }
}

/// A number of this process's status.
pub(super) fn status(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Namespaces that this process and its descendants are in.
fn namespaces() -> usize {
    let own = std::process::id().to_string();
    let others = descendants().into_iter().map(|name| name.split(' ').next().unwrap().to_owned());
    let mut found = std::collections::BTreeSet::new();
    for pid in others.chain([own]) {
        for kind in ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"] {
            found.extend(fs::read_link(format!("/proc/{pid}/ns/{kind}")).ok());
        }
    }
    found.len()
}

async fn session(backend: &LocalBackend, watch: &Watch, number: usize, commands: usize) {
    let spec = SandboxSpec {
        mounts: vec![FilesystemMount::overlay(watch.place.directory("source"), "/work")],
        limits: ResourceLimits { memory_mb: Some(256), ..ResourceLimits::default() },
        network_policy: NetworkPolicy::limited(["ok.test"]),
        ..SandboxSpec::default()
    };
    let session = backend.provision(spec).await.unwrap();
    for command in 0..commands {
        let line = format!("echo {number}.{command} > /work/f; cat /work/f");
        let result = backend.exec(&session.id, ExecRequest::shell(line)).await.unwrap();
        assert!(result.success(), "{result:?}");
    }
    if number.is_multiple_of(4) {
        backend.snapshot(&session.id).await.unwrap();
        backend.resume(&session.id).await.unwrap();
    }
    backend.terminate(&session.id).await.unwrap();
}

pub(crate) fn in_a_thousand_commands(watch: &Watch) {
    block_on(async {
        let backend = watch.backend();
        let session = backend.provision(SandboxSpec::default()).await.unwrap();
        let commands = async |count: usize| {
            for number in 0..count {
                let line = format!("echo {number}; (true) & wait");
                let result = backend.exec(&session.id, ExecRequest::shell(line)).await.unwrap();
                assert_eq!(result.stdout.display(), format!("{number}\n"));
            }
        };
        commands(50).await;
        let before = Owned::now(watch);
        commands(scaled(300, 1000)).await;
        Owned::now(watch).expect_no_more_than(&before);
        backend.terminate(&session.id).await.unwrap();
    });
    watch.expect_nothing_running();
}

pub(crate) fn in_a_hundred_sessions(watch: &Watch) {
    block_on(async {
        let backend = watch.backend();
        for number in 0..10 {
            session(&backend, watch, number, 2).await;
        }
        let before = Owned::now(watch);
        for number in 0..scaled(40, 100) {
            session(&backend, watch, number, 2).await;
        }
        // What ends is waited for, but the kernel takes its time with the rest.
        host::wait_until(&format!("before {before:?}, now {:?}", Owned::now(watch)), || {
            let now = Owned::now(watch);
            now.processes <= before.processes && now.groups <= before.groups
        });
        Owned::now(watch).expect_no_more_than(&before);
    });
    watch.expect_nothing_running();
    watch.expect_nothing_kept(|_, _| {});
}
