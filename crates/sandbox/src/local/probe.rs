//! What this machine can do, found out by doing it.

use std::path::Path;

use fullsend_sandbox_init::kernel;
use uuid::Uuid;

use super::backend::{LocalBackend, LocalConfig};
use crate::cgroup::Cgroups;
use crate::contract::SandboxBackend as _;
use crate::error::SandboxError;
use crate::layer::Layer;
use crate::spec::{ExecRequest, FilesystemMount, NetworkPolicy, SandboxCapabilities, SandboxSpec};
use crate::tree;

const ENABLE_NAMESPACES: &str = "allow unprivileged user namespaces: `sysctl user.max_user_namespaces=10000`, on Debian also \
     `kernel.unprivileged_userns_clone=1`, on Ubuntu `kernel.apparmor_restrict_unprivileged_userns=0`; in a container they \
     must be allowed by whoever runs it";

/// What came of trying.
#[derive(Debug)]
pub(crate) struct Probe {
    confined: Result<(), SandboxError>,
    hosts: Result<(), SandboxError>,
    overlay: Result<(), SandboxError>,
}

impl Probe {
    /// Makes sandboxes, on a thread with a runtime of its own: the caller's may be busy, and has to wait for the answer.
    pub(crate) fn run(state: &Path) -> Self {
        let directory = state.join(format!("probe-{}", Uuid::now_v7().simple()));
        let tried = std::thread::scope(|scope| scope.spawn(|| Self::run_in(&directory)).join());
        // What cannot be removed now is found by the next sweep of whoever owns the directory.
        drop(tree::clear(&directory));
        tried.unwrap_or_else(|_| {
            let failed = || Err(SandboxError::Lifecycle("the probe has failed".to_owned()));
            Self { confined: failed(), hosts: failed(), overlay: failed() }
        })
    }

    fn run_in(directory: &Path) -> Self {
        let attempt = |spec: SandboxSpec| -> Result<(), SandboxError> {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(SandboxError::io("cannot start a runtime"))?;
            runtime.block_on(async {
                let config = LocalConfig { state_dir: directory.to_owned(), ..LocalConfig::default() };
                let backend = LocalBackend::start(config)?;
                let session = backend.provision(spec).await?;
                backend.exec(&session.id, ExecRequest::new("/bin/true", Vec::<String>::new())).await?;
                backend.terminate(&session.id).await
            })
        };
        let below = directory.with_extension("below");
        let overlay = SandboxSpec {
            mounts: vec![FilesystemMount::overlay(&below, "/overlay")],
            ..SandboxSpec::default()
        };
        let hosts = SandboxSpec {
            network_policy: NetworkPolicy::limited(["probe.invalid"]),
            ..SandboxSpec::default()
        };
        let confined = attempt(SandboxSpec::default());
        let made = std::fs::create_dir_all(&below).map_err(SandboxError::io("cannot make a directory"));
        let overlay = made.and_then(|()| attempt(overlay));
        drop(tree::clear(&below));
        Self { confined, hosts: attempt(hosts), overlay }
    }

    pub(crate) fn capabilities(&self) -> SandboxCapabilities {
        let confined = self.confined.is_ok();
        SandboxCapabilities {
            local_process_sandbox: confined,
            network_policy: self.hosts.is_ok(),
            snapshot: confined && self.overlay.is_ok(),
            resume: confined,
            suspend_on_idle: confined,
        }
    }

    /// One row for each layer.
    pub(crate) fn layers(&self, cgroups: &Cgroups) -> Vec<Layer> {
        let mut layers = vec![
            self.namespaces(),
            landlock(),
            seccomp(),
            self.row("egress allow-list", &self.hosts, "a listener in a network of its own", ENABLE_NAMESPACES),
            self.row(
                "overlay",
                &self.overlay,
                "copy-on-write mounts and snapshots",
                "Linux 6.7 or newer, and a state directory on a file system with extended attributes of users",
            ),
        ];
        layers.extend(cgroups.available().layers());
        layers
    }

    fn namespaces(&self) -> Layer {
        self.row(
            "namespaces",
            &self.confined,
            "user, mount, pid, network, ipc, uts and cgroup",
            ENABLE_NAMESPACES,
        )
    }

    fn row(&self, name: &'static str, tried: &Result<(), SandboxError>, detail: &str, fix: &str) -> Layer {
        match tried {
            Ok(()) => Layer::available(name, detail),
            Err(error) => Layer::missing(name, error.to_string(), fix),
        }
    }
}

fn landlock() -> Layer {
    match kernel::landlock::version() {
        Ok(version @ 6..) => Layer::available("landlock", format!("version {version}")),
        Ok(version) => Layer::available(
            "landlock",
            format!("version {version}; from version 6 on, signals and abstract sockets are covered too"),
        ),
        Err(error) => Layer::missing(
            "landlock",
            error.to_string(),
            "Linux 5.13 or newer with `landlock` in the kernel parameter `lsm=`",
        ),
    }
}

fn seccomp() -> Layer {
    if kernel::seccomp::can_notify() {
        Layer::available("seccomp", "filter, and refused calls are reported")
    } else {
        Layer::missing(
            "seccomp",
            "refused calls cannot be reported",
            "Linux 5.0 or newer with CONFIG_SECCOMP_FILTER",
        )
    }
}
