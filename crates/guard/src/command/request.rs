//! The addresses that commands would connect to.

mod curl;
mod others;

use super::script::{Command, Script, Word};
use super::{Request, code, printed};

/// How many are listed. A script with more is not an ordinary one, and the last entry says that there are more.
const MOST: usize = 500;

/// Every address in a script.
pub(super) fn all(script: &Script) -> Vec<Request> {
    let mut requests: Vec<Request> = Vec::new();
    for command in &script.commands {
        for word in targets(command).into_iter().flat_map(|word| filled_in(script, command, word)) {
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

/// `echo address | xargs curl`: what is printed stands in place of what xargs fills in.
fn filled_in(script: &Script, command: &Command, word: Word) -> Vec<Word> {
    let mark = word.text.find(FILLED).filter(|at| command.wrappers.contains(&"xargs") && word.literal <= *at);
    let printed = mark.and_then(|_| script.upstream(command).next()).and_then(printed::text);
    match printed.filter(Word::is_complete) {
        Some(printed) => printed
            .text
            .split_whitespace()
            .take(MOST)
            .map(|value| Word::literal(word.text.replace(FILLED, value), word.span))
            .collect(),
        None => vec![word],
    }
}

/// What stands for something unknown in a word.
const FILLED: &str = "$__";

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
