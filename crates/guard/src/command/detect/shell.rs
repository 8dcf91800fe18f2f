//! Shells that somebody else controls over the network.

use super::{Found, View};
use crate::command::interpreter;
use crate::command::request::socket;
use crate::command::rules::{REVERSE_SHELL, SHELL_SOCKET};
use crate::command::script::{Command, Flow};
use crate::severity::Severity;

pub(super) fn look(view: View<'_>, found: &mut Found<'_>) {
    let command = view.command;
    if sockets(command) {
        let runs = interpreter::is_interpreter(command.name()) || command.name() == "script";
        match (runs, command.name()) {
            (true, name) => {
                found.report(&REVERSE_SHELL, format!("`{name}` is connected to a network address"))
            }
            (false, "" | "echo" | ":" | "true" | "exec" | "cat") if !sends_data(command) => {
                found.report_as(&SHELL_SOCKET, Severity::Medium, "the shell opens a network connection");
            }
            (false, _) => found.report(&SHELL_SOCKET, "the shell opens a network connection and uses it"),
        }
    }
    netcat(view, found);
    code(command, found);
}

/// Whether a redirection opens a network connection.
fn sockets(command: &Command) -> bool {
    command.redirects.iter().any(|redirect| socket(&redirect.target).is_some())
}

/// Whether something goes into the connection other than a probe.
fn sends_data(command: &Command) -> bool {
    let keeps_open = command.redirects.iter().any(|redirect| redirect.flow == Flow::Both);
    let reads = command
        .redirects
        .iter()
        .any(|redirect| redirect.flow == Flow::In && redirect.target.text != "/dev/null");
    match command.name() {
        "exec" | "" => keeps_open,
        "cat" => reads || command.operands().any(|word| word.text != "/dev/null"),
        "echo" => command.arguments().iter().any(|word| !word.inner.is_empty()),
        _ => false,
    }
}

/// Programs that connect their input and output to an address.
fn netcat(view: View<'_>, found: &mut Found<'_>) {
    let View { script, command } = view;
    let runs_program = match command.name() {
        "nc" | "ncat" | "netcat" => {
            command.has(&["--exec", "--sh-exec", "--lua-exec"])
                || command.has_flag('e')
                || command.has_flag('c')
        }
        "socat" => command.operands().any(|word| {
            let upper = word.text.to_ascii_uppercase();
            upper.starts_with("EXEC:") || upper.starts_with("SYSTEM:") || upper.starts_with("SHELL:")
        }),
        "openssl" => false,
        "telnet" => false,
        _ => return,
    };
    if runs_program {
        found.report(&REVERSE_SHELL, format!("`{}` runs a program for whoever is connected", command.name()));
        return;
    }
    if command.name() == "openssl" && !command.has(&["s_client"]) {
        return;
    }
    let fed_by_shell = script.upstream(command).any(|before| {
        interpreter::is_shell(before.name()) && interpreter::runs_input(before) && before.input.is_none()
    });
    if fed_by_shell {
        found.report(&REVERSE_SHELL, format!("the output of a shell goes to `{}`", command.name()));
    }
    if matches!(command.name(), "openssl" | "telnet")
        && script
            .downstream(command)
            .any(|next| interpreter::is_interpreter(next.name()) && interpreter::runs_input(next))
    {
        found.report(&REVERSE_SHELL, format!("what comes from `{}` is run", command.name()));
    }
}

static CONNECTS: &[&str] = &[
    "connect(",
    "fsockopen(",
    "TCPSocket",
    "net.Socket",
    "net.connect",
    "Socket::INET",
    "create_connection(",
    "TCPClient",
    "pfsockopen(",
    "socket.socket(",
    "use Socket",
];

static SPAWNS: &[&str] = &[
    "/bin/sh",
    "/bin/bash",
    "/bin/zsh",
    "pty.spawn",
    "dup2(",
    "'sh'",
    "\"sh\"",
    "'bash'",
    "\"bash\"",
    "sh -i",
    "bash -i",
    "cmd.exe",
    "IO.popen",
];

/// The same in other languages.
fn code(command: &Command, found: &mut Found<'_>) {
    let name = command.name();
    if matches!(name, "awk" | "gawk" | "mawk" | "nawk") {
        if let Some(program) = command.arguments().iter().find(|word| word.text.contains("/inet")) {
            let runs = ["system(", "| getline", "|getline", "/bin/sh"]
                .iter()
                .any(|part| program.text.contains(part));
            let rule = if runs { &REVERSE_SHELL } else { &SHELL_SOCKET };
            found.report(rule, format!("`{name}` opens a network connection"));
        }
        return;
    }
    if !interpreter::is_interpreter(name) || interpreter::is_shell(name) {
        return;
    }
    let Some(code) = interpreter::code(command) else { return };
    let has = |parts: &[&str]| parts.iter().any(|part| code.text.contains(part));
    if has(CONNECTS) && has(SPAWNS) {
        found.report(&REVERSE_SHELL, format!("`{name}` code connects a shell to a network address"));
    }
}
