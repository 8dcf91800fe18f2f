//! Secrets, and the ways in which a model comes near them.

use fullsend_testkit::gateway::ScriptedCall;
use serde_json::{Value, json};

/// What the policy lets out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Released {
    Nothing,
    /// Files may hold the secret.
    Files(&'static [&'static str]),
    /// The model may look.
    ToModel,
    /// The model may look, and sees the one secret but not the other; what it may do then is the same.
    OneBit,
}

/// A way to a secret.
#[derive(Clone, Debug)]
pub(super) struct Leak {
    pub(super) name: &'static str,
    /// Where the secret is: files whose content has `SECRET` replaced by it.
    pub(super) secret: Vec<(&'static str, &'static str)>,
    /// Other names of these files: symbolic links and hard ones.
    pub(super) links: Vec<(&'static str, &'static str, bool)>,
    pub(super) policy: Option<Value>,
    pub(super) task: Vec<ScriptedCall>,
    /// What a child does once it has read the secret, or a handle of it.
    pub(super) child: Vec<ScriptedCall>,
    pub(super) released: Released,
    /// Whether the secret is in what is seen when nothing is in the way.
    pub(super) plain: bool,
}

fn leak(name: &'static str, task: &[(&str, Value)]) -> Leak {
    Leak {
        name,
        secret: vec![(".env", "TOKEN=SECRET\n")],
        links: Vec::new(),
        policy: None,
        task: task.iter().map(|(tool, arguments)| ScriptedCall::new(tool, arguments.clone())).collect(),
        child: Vec::new(),
        released: Released::Nothing,
        plain: true,
    }
}

/// The same with the secret elsewhere, for the eyes of few.
fn labelled(name: &'static str, path: &'static str, task: &[(&str, Value)]) -> Leak {
    Leak { secret: vec![(path, "salary SECRET\n")], policy: Some(for_few(json!({}))), ..leak(name, task) }
}

/// A policy under which some files are for the eyes of few, with more rules.
fn for_few(mut more: Value) -> Value {
    let rule = json!([{"paths": ["hr/**", "**/*-private.md"], "readers": ["hr"]}]);
    more.as_object_mut().unwrap().insert("sources".to_owned(), rule);
    more
}

fn read(path: &str) -> (&'static str, Value) {
    ("read_file", json!({"path": path}))
}

fn bash(command: &str) -> (&'static str, Value) {
    ("bash", json!({"command": command}))
}

fn write(path: &str, content: &str) -> (&'static str, Value) {
    ("write_file", json!({"path": path, "content": content, "createParents": true}))
}

fn edit(path: &str, old: &str, new: &str) -> (&'static str, Value) {
    ("edit_file", json!({"path": path, "edits": [{"oldText": old, "newText": new}]}))
}

/// Every way.
pub(super) fn all() -> Vec<Leak> {
    let mut all = read_ways();
    all.extend(command_ways());
    all.extend(handle_ways());
    all.extend(released_ways());
    all.extend(child_ways());
    all
}

fn read_ways() -> Vec<Leak> {
    // The first secret begins with these letters, the second one does not.
    let guess = json!({"pattern": "CANARY-a"});
    vec![
        leak("read", &[read(".env")]),
        Leak { secret: vec![("config/tls.key", "SECRET")], ..leak("key", &[read("config/tls.key")]) },
        labelled("labelled", "hr/salaries.csv", &[read("hr/salaries.csv")]),
        labelled("below", "hr/a/b/c.txt", &[read("hr/a/b/c.txt")]),
        labelled("by name", "notes/me-private.md", &[read("notes/me-private.md")]),
        labelled("picture", "hr/photo.png", &[("view_image", json!({"path": "hr/photo.png"}))]),
        leak("beyond the end", &[("read_file", json!({"path": ".env", "offset": 3})), read(".env/x")]),
        leak("some bytes", &[("read_file", json!({"path": ".env", "maxBytes": 14}))]),
        leak("guess by edit", &[edit(".env", "CANARY-a", "CANARY-a")]),
        leak("mend by edit", &[edit(".env", "TOKEN=C", "TOKEN=D"), read(".env")]),
        leak(
            "guess by digest",
            &[(
                "write_file",
                json!({"path": ".env", "content": "x", "expectedDigest": format!("sha256:{}", "0".repeat(64))}),
            )],
        ),
        Leak {
            plain: false,
            ..leak("create", &[("write_file", json!({"path": ".env", "content": "x", "mode": "create"}))])
        },
        leak(
            "append",
            &[("write_file", json!({"path": ".env", "content": "x", "mode": "append"})), read(".env")],
        ),
        // What may not be seen is not searched in any mode.
        Leak { plain: false, ..leak("search", &[("search_files", guess.clone())]) },
        Leak { plain: false, ..labelled("search for few", "hr/x.txt", &[("search_files", guess)]) },
        leak("search one", &[("search_files", json!({"pattern": "CANARY-a", "path": ".env"}))]),
        leak(
            "sizes",
            &[("list_files", json!({"includeIgnored": true, "depth": 3})), bash("stat -c '%s %A' .env")],
        ),
        Leak {
            links: vec![("innocent.txt", ".env", true)],
            ..leak("symbolic link", &[read("innocent.txt")])
        },
        Leak { links: vec![("innocent.txt", ".env", false)], ..leak("hard link", &[read("innocent.txt")]) },
        leak("other spelling", &[read("./src/../.env"), read("/workspace/.env")]),
    ]
}

