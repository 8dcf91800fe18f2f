//! `fullsend sandbox exec --tty`, with a real terminal around it.

use std::fs;
use std::process::{Command, Stdio};

use fullsend_testkit::{declare_skip, test_name};

use crate::suite::users::{User, each_user};

/// Runs a line of shell on a new terminal and returns what appeared there; `{}` stands for the binary.
fn on_terminal(user: &User, line: &str) -> Option<String> {
    let outer = user.command(&[]);
    let binary: Vec<String> = std::iter::once(outer.get_program())
        .chain(outer.get_args())
        .map(|part| part.to_str().unwrap().to_owned())
        .collect();
    let line = line.replace("{}", &binary.join(" "));
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).current_dir(user.path());
    command.env_clear().env("HOME", user.home()).env("PATH", "/usr/bin:/bin").env("TERM", "dumb");
    match command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() {
        Ok(mut child) => {
            // At the end of its input it would type a key to say so.
            let input = child.stdin.take();
            let output = child.wait_with_output().unwrap();
            drop(input);
            Some(String::from_utf8(output.stdout).unwrap())
        }
        Err(error) => {
            declare_skip(test_name!(), &format!("cannot run script: {error}"));
            None
        }
    }
}

#[test]
fn the_command_has_a_terminal_of_the_same_size_and_ours_is_restored() {
    for user in each_user(test_name!()) {
        user.write("state", "");
        let line = "stty rows 33 cols 77; stty -a > before; \
                    {} sandbox exec --tty -- sh -c 'test -t 0 && test -t 1 && stty size; echo kind $TERM; exit 9'; \
                    echo code $?; stty -a > after";
        let Some(shown) = on_terminal(&user, line) else { return };
        let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
        assert_eq!(lines, ["33 77", "kind dumb", "code 9"], "{shown:?}");
        let state = |name: &str| fs::read_to_string(user.path().join(name)).unwrap();
        assert_eq!(state("before"), state("after"));
    }
}

#[test]
fn the_size_follows_that_of_our_terminal() {
    for user in each_user(test_name!()) {
        user.write("shared/file", "");
        // The terminal changes once the command says that it watches it.
        let line = "(until [ -e shared/ready ]; do sleep 0.1; done; stty rows 40 cols 90 < /dev/tty) & \
                    {} sandbox exec --tty --rw shared -- \
                    sh -c 'trap \"stty size; exit 4\" WINCH; : > ready; while :; do sleep 0.1; done'; echo code $?";
        let Some(shown) = on_terminal(&user, line) else { return };
        let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
        assert_eq!(lines, ["40 90", "code 4"], "{shown:?}");
    }
}

#[test]
fn keys_go_to_the_command_and_not_to_us() {
    for user in each_user(test_name!()) {
        user.write("shared/file", "");
        // Ctrl-C is a byte for the inner terminal, which makes a signal of it.
        let line = "(until [ -e shared/ready ]; do sleep 0.1; done; printf '\\003'; sleep 5) | \
                    {} sandbox exec --tty --rw shared -- \
                    sh -c 'trap \"echo caught; exit 6\" INT; : > ready; while :; do sleep 0.1; done'; echo code $?";
        let Some(shown) = on_terminal(&user, line) else { return };
        let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
        assert_eq!(lines, ["^Ccaught", "code 6"], "{shown:?}");
    }
}

#[test]
fn without_the_option_there_is_no_terminal() {
    for user in each_user(test_name!()) {
        let Some(shown) = on_terminal(&user, "{} sandbox exec -- sh -c 'test -t 1 || echo none'") else {
            return;
        };
        assert_eq!(shown.trim_end(), "none");
    }
}
