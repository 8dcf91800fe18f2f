//! `fullsend run`: what reaches the agent and the scripts of a harness, and what never does.

use std::fs;

use fullsend_testkit::test_name;
use serde_json::json;

use crate::suite::run_place::{ATTACK, Bench, bash, files_with};

#[test]
fn a_pre_script_prepares_skips_or_ends_the_run() {
    let Some(bench) = Bench::new(test_name!()) else { return };
    bench.harness("pre_script: scripts/pre.sh\n");
    let output = bench.place.write("github-output", "");
    let output = output.display().to_string();
    let workflow = [("GITHUB_ACTIONS", "true"), ("GITHUB_OUTPUT", output.as_str())];
    let says = "echo number=7 >> $FULLSEND_PRESCRIPT_OUTPUT";
    for (body, code, state, agent, told) in [
        (format!("{says}; exit 0"), 0, "success", Some("done"), "skipped=false\nnumber=7\n"),
        (
            format!("{says}; echo reason=old >> $FULLSEND_PRESCRIPT_OUTPUT; exit 78"),
            0,
            "skipped",
            None,
            "skipped=true\nreason=old\nnumber=7\n",
        ),
        (format!("{says}; exit 3"), 1, "failure", None, ""),
        ("echo 'no pair' >> $FULLSEND_PRESCRIPT_OUTPUT".to_owned(), 1, "failure", None, ""),
        ("rm $FULLSEND_PRESCRIPT_OUTPUT".to_owned(), 1, "failure", None, ""),
    ] {
        fs::write(&output, "").unwrap();
        bench.script("pre.sh", &body);
        let told_run = bench.run_with(&[], &workflow);
        assert_eq!(told_run.end(), (Some(code), state), "{body}: {}", told_run.ran.stderr);
        assert_eq!(told_run.step("agent"), agent, "{body}");
        assert_eq!(told_run.step("provision").is_some(), agent.is_some(), "{body}: there was a sandbox");
        let written = fs::read_to_string(&output).unwrap();
        for line in told.lines() {
            assert!(written.lines().any(|found| found == line), "{body}: {line}: {written}");
        }
        assert_eq!(written.is_empty(), told.is_empty(), "{body}: {written}");
    }
}

#[test]
fn a_preflight_check_that_fails_ends_the_run_before_anything_else() {
    let Some(bench) = Bench::new(test_name!()) else { return };
    bench.script("pre.sh", "touch \"$HOME/pre-ran\"");
    bench.script("check.sh", "true");
    let harness = |line: &str| {
        bench.harness(&format!(
            "pre_script: scripts/pre.sh\nvalidation_loop:\n  script: scripts/check.sh\n  preflight_check: '{line}'\n"
        ));
    };
    harness("echo it is broken; exit 4");
    let told = bench.run(&[]);
    assert_eq!(told.end(), (Some(1), "failure"));
    assert!(told.ran.stderr.contains("`preflight_check` failed with exit code 4"), "{}", told.ran.stderr);
    assert_eq!(told.printed("pre_script"), "it is broken\n");
    assert_eq!((told.step("provision"), told.step("upload")), (None, None));
    assert!(!bench.path("home/pre-ran").exists());
    harness("test -d \"$HOME\"");
    assert_eq!(bench.run(&[]).end(), (Some(0), "success"));
    assert!(bench.path("home/pre-ran").exists());
}