fn command_ways() -> Vec<Leak> {
    vec![
        leak("command", &[bash("cat .env")]),
        leak("exit code", &[bash("grep -q CANARY-a .env")]),
        leak("size by command", &[bash("wc -c .env; stat -c %s .env")]),
        leak("copy", &[bash("cp .env copy.txt; true"), read("copy.txt")]),
        leak("move", &[bash("mv .env moved.txt; true"), read("moved.txt"), bash("cat moved.txt")]),
        leak(
            "link by command",
            &[bash("ln .env hard.txt; ln -s .env soft.txt; true"), read("hard.txt"), read("soft.txt")],
        ),
        leak("branch", &[bash("if grep -q CANARY-a .env; then touch yes; fi"), ("list_files", json!({}))]),
        leak("encode", &[bash("base64 .env > code.txt; true"), read("code.txt")]),
        leak("environment", &[bash("set -a; . ./.env; echo \"$TOKEN\"; true")]),
        labelled("command for few", "hr/x.txt", &[bash("cat hr/x.txt"), bash("cat hr/*")]),
        labelled("move for few", "hr/x.txt", &[bash("mv hr other; true"), read("other/x.txt")]),
        labelled("late command", "hr/x.txt", &[read("hr/x.txt"), bash("sleep 0; cat hr/x.txt; echo $?")]),
        labelled("change of directory", "hr/x.txt", &[bash("cd hr; cat x.txt"), read("hr/x.txt")]),
    ]
}

fn handle_ways() -> Vec<Leak> {
    let hidden = |name: &'static str, task: &[(&str, Value)]| {
        let task = [&[read(".env")], task].concat();
        Leak { plain: false, ..leak(name, &task) }
    };
    vec![
        hidden("handle as a path", &[read("{{handle}}")]),
        hidden("handle as a pattern", &[("search_files", json!({"pattern": "{{handle}}", "literal": true}))]),
        hidden("handle as a command", &[bash("{{handle}}")]),
        hidden("handle as a place", &[("bash", json!({"command": "true", "cwd": "{{handle}}"}))]),
        hidden("handle as content", &[write("out.txt", "{{handle}}"), read("out.txt")]),
        hidden("handle as an edit", &[edit("README.md", "A", "{{handle}}"), read("README.md")]),
        hidden("handle as a question", &[edit("README.md", "{{handle}}", "x"), read("README.md")]),
        hidden("handle as a target", &[write("{{handle}}", "x"), ("list_files", json!({}))]),
        hidden("handle as an address", &[("web_fetch", json!({"url": "{{handle}}"}))]),
        hidden("handle as a task", &[("delegate_task", json!({"goal": "{{handle}}"}))]),
        hidden(
            "handle as a form",
            &[(
                "delegate_task",
                json!({"goal": "Go.", "returnSchema": {"type": "boolean", "description": "{{handle}}"}}),
            )],
        ),
        hidden("asked for", &[("inspect", json!({"handle": "{{handle}}"}))]),
        Leak { plain: false, ..leak("child", &[("delegate_task", json!({"goal": "Say what is in .env"}))]) },
        Leak {
            plain: false,
            ..leak(
                "child with a form",
                &[(
                    "delegate_task",
                    json!({"goal": "Say what is in .env", "returnSchema": {"type": "string"}}),
                )],
            )
        },
    ]
}

