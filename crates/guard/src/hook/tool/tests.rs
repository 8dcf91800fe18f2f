use super::{Runtime, ToolKind};

#[test]
fn names_mean_what_their_runtime_says() {
    let cases = [
        (Runtime::Claude, "Bash", ToolKind::Shell),
        (Runtime::Claude, "MultiEdit", ToolKind::Edit),
        (Runtime::Claude, "Task", ToolKind::Delegate),
        (Runtime::Claude, "WebFetch", ToolKind::Fetch),
        (Runtime::OpenCode, "webfetch", ToolKind::Fetch),
        (Runtime::OpenCode, "apply_patch", ToolKind::Edit),
        (Runtime::Codex, "Bash", ToolKind::Shell),
        (Runtime::Codex, "container.exec", ToolKind::Shell),
        (Runtime::Codex, "exec_command", ToolKind::Shell),
        (Runtime::Codex, "write_stdin", ToolKind::Shell),
        (Runtime::Codex, "view_image", ToolKind::Image),
        (Runtime::Native, "run_skill_script", ToolKind::Skill),
        (Runtime::Replay, "web_fetch", ToolKind::Fetch),
        (Runtime::Native, "frobnicate", ToolKind::Other),
        (Runtime::Native, "", ToolKind::Other),
    ];
    for (runtime, name, kind) in cases {
        assert_eq!(ToolKind::of(runtime, name), kind, "{name}");
    }
}

#[test]
fn no_spelling_of_a_shell_is_anything_else() {
    for runtime in Runtime::ALL {
        for name in [
            "bash",
            "Bash",
            "BASH",
            "shell",
            "exec_command",
            "Local_Shell",
            "PowerShell",
            "sh",
            "Bash ",
            "\tbash\n",
            "Ваsh",
            "B\u{200b}ash",
            "Ｂａｓｈ",
            "functions.shell",
            "functions.exec_command",
            "tools/bash",
            "ns:bash",
        ] {
            assert_eq!(ToolKind::of(runtime, name), ToolKind::Shell, "{name} in {}", runtime.as_str());
        }
    }
}

#[test]
fn tools_of_servers_keep_their_parts() {
    let of = |name: &str| ToolKind::of(Runtime::Claude, name);
    let mcp = |server: &str, tool: &str| ToolKind::Mcp { server: server.to_owned(), tool: tool.to_owned() };
    assert_eq!(of("mcp__github__get_issue"), mcp("github", "get_issue"));
    assert_eq!(of("MCP__a__b__c"), mcp("a", "b__c"));
    assert_eq!(of("mcp__alone"), ToolKind::Other);
    assert_eq!(of("mcp_é_x"), ToolKind::Other);
    assert!(of("mcp__box__run_command").is_shell());
    assert!(of("mcp__box__Ваsh").is_shell());
    assert!(!of("mcp__box__get").is_shell());
}
