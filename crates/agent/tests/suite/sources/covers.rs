//! What commands cannot read, and what happens when a file takes the place of a covered one.

use std::os::unix::fs::symlink;

use fullsend_flow::{Label, Trust};
use serde_json::json;

use super::{path, trust};
use crate::support::room::{Room, in_rooms};

in_rooms![
    commands_cannot_read_credentials,
    a_cover_stays_where_it_is,
    what_takes_the_place_of_a_covered_file_is_known,
];

fn put(room: &Room, name: &str, text: &str) {
    let file = room.workspace.join(name);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

async fn commands_cannot_read_credentials(room: &Room) {
    put(room, ".env", "KEY=topsecret\n");
    put(room, "app/api/.env.local", "KEY=topsecret\n");
    put(room, "app/.env.example", "KEY=example\n");
    put(room, ".ssh/id_rsa", "topsecret\n");
    put(room, "target of a link", "topsecret\n");
    std::fs::hard_link(room.workspace.join(".env"), room.workspace.join("app/innocent")).unwrap();
    symlink("app/api/.env.local", room.workspace.join("soft")).unwrap();
    symlink("target of a link", room.workspace.join("prod.key")).unwrap();
    let command = "cat .env app/api/.env.local .ssh/id_rsa app/innocent soft prod.key 'target of a link'; \
                   cat app/.env.example; ls -A .ssh; grep -r topsecret . ; cp -r . /tmp/all; grep -r topsecret /tmp/all; true";
    let output = room.call(&room.bash, json!({ "command": command })).await;
    assert_eq!(output.record["stdout"], "KEY=example\n", "{}", output.record);
    assert_eq!(output.label, *room.sources.usual(), "what cannot be read does not join");
    assert_eq!(room.sources.command_inputs(), *room.sources.usual());
    for file in [".env", "app/innocent", "soft", "prod.key", ".ssh/id_rsa"] {
        assert!(!room.sources.file(&path(file)).confidentiality.is_public(), "{file}");
    }
    assert_eq!(std::fs::read_to_string(room.workspace.join(".env")).unwrap(), "KEY=topsecret\n");
}

async fn a_cover_stays_where_it_is(room: &Room) {
    put(room, "app/api/.env", "KEY=topsecret\n");
    for command in [
        "mv app/api/.env x",
        "ln app/api/.env x",
        "rm -f app/api/.env",
        "mv app other",
        "mv app/api app/other",
        "echo x > app/api/.env",
        "umount app/api/.env",
    ] {
        let record = room.sh(command).await;
        assert_ne!(record["exitCode"], 0, "{command}: {record}");
    }
    assert!(!room.out("grep -rs topsecret . /tmp; true").await.contains("topsecret"));
    // Beside it everything works.
    assert_eq!(
        room.out("echo y > app/api/file && mv app/api/file app/api/other && cat app/api/other").await,
        "y"
    );
    assert_eq!(std::fs::read_to_string(room.workspace.join("app/api/.env")).unwrap(), "KEY=topsecret\n");
}

async fn what_takes_the_place_of_a_covered_file_is_known(room: &Room) {
    put(room, ".env", "KEY=topsecret\n");
    assert_eq!(room.out("cat .env 2> /dev/null; true").await, "");
    // Somebody else puts a new file there, and the kernel takes the cover away.
    put(room, ".new", "KEY=topsecret\n");
    std::fs::rename(room.workspace.join(".new"), room.workspace.join(".env")).unwrap();
    let output = room.call(&room.bash, json!({ "command": "cat .env; true" })).await;
    assert!(!output.label.confidentiality.is_public(), "{}", output.record);
    // What a command makes later has nothing of what was covered.
    assert_eq!(trust(&room.sources.command_inputs()), Trust::Workspace);
    assert_ne!(room.sources.command(&Label::bottom()), *room.sources.usual());
}