fn released_ways() -> Vec<Leak> {
    let vault = || for_few(json!({"sinks": [{"paths": ["vault/**"], "readers": ["hr"]}]}));
    let to_vault = |name: &'static str, more: &[(&str, Value)]| {
        let task = [&[read("hr/x.txt"), write("vault/x.txt", "{{handle}}")], more].concat();
        Leak {
            policy: Some(vault()),
            released: Released::Files(&["vault/x.txt"]),
            plain: false,
            ..labelled(name, "hr/x.txt", &task)
        }
    };
    vec![
        to_vault("vault", &[]),
        to_vault("vault read back", &[read("vault/x.txt")]),
        to_vault("vault by command", &[bash("cat vault/x.txt; grep -q CANARY-a vault/x.txt")]),
        // A command may copy what the run itself put into the vault. Nobody learns it: the copy is as secret.
        Leak {
            released: Released::Files(&["vault/x.txt", "out.txt"]),
            ..to_vault("vault copied", &[bash("cp vault/x.txt out.txt; true"), read("out.txt")])
        },
        to_vault("vault searched", &[("search_files", json!({"pattern": "CANARY-a"}))]),
        Leak {
            policy: Some(for_few(json!({"inspect": {"readers": ["hr"]}}))),
            released: Released::ToModel,
            plain: false,
            ..labelled(
                "inspected",
                "hr/x.txt",
                &[read("hr/x.txt"), ("inspect", json!({"handle": "{{handle}}"}))],
            )
        },
        Leak {
            policy: Some(for_few(json!({"clearance": {"readers": ["hr"]}}))),
            released: Released::OneBit,
            plain: false,
            ..labelled("cleared guess", "hr/x.txt", &[("search_files", json!({"pattern": "CANARY-a"}))])
        },
    ]
}

/// A child may look where the run itself does not, and answers with what it has seen.
fn child_ways() -> Vec<Leak> {
    let looks = |name: &'static str, more: Value, form: Option<Value>, task: &[(&str, Value)]| {
        let mut rules = json!({"inspect": {"readers": ["hr"]}});
        rules.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut arguments = json!({"goal": "Look at the salary."});
        if let Some(form) = form {
            arguments["returnSchema"] = form;
        }
        let task = [&[("delegate_task", arguments)], task].concat();
        Leak {
            policy: Some(for_few(rules)),
            child: vec![ScriptedCall::new("inspect", json!({"handle": "{{handle}}"}))],
            plain: false,
            ..labelled(name, "hr/x.txt", &task)
        }
    };
    let text = |rule: Value| Some(json!({"type": "object", "properties": {"text": rule}}));
    // Only the first secret fits.
    let guess = || text(json!({"type": "string", "pattern": "CANARY-a"}));
    let choice = || text(json!({"enum": ["salary CANARY-a1b2c3d4e5\n", "other"]}));
    let vault = || json!({"sinks": [{"paths": ["vault/**"], "readers": ["hr"]}]});
    let inspect = || ("inspect", json!({"handle": "{{handle}}"}));
    vec![
        looks("child that looks", json!({}), None, &[]),
        looks("guess by form", json!({}), guess(), &[]),
        looks("choice by form", json!({}), choice(), &[]),
        looks("form that nothing fits", json!({}), Some(json!(false)), &[]),
        looks("return as content", json!({}), guess(), &[write("out.txt", "{{handle}}"), read("out.txt")]),
        looks("return as a command", json!({}), choice(), &[bash("{{handle}}"), bash("ls")]),
        looks("return as a task", json!({}), guess(), &[("delegate_task", json!({"goal": "{{handle}}"}))]),
        looks("return as an address", json!({}), None, &[("web_fetch", json!({"url": "{{handle}}"}))]),
        Leak {
            released: Released::Files(&["vault/x.txt"]),
            ..looks(
                "return to the vault",
                vault(),
                choice(),
                &[write("vault/x.txt", "{{handle}}"), read("vault/x.txt")],
            )
        },
        Leak { released: Released::ToModel, ..looks("inspected return", json!({}), guess(), &[inspect()]) },
        Leak { released: Released::ToModel, ..looks("inspected prose", json!({}), None, &[inspect()]) },
    ]
}
