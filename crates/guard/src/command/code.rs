//! What can be told about code in other languages without parsing it.

use super::interpreter;
use super::script::{Command, Word};

/// Calls that connect to the address in their first argument.
static CONNECTING: &[&str] = &[
    "urlopen(",
    "urlretrieve(",
    "requests.get(",
    "requests.post(",
    "requests.put(",
    "requests.request(",
    "requests.head(",
    "httpx.get(",
    "httpx.post(",
    "fetch(",
    "http.get(",
    "https.get(",
    "http.request(",
    "https.request(",
    "axios.get(",
    "axios.post(",
    "axios(",
    "file_get_contents(",
    "fopen(",
    "HTTP.get(",
    "HTTP.get_response(",
    "URI.open(",
    "HTTPConnection(",
    "HTTPSConnection(",
    "fsockopen(",
    "TCPSocket.open(",
    "TCPSocket.new(",
    "net.connect(",
    "create_connection(",
    ".connect(",
    "getprint ",
    "getprint(",
    "getstore(",
    "IO::Socket",
    "LWP::",
    "inet_aton(",
    "WebSocket(",
];

/// How many calls are looked at.
const MOST_CALLS: usize = 16;

/// The addresses that the code of a command connects to.
pub(super) fn targets(command: &Command) -> Vec<Word> {
    let name = command.name();
    if matches!(name, "awk" | "gawk" | "mawk" | "nawk") {
        return awk_targets(command);
    }
    if !interpreter::is_interpreter(name) || interpreter::is_shell(name) {
        return Vec::new();
    }
    let Some(code) = interpreter::code(command) else { return Vec::new() };
    let mut found = Vec::new();
    let mut from = 0;
    let mut calls = 0;
    while calls < MOST_CALLS {
        let rest = code.text.get(from..).unwrap_or_default();
        let next = CONNECTING.iter().filter_map(|call| Some((rest.find(call)?, call.len()))).min();
        let Some((at, length)) = next else { break };
        from += at + length;
        calls += 1;
        found.extend(argument_target(rest.get(at + length..).unwrap_or_default(), &code));
    }
    if calls > 0 && found.is_empty() {
        found = addresses_in_strings(&code);
        if found.is_empty() {
            found.push(Word { text: "$__".to_owned(), ..Word::new(code.span) });
        }
    }
    found
}

/// Any URL among the strings of the code.
fn addresses_in_strings(code: &Word) -> Vec<Word> {
    interpreter::strings(&code.text)
        .filter(|text| text.contains("://"))
        .take(MOST_CALLS)
        .map(|text| Word::literal(text, code.span))
        .collect()
}

/// The address in `("host", port)`, `"host", port` or `"url"`.
fn argument_target(arguments: &str, code: &Word) -> Option<Word> {
    let trimmed = arguments.trim_start().trim_start_matches(['(', '[']).trim_start();
    let string = trimmed.trim_start_matches(['f', 'r', 'b', 'u']);
    if !string.starts_with(['"', '\'', '`']) {
        return None;
    }
    let text = interpreter::strings(string).next()?;
    if text.contains("://") {
        return Some(Word::literal(text, code.span));
    }
    let after = string.get(text.len() + 2..).unwrap_or_default().trim_start();
    let port = after.strip_prefix(',').map(|rest| rest.trim_start()).map(|rest| {
        rest.find(|character: char| !character.is_ascii_digit())
            .map_or(rest, |end| rest.get(..end).unwrap_or_default())
    });
    match port.filter(|port| !port.is_empty()) {
        Some(port) => Some(Word::literal(format!("{text}:{port}"), code.span)),
        None => (!text.is_empty() && !text.contains(' ')).then(|| Word::literal(text, code.span)),
    }
}

/// gawk opens sockets by file name: `/inet/tcp/0/host/port`.
fn awk_targets(command: &Command) -> Vec<Word> {
    let program = command.arguments().iter().find(|word| word.text.contains("/inet"));
    let Some(program) = program else { return Vec::new() };
    let mut found = Vec::new();
    for part in program.text.split("/inet").skip(1).take(MOST_CALLS) {
        let mut fields = part.trim_start_matches(['4', '6']).split('/').skip(3);
        let (host, port) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        let digits: String = port.chars().take_while(char::is_ascii_alphanumeric).collect();
        if host.is_empty() || host.contains('"') {
            found.push(Word { text: "$__".to_owned(), ..Word::new(program.span) });
        } else {
            found.push(Word::literal(format!("{host}:{digits}"), program.span));
        }
    }
    found
}
