//! Where the input of a shell tool keeps its command.

use serde_json::Value;

/// Under which keys runtimes keep it, and `action` the object of one that nests it.
const KEYS: [&str; 4] = ["command", "cmd", "script", "chars"];
/// Under which of them tools that are not known to be shells keep one. A `script` of theirs is often JavaScript or SQL.
const NAMED: [&str; 2] = ["command", "cmd"];
const NESTED: &str = "action";

/// Shells whose `-c` argument is the command.
const SHELLS: [&str; 7] = ["sh", "bash", "zsh", "dash", "ksh", "ash", "fish"];

/// A command that is written as something else than text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unreadable;

/// Every command in the input of a shell tool: text, or a list of arguments. Where no key is known to hold one, every
/// text is taken for one, since some runtime may have a key that is not known here.
pub(super) fn commands(input: &Value) -> Result<Vec<String>, Unreadable> {
    let mut found = Vec::new();
    for object in [Some(input), input.get(NESTED)].into_iter().flatten() {
        for value in under(object, &KEYS) {
            found.extend(command(value)?);
        }
    }
    if found.is_empty() && under(input, &KEYS).next().is_none() {
        texts(input, &mut found);
    }
    Ok(found)
}

/// The commands in the input of a tool that is not known to be a shell. What is not text is no command there.
pub(super) fn named_commands(input: &Value) -> Vec<String> {
    under(input, &NAMED).filter_map(|value| command(value).ok().flatten()).collect()
}

/// What stands under one of `keys`, in whatever case: a tool may be less strict about names than we are.
fn under<'a>(object: &'a Value, keys: &'static [&'static str]) -> impl Iterator<Item = &'a Value> {
    let named = |name: &str| keys.iter().any(|key| key.eq_ignore_ascii_case(name));
    let members = object.as_object().into_iter().flatten();
    members.filter(move |(name, _)| named(name)).map(|(_, value)| value)
}

fn command(value: &Value) -> Result<Option<String>, Unreadable> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        Value::Array(items) => {
            let words: Vec<&str> =
                items.iter().map(Value::as_str).collect::<Option<_>>().ok_or(Unreadable)?;
            Ok(Some(from_arguments(&words)))
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => Err(Unreadable),
    }
}

/// The command line that has these arguments. A shell that is given a script is that script.
fn from_arguments(words: &[&str]) -> String {
    script_of(words).map_or_else(
        || words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
        |script| (*script).to_owned(),
    )
}

/// The script in `bash -lc SCRIPT`, and nothing after it.
fn script_of<'a>(words: &'a [&'a str]) -> Option<&'a &'a str> {
    let [shell, flags, script] = words else { return None };
    let name = shell.rsplit('/').next().unwrap_or(shell);
    let is_script = flags.strip_prefix('-').is_some_and(|letters| {
        letters.ends_with('c') && letters.bytes().all(|letter| letter.is_ascii_lowercase())
    });
    (SHELLS.contains(&name) && is_script).then_some(script)
}

fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:=@%+,".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Every text in `value`. Its depth is limited by the reader.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(members) => members.values().for_each(|member| texts(member, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Unreadable, commands};

    #[test]
    fn finds_the_command_wherever_a_runtime_keeps_it() {
        let cases = [
            (json!({"command": "ls -l", "description": "List"}), vec!["ls -l"]),
            (json!({"cmd": "ls"}), vec!["ls"]),
            (json!({"command": ["bash", "-lc", "a | b"]}), vec!["a | b"]),
            (json!({"command": ["/bin/sh", "-c", "a; b"]}), vec!["a; b"]),
            (json!({"command": ["bash", "-c", "a", "b"]}), vec!["bash -c a b"]),
            (json!({"command": ["echo", "a b", "it's", ""]}), vec![r"echo 'a b' 'it'\''s' ''"]),
            (json!({"action": {"type": "exec", "command": ["curl", "x"]}}), vec!["curl x"]),
            (json!({"chars": "rm x\n", "session_id": 1}), vec!["rm x\n"]),
            (json!({"command": "a", "cmd": "b"}), vec!["a", "b"]),
            (json!({"command": "a", "COMMAND": "b"}), vec!["a", "b"]),
            (json!("curl x"), vec!["curl x"]),
            (json!({"code": "x", "n": 1, "more": ["y"]}), vec!["x", "y"]),
            (json!({"command": null}), vec![]),
            (json!({}), vec![]),
        ];
        for (input, expected) in cases {
            assert_eq!(commands(&input), Ok(expected.into_iter().map(str::to_owned).collect()), "{input}");
        }
    }

    #[test]
    fn refuses_commands_that_are_no_text() {
        for input in [json!({"command": 1}), json!({"cmd": {"a": "b"}}), json!({"command": ["a", 1]})] {
            assert_eq!(commands(&input), Err(Unreadable), "{input}");
        }
    }
}
