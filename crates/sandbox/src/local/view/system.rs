//! The part of the view that is the same for all sessions.

use std::path::Path;

use fullsend_sandbox_init::wire::{Blob, Step};

use super::{NO_DEVICES, NO_EXECUTE, NO_SETUID, Names, READ_ONLY, View};
use crate::error::SandboxError;
use crate::local::environment::{HOME, PATH};
use crate::spec::{MEMORY_MOUNT, OUTPUTS_MOUNT};

/// Programs and libraries.
const SYSTEM: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store"];

/// Settings that programs need and that say nothing about the host's users: certificates, the linker, fonts. Files among
/// them are too large to be copied for each session.
const MOUNTED_SETTINGS: [&str; 11] = [
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/crypto-policies",
    "/etc/fonts",
    "/etc/ld.so.conf.d",
    "/etc/pki",
    "/etc/ssl",
    "/etc/terminfo",
    "/etc/ld.so.cache",
    "/etc/mime.types",
    "/etc/services",
];

/// Copied, as they are small.
const COPIED_SETTINGS: [&str; 7] = [
    "/etc/ld.so.conf",
    "/etc/protocols",
    "/etc/debian_version",
    "/etc/magic",
    "/etc/os-release",
    "/etc/shells",
    "/etc/timezone",
];

/// No larger file is copied; none of these is.
const LARGEST_SETTING: u64 = 256 << 10;

const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// Kernel settings, shown read-only.
const SEALED_PROC: [&str; 4] = ["sys", "bus", "fs", "irq"];
/// What tells of the machine or acts on it. Permission bits protect most of these too.
const MASKED_PROC: [&str; 8] =
    ["kcore", "kmsg", "keys", "key-users", "timer_list", "sysrq-trigger", "kallsyms", "kpagecount"];
const EMPTIED_PROC: [&str; 2] = ["acpi", "scsi"];

