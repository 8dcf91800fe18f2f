//! Things that run again later by themselves.

use super::{Found, View};
use crate::command::paths::{below_home, is_at_or_below, plain, written, written_by_option};
use crate::command::rules::{CI_CHANGED, PERSISTENCE};
use crate::command::script::Command;
use crate::severity::Severity;

static HOME: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".zlogin",
    ".xprofile",
    ".xinitrc",
    ".config/fish",
    ".config/autostart",
    ".config/systemd/user",
    ".ssh/authorized_keys",
    ".ssh/authorized_keys2",
    ".ssh/rc",
    ".ssh/config",
    ".ssh/environment",
    "Library/LaunchAgents",
    ".pam_environment",
    ".forward",
];

static SYSTEM: &[&str] = &[
    "/etc/crontab",
    "/etc/cron.d",
    "/etc/cron.daily",
    "/etc/cron.hourly",
    "/etc/cron.weekly",
    "/etc/cron.monthly",
    "/var/spool/cron",
    "/etc/systemd/system",
    "/etc/systemd/user",
    "/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/etc/init.d",
    "/etc/rc.local",
    "/etc/profile",
    "/etc/profile.d",
    "/etc/bash.bashrc",
    "/etc/zsh",
    "/etc/ld.so.preload",
    "/etc/ld.so.conf.d",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/passwd",
    "/etc/shadow",
    "/etc/pam.d",
    "/etc/ssh",
    "/etc/environment",
    "/etc/xdg/autostart",
    "/etc/udev/rules.d",
    "/etc/anacrontab",
    "/Library/LaunchAgents",
    "/Library/LaunchDaemons",
    "/etc/apt/apt.conf.d",
    "/etc/hosts",
];

static CI: &[&str] = &[
    ".github/workflows/",
    ".gitlab-ci.yml",
    ".circleci/config.yml",
    "Jenkinsfile",
    "azure-pipelines.yml",
    ".drone.yml",
];

pub(super) fn look(view: View<'_>, found: &mut Found<'_>) {
    let command = view.command;
    let by_option = written_by_option(command);
    for word in written(command).into_iter().chain(&by_option) {
        file(&word.text, found);
    }
    if let Some(what) = scheduled(view) {
        found.report(&PERSISTENCE, what);
    } else if let Some(what) = enabled(command) {
        found.report_as(&PERSISTENCE, Severity::Medium, what);
    }
}

fn file(path: &str, found: &mut Found<'_>) {
    let path = plain(path);
    let relative = path.trim_start_matches("$PWD/");
    let home = below_home(&path).or_else(|| (!path.starts_with(['/', '$'])).then_some(relative));
    if home.is_some_and(|home| HOME.iter().any(|start| is_at_or_below(home, start))) {
        found.report(&PERSISTENCE, format!("writes the start-up or login file `{path}`"));
    } else if SYSTEM.iter().any(|start| is_at_or_below(&path, start)) {
        found.report(&PERSISTENCE, format!("writes the system file `{path}`"));
    } else if path.contains(".git/hooks/") {
        found.report(&PERSISTENCE, format!("writes the git hook `{path}`"));
    } else if CI.iter().any(|name| path.contains(name)) {
        found.report(&CI_CHANGED, format!("writes `{path}`"));
    }
}

/// Commands that have something run at a later time.
fn scheduled(view: View<'_>) -> Option<&'static str> {
    let View { script, command } = view;
    let fed = || {
        command.input.is_some() || script.upstream(command).next().is_some() || !command.redirects.is_empty()
    };
    match command.name() {
        "crontab" if !command.has_flag('l') && !command.arguments().is_empty() => Some("changes the crontab"),
        "crontab" if fed() && !command.has_flag('l') => Some("changes the crontab"),
        "at" | "batch" if fed() || command.has_flag('f') => Some("has a command run at a later time"),
        "useradd" | "adduser" => Some("adds a user"),
        "usermod" if command.has(&["sudo", "wheel", "root", "docker"]) => Some("gives a user more rights"),
        "launchctl" if command.has(&["load", "bootstrap", "submit"]) => Some("has a service start by itself"),
        "update-rc.d" | "chkconfig" => Some("has a service start by itself"),
        "systemd-run" if command.arguments().iter().any(|word| word.text.starts_with("--on-")) => {
            Some("has a command run at a later time")
        }
        _ => None,
    }
}

fn enabled(command: &Command) -> Option<&'static str> {
    let words = |count: usize| command.words.get(..count.min(command.words.len())).unwrap_or_default();
    let has = |text: &str| words(4).iter().any(|word| word.text == text);
    match command.name() {
        "systemctl" if has("enable") => Some("has a service start by itself"),
        "git" if has("config") => command
            .arguments()
            .iter()
            .any(|word| {
                word.text.starts_with('!')
                    || matches!(word.text.as_str(), "core.fsmonitor" | "core.sshCommand" | "core.pager")
            })
            .then_some("has git run a command"),
        _ => None,
    }
}
