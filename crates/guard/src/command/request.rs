//! The addresses that commands would connect to.

mod curl;
mod others;

use super::Request;
use super::code;
use super::script::{Command, Script, Word};

/// How many are listed. A script with more is not an ordinary one, and the last entry says that there are more.
const MOST: usize = 500;

/// Every address in a script.
pub(super) fn all(script: &Script) -> Vec<Request> {
    let mut requests: Vec<Request> = Vec::new();
    for command in &script.commands {
        for word in targets(command) {
            let request = Request {
                target: word.known_prefix().to_owned(),
                span: word.span,
                complete: word.is_complete(),
            };
            if !requests.contains(&request) {
                requests.push(request);
            }
            if requests.len() == MOST {
                requests.push(Request { target: String::new(), span: command.span, complete: false });
                return requests;
            }
        }
    }
    requests
}

/// Where one command connects to.
pub(super) fn targets(command: &Command) -> Vec<Word> {
    let mut found = match command.name() {
        "curl" | "curlie" => curl::curl(command),
        "wget" | "wget2" => curl::wget(command),
        _ => others::targets(command),
    };
    found.extend(code::targets(command));
    found.extend(command.redirects.iter().filter_map(|redirect| socket(&redirect.target)));
    let proxies = command.assignments.iter().filter(|(name, value)| is_proxy(name) && !value.text.is_empty());
    found.extend(proxies.map(|(_, value)| value.clone()));
    found
}

/// The address in `/dev/tcp/host/port`.
pub(super) fn socket(file: &Word) -> Option<Word> {
    let rest = file.text.strip_prefix("/dev/tcp/").or_else(|| file.text.strip_prefix("/dev/udp/"))?;
    let start = file.text.len() - rest.len();
    if file.literal < start {
        return Some(file.tail(start));
    }
    let mut address = file.tail(start);
    address.text = address.text.replacen('/', ":", 1);
    Some(address)
}

/// Whether a variable sends requests through an address.
fn is_proxy(variable: &str) -> bool {
    matches!(
        variable.to_ascii_lowercase().as_str(),
        "http_proxy" | "https_proxy" | "all_proxy" | "ftp_proxy" | "socks_proxy"
    )
}
