//! Destruction that cannot be undone.

use super::{Found, View};
use crate::command::paths::plain;
use crate::command::rules::{DISK_OVERWRITTEN, FORK_BOMB, MASS_DELETION};
use crate::command::script::{Command, Flow, PlaceKind};
use crate::severity::Severity;

pub(super) fn look(view: View<'_>, found: &mut Found<'_>) {
    let command = view.command;
    deletion(command, found);
    if let Some(device) = overwritten_disk(command) {
        found.report(&DISK_OVERWRITTEN, device);
    }
    if is_fork_bomb(view) {
        found.report(&FORK_BOMB, "a function starts two of itself in the background");
    }
}

fn deletion(command: &Command, found: &mut Found<'_>) {
    let recursive = command.has_flag('r') || command.has_flag('R') || command.has(&["--recursive"]);
    let paths: Vec<&str> = match command.name() {
        "rm" if recursive && !command.wrappers.contains(&"find") => {
            command.operands().map(|word| word.text.as_str()).collect()
        }
        "shred" | "chmod" if recursive && command.has(&["000", "0", "a-rwx"]) => {
            command.operands().map(|word| word.text.as_str()).collect()
        }
        "find"
            if command.has(&["-delete"])
                && !command.has(&["-name", "-path", "-iname", "-type", "-mtime", "-empty", "-regex"]) =>
        {
            command.operands().take(1).map(|word| word.text.as_str()).collect()
        }
        "mv" if command.operands().last().is_some_and(|word| word.text == "/dev/null") => {
            command.operands().map(|word| word.text.as_str()).collect()
        }
        _ => return,
    };
    if command.has(&["--no-preserve-root"]) {
        found.report(&MASS_DELETION, "deletes the root directory");
    }
    for path in paths {
        match loss(path) {
            Some(Loss::Machine) => {
                found.report(&MASS_DELETION, format!("deletes `{path}` with all that is in it"))
            }
            Some(Loss::Work) => {
                found.report_as(
                    &MASS_DELETION,
                    Severity::High,
                    format!("deletes `{path}` with all that is in it"),
                );
            }
            None => {}
        }
    }
}

/// How much is lost with a directory.
enum Loss {
    /// The machine or a home directory.
    Machine,
    /// The working directory or the history of a repository.
    Work,
}

fn loss(path: &str) -> Option<Loss> {
    let path = plain(path);
    let whole = path.trim_end_matches("/*").trim_end_matches("/.").trim_end_matches('/');
    if matches!(whole, "" | "~" | "$HOME" | "/home" | "/root" | "/Users") && !path.is_empty() {
        return Some(Loss::Machine);
    }
    let mut parts = whole.split('/').skip(1);
    if let (true, Some(first), None) = (whole.starts_with('/'), parts.next(), parts.next())
        && TOP.contains(&first)
    {
        return Some(Loss::Machine);
    }
    if let Some(user) = whole.strip_prefix("/home/").or_else(|| whole.strip_prefix("/Users/"))
        && !user.contains('/')
    {
        return Some(Loss::Machine);
    }
    let repository = whole == ".git" || whole.ends_with("/.git");
    (repository || matches!(path.as_ref(), "." | ".." | "*" | "../*" | "$PWD" | "$PWD/*" | "/*"))
        .then_some(Loss::Work)
}

static TOP: &[&str] = &[
    "bin",
    "boot",
    "dev",
    "etc",
    "lib",
    "lib64",
    "opt",
    "proc",
    "sbin",
    "srv",
    "sys",
    "usr",
    "var",
    "run",
    "mnt",
    "media",
    "System",
    "Library",
    "Applications",
    "Volumes",
    "*",
];

fn overwritten_disk(command: &Command) -> Option<String> {
    let name = command.name();
    if name.starts_with("mkfs") || matches!(name, "mkswap" | "wipefs" | "blkdiscard" | "sgdisk" | "mke2fs") {
        let device = command.operands().find(|word| is_disk(&word.text))?;
        return Some(format!("`{name}` overwrites `{}`", device.text));
    }
    let redirected = command
        .redirects
        .iter()
        .filter(|redirect| redirect.flow != Flow::In)
        .map(|redirect| &redirect.target.text);
    let arguments = command.arguments().iter().filter_map(|word| match name {
        "dd" => word.text.strip_prefix("of="),
        "shred" | "tee" | "cp" => Some(word.text.as_str()),
        _ => None,
    });
    let device = redirected.map(String::as_str).chain(arguments).find(|path| is_disk(path))?;
    Some(format!("overwrites `{device}`"))
}

/// Whether a path is a disk or partition.
fn is_disk(path: &str) -> bool {
    let Some(device) = path.strip_prefix("/dev/") else { return false };
    ["sd", "nvme", "hd", "vd", "xvd", "disk", "rdisk", "mmcblk", "mapper/", "md", "dm-", "loop"]
        .iter()
        .any(|start| device.strip_prefix(start).is_some_and(|rest| !rest.is_empty()))
}

/// `f() { f | f & }; f`
fn is_fork_bomb(view: View<'_>) -> bool {
    let View { script, command } = view;
    let name = command.words.first().map(|word| word.text.as_str()).unwrap_or_default();
    let in_itself =
        script.around(command).any(|place| matches!(&place.kind, PlaceKind::Function(own) if own == name));
    in_itself
        && script.upstream(command).any(|before| before.words.first().is_some_and(|word| word.text == name))
}
