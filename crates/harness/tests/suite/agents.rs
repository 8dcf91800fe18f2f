//! Agent definitions: front matter and instructions.

use super::support::{CLEAN, Folder, HARNESS};

fn lint(definition: &str) -> Vec<String> {
    Folder::with(&[("harness/code.yaml", HARNESS), ("agents/code.md", definition)]).lint()
}

#[test]
fn front_matter_is_found_in_every_form_it_is_written_in() {
    for definition in [
        "---\nname: code\n---\nDo it.\n",
        "\u{feff}---\nname: code\n---\nDo it.\n",
        "---\r\nname: code\r\n---\r\nDo it.\r\n",
        " ---  \nname: code\n  --- \nDo it.\n",
        "---\n---\nDo it.\n",
        "---\nname: code\n---\nDo it.\n---\nStill the body.\n",
    ] {
        assert_eq!(lint(definition), CLEAN, "{definition:?}");
    }
}

#[test]
fn an_agent_without_front_matter_or_instructions_is_a_warning() {
    let without = "agent-front-matter agents/code.md:1:1 the agent definition has no front matter | start the file with `---`, `name: …`, `description: …`, `---`";
    let unclosed = "agent-front-matter agents/code.md:1:1 the agent definition's front matter is never closed | end it with a second `---` line";
    let empty = |place: &str| {
        format!(
            "agent-empty agents/code.md:{place} the agent definition has no instructions | write the agent's instructions below the front matter"
        )
    };
    assert_eq!(lint("Do it.\n"), [without]);
    assert_eq!(lint("\n---\nname: a\n---\nDo it.\n"), [without], "a blank first line");
    assert_eq!(lint("---\nname: a\nDo it.\n"), [unclosed]);
    assert_eq!(lint("---"), [unclosed]);
    assert_eq!(lint(""), [without.to_owned(), empty("1:1")]);
    assert_eq!(lint("---\nname: a\n---\n \n"), [empty("4:1")]);
    assert_eq!(lint("---\nname: a\n---"), [empty("3:4")]);
}

#[test]
fn places_are_those_of_the_whole_file() {
    assert_eq!(
        lint("---\nname: code\ndescripton: é\nmodel: a b\neffort: big\nmaxTurns: 0\n---\nDo it.\n"),
        [
            "unknown-key agents/code.md:3:1 unknown key `descripton` | did you mean `description`?",
            "invalid-value agents/code.md:4:8 `model` must consist of letters, digits, `_`, `.`, `@` and `-`, not `a b` | write `a-b`",
            "invalid-value agents/code.md:5:9 `effort` must be one of `low`, `medium`, `high`, `xhigh`, `max`, not `big` | choose one of `low`, `medium`, `high`, `xhigh`, `max`",
            "invalid-value agents/code.md:6:11 `maxTurns` must be 1 or more, not 0 | write a number 1 or more",
        ]
    );
    assert_eq!(
        lint("\u{feff}---\r\nname: code\r\ntools: {a: b}\r\n---\r\nDo it.\r\n"),
        [
            "wrong-type agents/code.md:3:8 `tools` must be a list, or names separated by commas, not a mapping | write a list, or names separated by commas"
        ]
    );
    assert_eq!(
        lint("---\nname: code\ndescription: Use: when\n---\nDo it.\n"),
        [
            "yaml-syntax agents/code.md:3:17 mapping values are not allowed in this context | put the value in quotes if it contains `: `, or start the key on a line of its own"
        ]
    );
    assert_eq!(lint("---\n- a\n---\nDo it.\n").len(), 1);
}

#[test]
fn a_definition_cannot_act_or_loosen_permissions_by_itself() {
    let refused = |line: usize, key: &str| {
        format!(
            "agent-key-refused agents/code.md:{line}:1 an agent definition may not set `{key}` | remove the key; use the harness's `security`, `plugins` and `policy` instead"
        )
    };
    assert_eq!(
        lint(
            "---\nname: code\nhooks: {PreToolUse: []}\nmcpServers: [x]\npermissionMode: bypassPermissions\nmodle: x\n---\nDo it.\n"
        ),
        [
            refused(3, "hooks"),
            refused(4, "mcpServers"),
            refused(5, "permissionMode"),
            "unknown-key agents/code.md:6:1 unknown key `modle` | did you mean `model`?".to_owned(),
        ]
    );
}

#[test]
fn tools_are_a_list_or_one_line() {
    for tools in [
        "Read",
        "Read, Write",
        "[Read, Write]",
        "'Bash(git add, git commit), Read'",
        "\n- Read\n- Bash(npm:*)",
        "~",
        "''",
    ] {
        for key in ["tools", "disallowedTools", "skills"] {
            assert_eq!(lint(&format!("---\n{key}: {tools}\n---\nDo it.\n")), CLEAN, "{key}: {tools}");
        }
    }
    assert_eq!(
        lint("---\ntools: [[Read]]\n---\nDo it.\n"),
        ["wrong-type agents/code.md:2:9 `tools[0]` must be text, not a list | write text"]
    );
}

#[test]
fn a_definition_shared_by_harnesses_is_checked_once() {
    let folder = Folder::with(&[
        ("harness/a.yaml", HARNESS),
        ("harness/b.yaml", HARNESS),
        ("agents/code.md", "Do it.\n"),
    ]);
    assert_eq!(folder.codes(), ["agent-front-matter"]);
}

#[test]
fn undecodable_and_oversized_definitions_are_refused() {
    let folder = Folder::with(&[("harness/code.yaml", HARNESS)]);
    std::fs::write(folder.path("agents/code.md"), b"---\nname: \xff\n---\nDo it.\n").unwrap();
    assert_eq!(
        folder.lint(),
        [
            "yaml-encoding agents/code.md:2:7 the byte at offset 10 is not UTF-8 | save the file as UTF-8 without other bytes"
        ]
    );
    std::fs::write(folder.path("agents/code.md"), vec![b'a'; (1 << 20) + 1]).unwrap();
    assert_eq!(
        folder.lint(),
        [
            "yaml-too-large agents/code.md:1:1 the file has more than 1048576 bytes | split the file or remove what does not belong in it"
        ]
    );
}