impl View<'_> {
    pub(super) fn skeleton(&mut self) {
        for path in ["/dev", "/etc", "/home", "/mnt", "/mnt/session", "/proc", "/run", "/var", "/sys"] {
            self.directory(path, 0o755);
        }
        for path in ["/tmp", "/var/tmp", "/dev/shm"] {
            self.directory(path, 0o1777);
        }
        self.directory(HOME, 0o700);
        self.directory(MEMORY_MOUNT, 0o755);
        self.directory(OUTPUTS_MOUNT, 0o755);
        self.directory("/dev/pts", 0o755);
        for (path, target) in [
            ("/dev/fd", "/proc/self/fd"),
            ("/dev/stdin", "fd/0"),
            ("/dev/stdout", "fd/1"),
            ("/dev/stderr", "fd/2"),
            ("/dev/ptmx", "pts/ptmx"),
        ] {
            self.steps.push(Step::Link { path: Blob::from(path), target: Blob::from(target) });
        }
    }

    pub(super) fn system_directories(&mut self) {
        for path in SYSTEM {
            match std::fs::read_link(path) {
                Ok(target) => {
                    let target = Blob::from(target.to_string_lossy().as_bytes());
                    self.steps.push(Step::Link { path: Blob::from(path), target });
                }
                Err(_) if Path::new(path).is_dir() => self.system_tree(path),
                Err(_) => {}
            }
        }
    }

    fn system_tree(&mut self, path: &str) {
        if let Some((parent, _)) = path.rsplit_once('/').filter(|(parent, _)| !parent.is_empty()) {
            self.directory(parent, 0o755);
        }
        self.directory(path, 0o755);
        let source = self.system_source(path, READ_ONLY | NO_SETUID | NO_DEVICES);
        self.attach(source, path);
    }

    pub(super) fn settings(&mut self) {
        for path in MOUNTED_SETTINGS {
            match std::fs::metadata(path) {
                Ok(found) if found.is_dir() => self.directory(path, 0o755),
                Ok(_) => self.file(path, b""),
                Err(_) => continue,
            }
            let source = self.system_source(path, READ_ONLY | NO_SETUID | NO_DEVICES | NO_EXECUTE);
            self.attach(source, path);
        }
        for path in COPIED_SETTINGS {
            let small =
                std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= LARGEST_SETTING);
            if let Some(content) = small.then(|| std::fs::read(path).ok()).flatten() {
                self.file(path, &content);
            }
        }
        if let Ok(zone) = std::fs::canonicalize("/etc/localtime")
            && zone.starts_with("/usr/share")
        {
            let target = Blob::from(zone.to_string_lossy().as_bytes());
            self.steps.push(Step::Link { path: Blob::from("/etc/localtime"), target });
        }
        self.file("/etc/passwd", format!("root:x:0:0:root:/root:/usr/sbin/nologin\nagent:x:1000:1000:agent:{HOME}:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n").as_bytes());
        self.file("/etc/group", b"root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n");
        self.file(
            "/etc/nsswitch.conf",
            b"passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n",
        );
        self.file("/etc/hosts", b"127.0.0.1 localhost sandbox\n::1 localhost\n");
    }

    pub(super) fn name_lookup(&mut self, names: Names) {
        self.file("/etc/resolv.conf", &resolver(names));
    }

    pub(super) fn devices(&mut self) {
        for name in DEVICES {
            let path = format!("/dev/{name}");
            self.file(&path, b"");
            let source = self.system_source(&path, NO_SETUID | NO_EXECUTE);
            self.attach(source, &path);
        }
        self.steps.push(Step::Terminals { path: Blob::from("/dev/pts") });
    }

    pub(super) fn processes(&mut self) {
        self.steps.push(Step::Processes { path: Blob::from("/proc") });
        let below = |name: &str| Blob::from(&format!("/proc/{name}"));
        for name in SEALED_PROC {
            let attributes = READ_ONLY | NO_SETUID | NO_DEVICES | NO_EXECUTE;
            self.steps.push(Step::Seal { path: below(name), attributes });
        }
        self.steps.extend(MASKED_PROC.iter().map(|name| Step::Mask { path: below(name) }));
        self.steps.extend(EMPTIED_PROC.iter().map(|name| Step::Empty { path: below(name) }));
    }

    /// The directories of programs hold the listed ones and nothing else. What is not there cannot be run, not even
    /// through the loader of libraries.
    pub(super) fn only_programs(&mut self, programs: &[String]) -> Result<(), SandboxError> {
        const SHELF: &str = "/.programs";
        self.directory(SHELF, 0o755);
        for program in programs {
            let found = find_program(program)?;
            let name = program.rsplit('/').next().unwrap_or(program);
            let place = format!("{SHELF}/{name}");
            self.file(&place, b"");
            let source = self.system_source(&found, READ_ONLY | NO_SETUID | NO_DEVICES);
            self.attach(source, &place);
        }
        let attributes = READ_ONLY | NO_SETUID | NO_DEVICES;
        for directory in PATH.split(':').chain(["/usr/libexec", "/usr/games"]) {
            let is_directory = std::fs::symlink_metadata(directory).is_ok_and(|found| found.is_dir());
            if is_directory {
                self.steps.push(Step::Bind {
                    from: Blob::from(SHELF),
                    path: Blob::from(directory),
                    attributes,
                });
            }
        }
        Ok(())
    }
}

fn resolver(names: Names) -> Vec<u8> {
    match names {
        Names::Proxy => b"nameserver 127.0.0.1\noptions timeout:5 attempts:1\n".to_vec(),
        Names::Host => std::fs::read("/etc/resolv.conf").unwrap_or_default(),
        Names::None => b"# no network\n".to_vec(),
    }
}

/// A program of the system, by path or name, without symbolic links.
fn find_program(program: &str) -> Result<String, SandboxError> {
    let refuse =
        |why: &str| Err(SandboxError::InvalidRequest(format!("program `{}` {why}", program.escape_debug())));
    let candidates: Vec<String> = if program.starts_with('/') {
        vec![program.to_owned()]
    } else if program.contains('/') || program.is_empty() {
        return refuse("is neither a name nor an absolute path");
    } else {
        PATH.split(':').map(|directory| format!("{directory}/{program}")).collect()
    };
    let found =
        candidates.iter().filter_map(|path| std::fs::canonicalize(path).ok()).find(|path| path.is_file());
    match found {
        Some(path)
            if ["/usr", "/bin", "/sbin", "/lib", "/nix/store"]
                .iter()
                .any(|system| path.starts_with(system)) =>
        {
            Ok(path.to_string_lossy().into_owned())
        }
        Some(_) => refuse("is not one of the system's programs; mount the directory that it is in"),
        None => refuse("cannot be found"),
    }
}
