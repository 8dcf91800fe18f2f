//! The name of the tool that a hook asks about.

use std::borrow::Cow;

use serde::Deserialize;

/// The longest name that is repeated in the log.
const LONGEST: usize = 128;

#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow)]
    tool_name: Cow<'a, str>,
}

/// The name of the tool in a hook's input. None when it is not like the name of a tool: whoever reads the log must not
/// find sentences there that a process in the sandbox wrote.
pub fn tool_name(input: &[u8]) -> Option<String> {
    // Serde would also take the members from a list.
    input.trim_ascii_start().starts_with(b"{").then_some(())?;
    let Named { tool_name } = serde_json::from_slice(input).ok()?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':' | b'/');
    let fits = (1..=LONGEST).contains(&tool_name.len()) && tool_name.bytes().all(is_name);
    fits.then(|| tool_name.into_owned())
}