#[test]
fn variables_reach_those_they_are_for_and_identity_tokens_nobody() {
    let Some(bench) = Bench::new(test_name!()) else { return };
    // Without the check of commands, which would not let anybody look at that much.
    bench.harness(
        "security: {sandbox_hooks: {command_pretool: {enabled: false}}}\npre_script: scripts/env.sh\npost_script: scripts/env.sh\n\
         env:\n  runner: {FOR_SCRIPTS: 's-${WHO}'}\n  sandbox: {FOR_AGENT: 'a-${WHO}'}\n\
         validation_loop: {script: scripts/env.sh}\n\
         host_files:\n  - {src: files/x.env, dest: /sandbox/workspace/.env.d/x.env, expand: true}\n",
    );
    bench.script("env.sh", "env");
    bench.place.write(
        ".fullsend/files/x.env",
        "FROM_FILE=\"f-${PLAIN} x\"\nNO_URL=u${ACTIONS_ID_TOKEN_REQUEST_URL}\n",
    );
    bench.does(
        "env; cat /sandbox/workspace/.env /sandbox/workspace/.env.d/*; cat /proc/*/environ | tr '\\0' '\\n'",
    );
    let env = [
        ("WHO", "me'\"$(id)"),
        ("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "tok-5f1c"),
        ("ACTIONS_ID_TOKEN_REQUEST_URL", "https://tok-5f1c.example/"),
        ("PLAIN", "plain"),
        ("HOST_ONLY", "of-the-host"),
        ("FULLSEND_API_KEY", "key-of-the-model"),
    ];
    let told = bench.run_with(&[], &env);
    assert_eq!(told.end(), (Some(0), "success"), "{}", told.ran.stderr);
    for step in ["pre_script", "validate", "post_script"] {
        let printed = told.printed(step);
        assert!(printed.contains("FOR_SCRIPTS=s-me'\"$(id)\n"), "{step}: {printed}");
        assert!(printed.contains("HOST_ONLY=of-the-host\n"), "{step}: {printed}");
        assert!(!printed.contains("FOR_AGENT") && !printed.contains("tok-5f1c"), "{step}: {printed}");
    }
    let seen = told.stdout();
    for line in ["FOR_AGENT=a-me'\"$(id)", "FROM_FILE=f-plain x", "NO_URL=u", "FULLSEND_ROLE=coder"] {
        assert!(seen.lines().any(|found| found == line), "{line}: {seen}");
    }
    for absent in ["tok-5f1c", "of-the-host", "key-of-the-model", "FOR_SCRIPTS"] {
        assert!(!seen.contains(absent), "{absent}: {seen}");
    }
    for value in ["${ACTIONS_ID_TOKEN_REQUEST_TOKEN}", "${ACTIONS_ID_TOKEN_REQUEST_URL}"] {
        for part in ["runner", "sandbox"] {
            bench.harness(&format!("env: {{{part}: {{X: '{value}'}}}}\n"));
            let told = bench.run_with(&[], &env);
            assert_eq!((told.ran.code, told.step("agent")), (Some(2), None), "{part} {value}");
        }
    }
    for place in ["out", "state"] {
        assert_eq!(files_with(&bench.path(place), "tok-5f1c"), Vec::<String>::new());
    }
}

#[test]
fn files_of_the_host_arrive_under_any_name_and_are_scanned() {
    let Some(bench) = Bench::new(test_name!()) else { return };
    let odd = "it's $(touch pwned) \"q\" ;&";
    bench.place.write(".fullsend/files/t.txt", "Hello ${WHO}\n");
    bench.place.write(&format!(".fullsend/files/{odd}"), "odd ${WHO}\n");
    let dest = odd.replace('\'', "''");
    bench.harness(&format!(
        "host_files:\n  - {{src: files/t.txt, dest: /sandbox/workspace/in/t.txt, expand: true}}\n  \
         - {{src: 'files/{dest}', dest: '/sandbox/workspace/in/{dest}'}}\n  \
         - {{src: files/t.txt, dest: /etc/deep/plain.txt}}\n  \
         - {{src: files/gone, dest: /sandbox/workspace/in/gone, optional: true}}\n"
    ));
    bench.does("cd ../in && ls && cat * && cat /etc/deep/plain.txt && find / -xdev -name pwned");
    let told = bench.run_with(&[], &[("WHO", "world")]);
    assert_eq!(told.end(), (Some(0), "success"), "{}", told.ran.stderr);
    assert_eq!(told.stdout(), format!("{odd}\nt.txt\nodd ${{WHO}}\nHello world\nHello ${{WHO}}\n"));
    bench.place.write(".fullsend/files/t.txt", ATTACK);
    let told = bench.run_with(&[], &[("WHO", "world")]);
    assert_eq!((told.end(), told.step("upload")), ((Some(3), "blocked"), None));
    for dest in ["/sandbox/workspace/../../etc/x", "/sandbox/hooks/x", "/sandbox/workspace/.env", "relative"]
    {
        bench.harness(&format!("host_files: [{{src: agents/a.md, dest: {dest}}}]\n"));
        let told = bench.run(&[]);
        assert_eq!((told.ran.code, told.step("agent")), (Some(2), None), "{dest}: {}", told.ran.stderr);
    }
}

#[test]
fn input_is_delivered_unless_it_gives_orders() {
    let Some(bench) = Bench::new(test_name!()) else { return };
    bench.harness("agent_input: input\n");
    bench.place.write(".fullsend/input/deep/issue.txt", "It crashes.\n");
    bench.does("cat ../agent-input/deep/issue.txt");
    let told = bench.run(&[]);
    assert_eq!((told.end(), told.stdout().as_str()), ((Some(0), "success"), "It crashes.\n"));
    bench.place.write(".fullsend/input/deep/issue.txt", ATTACK);
    let told = bench.run(&[]);
    assert_eq!((told.end(), told.step("scan_input")), ((Some(3), "blocked"), Some("blocked")));
    assert_eq!((told.step("upload"), told.step("provision"), told.step("agent")), (None, None, None));
    assert!(
        told.found().iter().any(|(rule, action)| rule.contains("injection") && action == "block"),
        "{told:?}"
    );
    // In open mode the same is a warning, on record.
    bench.harness("agent_input: input\nsecurity: {fail_mode: open}\n");
    let told = bench.run(&[]);
    assert_eq!((told.end(), told.stdout().as_str()), ((Some(0), "success"), ATTACK));
    assert!(told.found().iter().all(|(_, action)| action == "warn"), "{:?}", told.found());
    assert!(!told.found().is_empty());
}

#[test]
fn a_read_only_repository_can_be_read_and_not_changed() {
    let Some(bench) = Bench::with_git(test_name!()) else { return };
    // Also when no hook stops it earlier.
    bench.harness("readonly_repo: true\nsecurity: {sandbox_hooks: {command_pretool: {enabled: false}}}\n");
    let tries = "for file in README.md new; do echo x >> $file && echo wrote $file; done; \
                 git rm -q README.md && echo removed; cat README.md; git status --short; git branch work && git log --format=%s; \
                 echo y > $FULLSEND_OUTPUT_DIR/agent-result.json && echo output";
    bench.says(&json!([
        {"calls": [bash(tries)]},
        {"calls": [{"tool": "write_file", "args": {"path": "README.md", "content": "changed"}}]},
        {"say": "done"},
    ]));
    let told = bench.run(&[]);
    assert_eq!(told.end(), (Some(0), "success"), "{}", told.ran.stderr);
    let results = told.results();
    assert_eq!(results[0]["stdout"], "A repository.\nx\noutput\n", "{}", results[0]);
    assert_eq!(told.read("iteration-1/repo/README.md"), "A repository.\n", "{}", results[1]);
    assert_eq!(told.read("iteration-1/output/agent-result.json"), "y\n");
}

#[test]
fn instructions_are_those_of_the_repository_or_else_those_of_the_organisation() {
    let Some(bench) = Bench::with_git(test_name!()) else { return };
    bench.place.write(".fullsend/AGENTS.md", "Of the organisation.\n");
    bench.does("cat AGENTS.md; git status --short");
    let told = bench.run(&[]);
    assert_eq!((told.end(), told.stdout().as_str()), ((Some(0), "success"), "Of the organisation.\n"));
    assert!(!told.read("iteration-1/changes.patch").contains("Of the organisation."), "it is no change");
    bench.place.write("repo/AGENTS.md", "Of the repository.\n");
    bench.commit();
    assert_eq!(bench.run(&[]).stdout(), "Of the repository.\n");
    for name in ["AGENTS.md", "CLAUDE.md", "docs/AGENTS.md"] {
        bench.place.write(&format!("repo/{name}"), ATTACK);
        let told = bench.run(&[]);
        assert_eq!((told.end(), told.step("provision")), ((Some(3), "blocked"), None), "{name}");
        fs::remove_file(bench.path("repo").join(name)).unwrap();
    }
    bench.place.write(".fullsend/AGENTS.md", ATTACK);
    assert_eq!(
        bench.run(&[]).end(),
        (Some(3), "blocked"),
        "instructions of the organisation are scanned too"
    );
}

#[test]
fn a_repository_does_not_configure_the_runtime() {
    let Some(bench) = Bench::with_git(test_name!()) else { return };
    let settings =
        "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"true\"}]}]}}\n";
    bench.place.write("repo/.claude/settings.json", settings);
    bench.place.write("repo/.mcp.json", "{\"mcpServers\": {}}\n");
    bench.place.write("repo/.codex/config.toml", "x = 1\n");
    bench.commit();
    bench.does(
        "ls -A; git status --short; mkdir .claude; echo evil > .claude/settings.json; echo more >> README.md",
    );
    let told = bench.run(&[]);
    assert_eq!(told.end(), (Some(0), "success"), "{}", told.ran.stderr);
    assert_eq!(told.stdout(), ".git\nREADME.md\n", "settings are gone, and git does not miss them");
    assert_eq!(told.read("iteration-1/repo/.claude/settings.json"), settings);
    assert_eq!(told.read("iteration-1/repo/.mcp.json"), "{\"mcpServers\": {}}\n");
    let patch = told.read("iteration-1/changes.patch");
    assert!(patch.contains("+more") && !patch.contains("evil") && !patch.contains(".mcp.json"), "{patch}");
    let warnings = told.report()["warnings"].to_string();
    for name in [".claude", ".mcp.json", ".codex"] {
        assert!(warnings.contains(&format!("`{name}`")), "{name}: {warnings}");
    }
    assert!(warnings.contains("what the agent wrote to `.claude` is not delivered"), "{warnings}");
    bench.harness("allow_repository_config: [.mcp.json]\n");
    bench.does("ls -A");
    assert_eq!(bench.run(&[]).stdout(), ".git\n.mcp.json\nREADME.md\n");
}
