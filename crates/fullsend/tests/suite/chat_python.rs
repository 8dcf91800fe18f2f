//! A client that knows nothing but the published schema drives a whole session.

use std::process::Command;

use fullsend_testkit::{declare_skip, test_name};
use serde_json::{Value, json};

use crate::suite::agent_place::AgentPlace;
use crate::suite::chat_process::KEPT;

const CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/chat_client.py");
const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/chat-protocol.schema.json");

#[test]
fn a_client_written_from_the_schema_alone_drives_a_whole_session() {
    if Command::new("python3").arg("--version").output().is_err() {
        declare_skip(test_name!(), "there is no python3");
        return;
    }
    let place = AgentPlace::new(&script());
    let service = place.command(&KEPT);
    let mut client = Command::new("python3");
    client.args(["-B", CLIENT, SCHEMA]).arg(place.workspace());
    client.arg(service.get_program()).args(service.get_args()).current_dir(place.workspace());
    client.env("XDG_STATE_HOME", place.beside("state"));
    let ran = client.output().unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(ran.status.success(), "{}\n{}", said(&ran.stdout), said(&ran.stderr));
    assert!(said(&ran.stdout).contains(" events, "), "{}", said(&ran.stdout));
}

fn script() -> Value {
    let usage = json!({"input_tokens": 20, "output_tokens": 5});
    let run = json!({"calls": [{"tool": "bash", "args": {"command": "echo done > ran"}}], "usage": usage});
    json!({"turns": [
        {"calls": [{"tool": "write_file", "args": {"path": "notes.txt", "content": "Hello.\n"}}], "usage": usage},
        {"say": "The file is written, and has one line.", "stream": 8, "usage": usage},
        run,
        {"say": "It was run.", "stream": 4, "usage": usage},
        run,
        {"say": "It was not run.", "usage": usage},
        run,
    ]})
}
