use super::{AllowlistCheck, HookConfig, HookFile, MAX_INPUT_BYTES};
use crate::Severity;
use crate::hook::Runtime;

fn problem(text: &str) -> String {
    HookFile::parse(text).unwrap_err().to_string()
}

#[test]
fn everything_that_can_be_is_on_by_default() {
    let HookFile::Decide(config) = HookFile::parse("{}").unwrap() else { panic!("a service") };
    assert_eq!(*config, HookConfig::default());
    let checks = &config.checks;
    assert!(checks.command.enabled && checks.ssrf.enabled && checks.canary.pre && checks.canary.post);
    assert!(checks.suppress && checks.unicode && checks.secrets);
    assert!(!checks.tirith.enabled && !checks.tool_allowlist.enabled);
    assert_eq!((checks.command.fail_on, config.runtime), (Severity::High, Runtime::Claude));
    assert_eq!(config.limits.max_input_bytes, MAX_INPUT_BYTES);
}

#[test]
fn what_is_written_is_read_back() {
    let mut config = HookConfig { runtime: Runtime::Codex, ..HookConfig::default() };
    config.findings = Some("/var/log/findings.jsonl".into());
    config.checks.tirith.program = Some("/opt/tirith".into());
    config.checks.canary.tokens = vec!["SECRET_CANARY_xyz".to_owned()];
    let text = serde_json::to_string_pretty(&config).unwrap();
    assert_eq!(HookFile::parse(&text), Ok(HookFile::Decide(Box::new(config))));
}

#[test]
fn problems_say_where_and_what() {
    let cases = [
        ("", "1:0: EOF while parsing a value"),
        (
            "{\n  \"cheks\": {}\n}",
            "2:9: unknown field `cheks`, expected one of `runtime`, `checks`, `limits`, `findings`, `trace_id`, `service`",
        ),
        (r#"{"checks": {"unicode": 1}}"#, "1:24: invalid type: integer `1`, expected a boolean"),
        (r#"{"checks": {}, "checks": {}}"#, "1:23: duplicate field `checks`"),
        (
            r#"{"runtime": "vim"}"#,
            "1:17: unknown variant `vim`, expected one of `native`, `claude`, `opencode`, `codex`, `replay`",
        ),
        (r#"{"findings": "f.jsonl"}"#, "`findings` must be an absolute path, not `f.jsonl`"),
        (r#"{"service": "s.sock"}"#, "`service` must be an absolute path, not `s.sock`"),
        (
            r#"{"service": "/s", "checks": {}}"#,
            "`checks` has no effect beside `service`: the service decides by its own configuration",
        ),
        (
            r#"{"service": "/s", "runtime": "codex"}"#,
            "`runtime` has no effect beside `service`: the service decides by its own configuration",
        ),
        (
            r#"{"checks": {"tirith": {"enabled": true}}}"#,
            "`checks.tirith.enabled` needs `checks.tirith.program`, an absolute path",
        ),
        (
            r#"{"checks": {"tirith": {"program": "tirith"}}}"#,
            "`checks.tirith.program` must be an absolute path, not `tirith`",
        ),
        (
            r#"{"checks": {"tool_allowlist": {"tools": ["B*"]}}}"#,
            "`checks.tool_allowlist.tools`: `B*` matches no tool; a star may only end `mcp__server__*`",
        ),
        (
            r#"{"checks": {"canary": {"tokens": ["long enough", " short "]}}}"#,
            "`checks.canary.tokens`: token 2: a canary token needs at least 8 ASCII letters and digits, and this one has 5",
        ),
        (r#"{"trace_id": "x"}"#, "`trace_id` must be a UUID in lower case"),
        (
            r#"{"checks": {"ssrf": {"allowed_hosts": ["a:b"]}}}"#,
            "`checks.ssrf.allowed_hosts`: `a:b`: what follows the host is not a port; write `host:443`",
        ),
        (
            r#"{"checks": {"ssrf": {"private_hosts": [{"host": "git.example.com", "network": "10"}]}}}"#,
            "`checks.ssrf.private_hosts`: `10`: not a network such as `10.1.0.0/16`",
        ),
        (r#"{"limits": {"max_input_bytes": 0}}"#, "`limits.max_input_bytes` must be greater than 0"),
    ];
    for (text, expected) in cases {
        assert_eq!(problem(text), expected, "{text}");
    }
}

#[test]
fn a_list_of_tools_is_exact() {
    let list = |tools: &[&str]| AllowlistCheck {
        enabled: true,
        tools: tools.iter().map(|tool| (*tool).to_owned()).collect(),
    };
    let tools = list(&["Bash", "mcp__github__*"]);
    for (name, allowed) in [
        ("Bash", true),
        ("bash", false),
        ("Bash ", false),
        ("mcp__github__get_issue", true),
        ("mcp__github__", false),
        ("mcp__githubx__get", false),
        ("", false),
    ] {
        assert_eq!(tools.allows(name), allowed, "{name}");
    }
    assert!(!list(&[]).allows("Bash"));
}
