//! What the sandbox refused, and the option that would have allowed it.

use fullsend_sandbox::{Denial, Denied, LimitHit};
use fullsend_yaml::printable;

use super::relay::Ended;
use crate::output::Output;

/// Tells why a command may have failed; of one that succeeded there is nothing to tell.
pub(super) fn report(ended: &Ended, output: &mut Output) {
    if ended.exit.exit_code == 0 && !ended.timed_out() {
        return;
    }
    for denial in &ended.exit.denials {
        output.note(&printable(denial_line(denial)));
    }
    for limit in ended.limits_hit() {
        output.note(limit_line(limit));
    }
}

fn denial_line(denial: &Denial) -> String {
    let times = if denial.count > 1 { format!(" ({} times)", denial.count) } else { String::new() };
    let what = match &denial.what {
        Denied::Host { host, port } => format!("connection to {host}:{port}"),
        Denied::Call { name } => format!("system call {name}"),
        Denied::Path { path, access } => format!("{access} access to {path}"),
    };
    let reason = denial.reason.trim_end_matches('.');
    let remedy = remedy(denial).map(|remedy| format!("; to allow it: {remedy}")).unwrap_or_default();
    format!("denied: {what}{times}: {reason}{remedy}")
}

/// The option of this command, where the backend knows that something would allow it.
fn remedy(denial: &Denial) -> Option<String> {
    let known = denial.remedy.as_ref()?;
    Some(match &denial.what {
        Denied::Host { host, port: 80 | 443 } => format!("--allow-host {host}"),
        Denied::Host { host, port } if host.contains(':') => format!("--allow-host [{host}]:{port}"),
        Denied::Host { host, port } => format!("--allow-host {host}:{port}"),
        Denied::Path { path, access } if access == "write" => format!("--rw {path}"),
        Denied::Path { path, .. } => format!("--ro {path}"),
        Denied::Call { .. } => known.clone(),
    })
}

fn limit_line(limit: LimitHit) -> &'static str {
    match limit {
        LimitHit::Time => "limit: the time was over; `--timeout` gives more",
        LimitHit::Memory => "limit: the memory was used up; `--memory` gives more",
        LimitHit::Processes => "limit: there were too many processes; `--processes` allows more",
        LimitHit::Output => "limit: there was too much output, and a part of it is missing",
    }
}

#[cfg(test)]
mod tests {
    use fullsend_sandbox::{Denial, Denied};

    use super::denial_line;

    fn denial(what: Denied, remedy: Option<&str>, count: u64) -> Denial {
        Denial { what, reason: "not listed.".to_owned(), remedy: remedy.map(str::to_owned), count }
    }

    #[test]
    fn a_denial_is_one_line_with_the_option_that_helps() {
        let host = |host: &str, port| Denied::Host { host: host.to_owned(), port };
        let path = |access: &str| Denied::Path { path: "/a".to_owned(), access: access.to_owned() };
        for (what, remedy, count, expected) in [
            (
                host("a.test", 443),
                Some("net: a.test"),
                1,
                "denied: connection to a.test:443: not listed; to allow it: --allow-host a.test",
            ),
            (
                host("a.test", 22),
                Some("net: a.test:22"),
                3,
                "denied: connection to a.test:22 (3 times): not listed; to allow it: --allow-host a.test:22",
            ),
            (host("169.254.169.254", 80), None, 1, "denied: connection to 169.254.169.254:80: not listed"),
            (
                path("write"),
                Some("write: /a"),
                1,
                "denied: write access to /a: not listed; to allow it: --rw /a",
            ),
            (
                path("read"),
                Some("read: /a"),
                1,
                "denied: read access to /a: not listed; to allow it: --ro /a",
            ),
            (Denied::Call { name: "mount".to_owned() }, None, 1, "denied: system call mount: not listed"),
        ] {
            assert_eq!(denial_line(&denial(what, remedy, count)), expected);
        }
    }
}
