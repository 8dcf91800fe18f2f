//! More rights, for a user, a file, a library or a container.

use super::{Found, View};
use crate::command::paths::plain;
use crate::command::rules::{LOADER_HIJACK, PERMISSIONS_WEAKENED, PRIVILEGE, SYSTEM_CHANGED};
use crate::command::script::{Command, Word};
use crate::severity::Severity;

pub(super) fn look(view: View<'_>, found: &mut Found<'_>) {
    let command = view.command;
    let by_wrapper = command.wrappers.iter().find(|wrapper| matches!(**wrapper, "sudo" | "doas"));
    let by_name =
        Some(command.name()).filter(|name| matches!(*name, "su" | "sudo" | "doas" | "pkexec" | "runuser"));
    if let Some(name) = by_wrapper.copied().or(by_name) {
        found.report(&PRIVILEGE, format!("`{name}` runs a command as another user"));
    }
    modes(command, found);
    loader(command, found);
    machine(command, found);
}

fn modes(command: &Command, found: &mut Found<'_>) {
    let recursive = command.has_flag('R') || command.has(&["--recursive"]);
    match command.name() {
        "chmod" => {
            // A mode such as `-w` looks like an option; those only take rights away.
            let Some(mode) = command.operands().next().map(|word| word.text.as_str()) else { return };
            if sets_user(mode) {
                found.report(&PERMISSIONS_WEAKENED, "files run with the rights of their owner");
            } else if for_all(mode) {
                let system = command.operands().skip(1).any(|word| is_system(&word.text));
                let severity = if recursive || system { Severity::High } else { Severity::Medium };
                found.report_as(&PERMISSIONS_WEAKENED, severity, "files become writable by everybody");
            }
        }
        "chown" | "chgrp" if command.operands().skip(1).any(|word| is_system(&word.text)) => {
            found.report(&PERMISSIONS_WEAKENED, "system files get another owner");
        }
        "setcap" => found.report(&PERMISSIONS_WEAKENED, "a program gets rights of the system administrator"),
        "setfacl"
            if command
                .arguments()
                .iter()
                .any(|word| word.text.contains("o::rw") || word.text.contains("other:rw")) =>
        {
            found.report(&PERMISSIONS_WEAKENED, "files become writable by everybody");
        }
        _ => {}
    }
}

fn sets_user(mode: &str) -> bool {
    let octal = mode.len() == 4
        && mode.starts_with(['2', '4', '6', '7'])
        && mode.bytes().all(|byte| byte.is_ascii_digit());
    octal || (mode.contains('s') && mode.contains(['+', '=']))
}

fn for_all(mode: &str) -> bool {
    let octal =
        matches!(mode.trim_start_matches('0'), "777" | "666" | "776" | "767" | "757" | "722" | "1777");
    let symbolic = mode.split(',').any(|part| {
        part.split_once(['+', '='])
            .is_some_and(|(who, what)| what.contains('w') && (who.contains(['o', 'a'])))
    });
    octal || symbolic
}

/// Whether a path is the system's.
fn is_system(path: &str) -> bool {
    let path = plain(path);
    path == "/"
        || ["/etc", "/usr", "/bin", "/sbin", "/lib", "/boot", "/root", "/var/lib", "/sys", "/proc", "/dev"]
            .iter()
            .any(|start| {
                path.strip_prefix(start).is_some_and(|rest| {
                    (rest.is_empty() || rest.starts_with('/')) && !rest.starts_with("/local")
                })
            })
}

/// Variables that put other code in front of what a program would run.
fn loader(command: &Command, found: &mut Found<'_>) {
    for (name, value) in &command.assignments {
        let text = value.text.as_str();
        let hijacks = match name.as_str() {
            "LD_PRELOAD" | "LD_AUDIT" | "DYLD_INSERT_LIBRARIES" => {
                !text.is_empty() && !text.starts_with("/usr/lib") && !text.starts_with("/lib")
            }
            "PATH" => ["/tmp", "/var/tmp", "/dev/shm", ".:", ":"].iter().any(|start| text.starts_with(start)),
            "BASH_ENV" | "PYTHONSTARTUP" | "PROMPT_COMMAND" | "PERL5OPT" => !text.is_empty(),
            "NODE_OPTIONS" => text.contains("--require") || text.contains("--import"),
            _ => false,
        };
        if hijacks {
            found.report(
                &LOADER_HIJACK,
                format!("`{name}` puts other code in front of what a program would run"),
            );
        }
    }
}

/// Kernel, mounts and containers.
fn machine(command: &Command, found: &mut Found<'_>) {
    let what = match command.name() {
        "insmod" | "modprobe" | "rmmod" | "kexec" => Some("changes the kernel"),
        "mount" | "losetup" if command.operands().count() >= 2 || command.has_flag('o') => {
            Some("mounts a file system")
        }
        "docker" | "podman" | "nerdctl" if command.has(&["run", "create", "exec"]) && escapes(command) => {
            Some("starts a container with control over the machine")
        }
        "curl" if command.values(&["--unix-socket"]).iter().any(is_engine_socket) => {
            Some("talks to the container engine directly")
        }
        "sysctl" if command.has_flag('w') => Some("changes kernel settings"),
        "debugfs" => Some("opens a file system below the system"),
        _ => None,
    };
    if let Some(what) = what {
        found.report(&SYSTEM_CHANGED, what);
    } else if command.wrappers.contains(&"nsenter") {
        found.report(&SYSTEM_CHANGED, "enters the namespaces of another process");
    }
}

fn is_engine_socket(word: &Word) -> bool {
    ["docker.sock", "podman.sock", "containerd.sock", "crio.sock"]
        .iter()
        .any(|socket| word.text.ends_with(socket))
}

/// Whether the options of a container give it the machine.
fn escapes(command: &Command) -> bool {
    let host =
        ["--pid=host", "--privileged", "--ipc=host", "--userns=host", "--cap-add=ALL", "--cap-add=SYS_ADMIN"];
    let mounts = command.values(&["-v", "--volume", "--mount"]);
    let whole = |word: &Word| {
        word.text.starts_with("/:")
            || word.text.contains(".sock")
            || word.text.contains("source=/,")
            || word.text.contains("src=/,")
            || ["/etc:", "/root:", "/proc:", "/dev:"].iter().any(|start| word.text.starts_with(start))
    };
    let caps = command.values(&["--cap-add"]);
    command.has(&host)
        || mounts.iter().any(whole)
        || caps
            .iter()
            .any(|word| matches!(word.text.as_str(), "ALL" | "SYS_ADMIN" | "SYS_PTRACE" | "SYS_MODULE"))
        || command.values(&["--pid", "--ipc"]).iter().any(|word| word.text == "host")
}
