//! Traces that are removed, and protection that is switched off.

use super::{Found, View};
use crate::command::paths::{is_at_or_below, plain};
use crate::command::rules::{PROTECTION_DISABLED, TRACES_REMOVED};
use crate::command::script::{Command, Flow, base_name};
use crate::severity::Severity;

pub(super) fn look(view: View<'_>, found: &mut Found<'_>) {
    let command = view.command;
    if let Some(what) = removes_traces(command) {
        found.report(&TRACES_REMOVED, what);
    }
    if let Some(what) = disables(command) {
        found.report(&PROTECTION_DISABLED, what);
    }
    let unverified = command.assignments.iter().any(|(name, value)| {
        matches!(
            (name.as_str(), value.text.as_str()),
            ("NODE_TLS_REJECT_UNAUTHORIZED" | "PYTHONHTTPSVERIFY", "0") | ("GIT_SSL_NO_VERIFY", "1" | "true")
        )
    });
    if unverified {
        found.report_as(&PROTECTION_DISABLED, Severity::Medium, "certificates are no longer checked");
    }
}

fn removes_traces(command: &Command) -> Option<&'static str> {
    let named = |parts: &[&str]| command.arguments().iter().any(|word| parts.contains(&word.text.as_str()));
    if command.assignments.iter().any(|(name, value)| {
        (name == "HISTFILE" && matches!(value.text.as_str(), "/dev/null" | ""))
            || (matches!(name.as_str(), "HISTSIZE" | "HISTFILESIZE") && value.text == "0")
    }) {
        return Some("keeps the shell from writing its history");
    }
    let truncates = command.redirects.iter().any(|redirect| {
        redirect.flow == Flow::Out && is_trace(&redirect.target.text) && prints_nothing(command)
    });
    if truncates {
        return Some("empties a log or history");
    }
    match command.name() {
        "history" if command.has_flag('c') || command.has_flag('d') => Some("removes shell history"),
        "unset" if named(&["HISTFILE"]) => Some("keeps the shell from writing its history"),
        "set" if named(&["+o"]) && named(&["history"]) => Some("keeps the shell from writing its history"),
        "rm" | "shred" | "truncate" | "unlink" | "srm"
            if command.operands().any(|word| is_trace(&word.text)) =>
        {
            Some("removes a log or history")
        }
        "ln" if named(&["/dev/null"]) && command.operands().any(|word| is_trace(&word.text)) => {
            Some("replaces a log or history by nothing")
        }
        "cp" if command.operands().next().is_some_and(|word| word.text == "/dev/null")
            && command.operands().any(|word| is_trace(&word.text)) =>
        {
            Some("empties a log or history")
        }
        "sed" if command.has_flag('i') && command.operands().any(|word| is_trace(&word.text)) => {
            Some("edits a log or history")
        }
        "journalctl" if command.arguments().iter().any(|word| word.text.starts_with("--vacuum")) => {
            Some("removes system logs")
        }
        "dmesg" if command.has_flag('C') || command.has_flag('c') => Some("removes kernel messages"),
        _ => None,
    }
}

/// Whether a command prints nothing worth keeping, so that a redirection only empties the file.
fn prints_nothing(command: &Command) -> bool {
    match command.name() {
        "" | ":" | "true" | "echo" | "printf" => true,
        "cat" => command.operands().all(|word| word.text == "/dev/null"),
        _ => false,
    }
}

/// Whether a file records what was done.
fn is_trace(path: &str) -> bool {
    let path = plain(path);
    is_at_or_below(&path, "/var/log")
        || matches!(
            base_name(&path),
            ".bash_history"
                | ".zsh_history"
                | ".history"
                | ".sh_history"
                | ".python_history"
                | ".mysql_history"
                | ".psql_history"
                | "wtmp"
                | "utmp"
                | "btmp"
                | "lastlog"
        )
}

/// Services that protect or record.
static GUARDS: &[&str] = &[
    "auditd",
    "firewalld",
    "ufw",
    "apparmor",
    "fail2ban",
    "falcon-sensor",
    "osqueryd",
    "clamav-daemon",
    "clamav-freshclam",
    "rsyslog",
    "syslog",
    "syslog-ng",
    "systemd-journald",
    "iptables",
    "nftables",
    "selinux",
    "falco",
    "wazuh-agent",
    "ossec",
    "sysmon",
    "crowdstrike",
    "sentinelone",
    "tripwire",
    "aide",
    "fullsend",
    "tirith",
];

fn disables(command: &Command) -> Option<&'static str> {
    let named = |parts: &[&str]| command.arguments().iter().any(|word| parts.contains(&word.text.as_str()));
    let guard = || {
        command
            .arguments()
            .iter()
            .any(|word| GUARDS.contains(&word.text.strip_suffix(".service").unwrap_or(&word.text)))
    };
    match command.name() {
        "setenforce" if named(&["0", "Permissive", "permissive"]) => Some("switches SELinux off"),
        "ufw" if named(&["disable", "reset"]) => Some("switches the firewall off"),
        "iptables" | "ip6tables" if named(&["-F", "--flush", "-X"]) => Some("removes all firewall rules"),
        "iptables" | "ip6tables" if named(&["-P", "--policy"]) && named(&["ACCEPT"]) => {
            Some("lets everything through the firewall")
        }
        "nft" if named(&["flush"]) => Some("removes all firewall rules"),
        "systemctl" if named(&["stop", "disable", "mask", "kill"]) && guard() => {
            Some("stops a service that protects")
        }
        "service" | "rc-service" | "initctl" if named(&["stop"]) && guard() => {
            Some("stops a service that protects")
        }
        "pkill" | "killall" | "kill" if guard() => Some("ends a program that protects"),
        "auditctl" if named(&["-D"]) || (named(&["-e"]) && named(&["0"])) => Some("switches auditing off"),
        "aa-teardown" | "aa-disable" | "aa-complain" => Some("switches AppArmor off"),
        "csrutil" | "spctl" if named(&["disable", "--master-disable", "--global-disable"]) => {
            Some("switches system protection off")
        }
        "chattr" if named(&["-i", "-a", "-R-i"]) => Some("makes protected files changeable"),
        "git" if named(&["config"]) && named(&["core.hooksPath"]) && !named(&["--get", "--unset"]) => {
            Some("has git use other hooks")
        }
        "git" if command.arguments().iter().any(|word| word.text.starts_with("core.hooksPath=")) => {
            Some("has git use other hooks")
        }
        _ => None,
    }
}
