//! The command-line agents of other makers: how a scripted model speaks to them, and what they must not find out.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::gateway::Dialect;

/// A credential that no file of a repository should have.
pub const TOKEN: &str = "ghp_1a2B3c4D5e6F7g8H9i0J1k2L3m4N5o6P7q8R";
/// The key of the model, in parts, so that a search for it does not find the search.
pub const KEY: [&str; 2] = ["the-real", "-key-0aF3x9Zq71"];

/// How to speak to a program.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Its name, which is that of its runtime too.
    pub name: &'static str,
    /// What its model speaks.
    pub dialect: Dialect,
    /// The path below the gateway's address that its requests start from.
    pub base: &'static str,
    /// The header with the key, and what precedes the key in it.
    pub header: (&'static str, &'static str),
    /// A call of its shell with a command.
    pub shell: fn(&str) -> (String, Value),
}

/// Claude Code.
pub const CLAUDE: Program = Program {
    name: "claude",
    dialect: Dialect::Messages,
    base: "",
    header: ("x-api-key", ""),
    shell: |command| ("Bash".to_owned(), json!({"command": command, "description": "x"})),
};

/// Codex, with a model that it does not know: of those it expects nothing but calls of tools.
pub const CODEX: Program = Program {
    name: "codex",
    dialect: Dialect::Responses,
    base: "/v1",
    header: ("authorization", "Bearer "),
    shell: |command| ("exec_command".to_owned(), json!({"cmd": command})),
};

/// opencode.
pub const OPENCODE: Program = Program {
    name: "opencode",
    dialect: Dialect::Chat,
    base: "/v1",
    header: ("authorization", "Bearer "),
    shell: |command| ("bash".to_owned(), json!({"command": command, "description": "x"})),
};

impl Program {
    /// Where `cargo xtask setup` puts it, or why a test cannot have it.
    pub fn find(&self) -> Result<PathBuf, String> {
        let name = self.name;
        let tools = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.tools/npm");
        let program = PathBuf::from(format!("{tools}/{name}/node_modules/.bin/{name}"));
        if program.exists() {
            return Ok(program);
        }
        Err(format!("`{}` is not there; `cargo xtask setup` makes it", program.display()))
    }

    /// The value of the header with the key.
    pub fn authorization(&self) -> String {
        format!("{}{}", self.header.1, KEY.concat())
    }
}

/// A shell script that looks for the key wherever a process can look, and says how often it found it. A script, because the
/// hook denies a command that does the same.
pub fn hunt() -> String {
    let [first, second] = KEY;
    // What processes were started with is read before any of them is started with the key, to search for it.
    format!(
        "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null > /dev/shm/seen\n\
         k={first}; k=$k{second}\n\
         n=$(grep -acF -- \"$k\" /dev/shm/seen)\n\
         m=$(grep -rlsF -- \"$k\" /sandbox/workspace /sandbox/*-config /sandbox/hooks /home /tmp /etc 2>/dev/null | wc -l)\n\
         grep -qa HOME= /dev/shm/seen || n=\"nothing could be read\"\n\
         echo \"found: $((n+m))\"\n"
    )
}
