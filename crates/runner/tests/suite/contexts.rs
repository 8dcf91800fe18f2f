//! Instructions that are put into the copy of a repository, and settings that are taken out of it.

use std::process::Command;

use fullsend_harness::value::RepositoryConfig;
use fullsend_runner::assemble;
use fullsend_runner::context::{Injected, Instructions, inject, is_withheld, withhold};
use fullsend_runtimes::Stage;

use super::support::Folder;

/// A repository with these files, and its copy.
fn copied(files: &[(&str, &str)]) -> (Folder, Stage) {
    let folder = Folder::new();
    folder.write("checkout/src/lib.rs", "");
    for (path, text) in files {
        folder.write(&format!("checkout/{path}"), text);
    }
    let stage = folder.stage();
    assemble::repository(&folder.path().join("checkout"), &stage, &[], &|| false).unwrap();
    (folder, stage)
}

fn injected(folder: &Folder, stage: &Stage, default: Option<&[u8]>, bridge: bool) -> Injected {
    let repo = folder.path().join("checkout");
    inject(Instructions { repo: &repo, default, bridge, output: Some("out") }, stage).unwrap()
}

#[test]
fn instructions_are_put_where_there_are_none() {
    let git = (".git/info/exclude", "# local");
    for (files, default, bridge, expected) in [
        (&[git][..], Some("org"), true, &["AGENTS.md", "CLAUDE.md"][..]),
        (&[git], Some("org"), false, &["AGENTS.md"]),
        (&[git], None, true, &[]),
        (&[git, ("AGENTS.md", "own")], Some("org"), true, &["CLAUDE.md"]),
        (&[git, ("agents.md", "own")], Some("org"), false, &[]),
        (&[git, ("docs/AGENTS.md", "own")], Some("org"), false, &["AGENTS.md"]),
        (&[git, (".claude.md", "own")], Some("org"), true, &["AGENTS.md"]),
        (&[git, ("AGENTS.md", "own"), ("CLAUDE.md", "own")], Some("org"), true, &[]),
    ] {
        let (folder, stage) = copied(files);
        let done = injected(&folder, &stage, default.map(str::as_bytes), bridge);
        assert_eq!(done.files, expected, "{files:?}");
        assert_eq!(done.warnings, [""; 0]);
        let lines: String = expected.iter().map(|name| format!("/{name}\n")).collect();
        assert_eq!(
            folder.read("stage/workspace/repo/.git/info/exclude"),
            format!("# local\n{lines}.agentready/\n.fullsend-workspace/\n/out/\n")
        );
        assert!(!folder.exists("checkout/CLAUDE.md") || files.len() == 3, "the original is not touched");
    }
}

#[test]
fn the_bridge_leads_to_the_instructions() {
    let (folder, stage) = copied(&[("AGENTS.md", "own")]);
    injected(&folder, &stage, None, true);
    let text = folder.read("stage/workspace/repo/CLAUDE.md");
    assert!(text.contains("[AGENTS.md](AGENTS.md)") && text.ends_with('\n'));
    assert!(!folder.exists("stage/workspace/repo/.git"), "a directory without git gets none");
}

#[test]
fn links_in_the_copy_lead_nowhere() {
    let (folder, stage) = copied(&[(".git/HEAD", "")]);
    let victim = folder.write("victim", "untouched");
    folder.link("stage/workspace/repo/AGENTS.md", victim.to_str().unwrap());
    folder.link("stage/workspace/repo/.git/info", folder.path().to_str().unwrap());
    folder.write("exclude", "untouched");
    let done = injected(&folder, &stage, Some(b"org"), false);
    assert_eq!((done.files.len(), done.warnings.len()), (0, 2), "{:?}", done.warnings);
    assert_eq!((folder.read("victim"), folder.read("exclude")), ("untouched".into(), "untouched".into()));
    let (folder, stage) = copied(&[(".git/info/keep", "")]);
    let victim = folder.write("victim", "untouched");
    folder.link("stage/workspace/repo/.git/info/exclude", victim.to_str().unwrap());
    assert_eq!(injected(&folder, &stage, None, false).warnings.len(), 1);
    assert_eq!(folder.read("victim"), "untouched");
}

#[test]
fn a_worktree_is_said_to_have_no_git() {
    let (folder, stage) = copied(&[(".git", "gitdir: /elsewhere\n")]);
    let done = injected(&folder, &stage, None, false);
    assert!(done.warnings[0].contains("worktree"), "{:?}", done.warnings);
}

const SETTINGS: &[(&str, &str)] = &[
    (".claude/settings.json", r#"{"hooks": {}}"#),
    (".claude/skills/a/SKILL.md", "skill"),
    (".claude/new-thing/x", "x"),
    (".mcp.json", "{}"),
    (".codex/config.toml", ""),
    (".cursor/rules/a.mdc", ""),
    ("opencode.json", "{}"),
    (".git/HEAD", ""),
    ("AGENTS.md", "stays"),
    ("sub/.mcp.json", "stays"),
];

fn paths(withheld: &fullsend_runner::context::Withheld) -> Vec<String> {
    withheld.entries.iter().map(|entry| entry.path.display().to_string()).collect()
}

#[test]
fn settings_of_the_repository_are_taken_out_and_put_back() {
    let (folder, stage) = copied(SETTINGS);
    let withheld = withhold(&stage, &[]).unwrap();
    assert_eq!(paths(&withheld), [".claude", ".codex", ".cursor", ".mcp.json", "opencode.json"]);
    for path in [".claude", ".mcp.json", "opencode.json"] {
        assert!(!stage.repo().join(path).exists(), "{path}");
        assert!(folder.exists(&format!("checkout/{path}")), "the original stays");
    }
    assert!(stage.repo().join("AGENTS.md").exists() && stage.repo().join("sub/.mcp.json").exists());
    // What the agent puts there instead is not delivered in place of the original.
    folder.write("stage/workspace/repo/.mcp.json/deep/evil", "evil");
    folder.link("stage/workspace/repo/.codex", "/etc");
    let replaced = withheld.restore(&stage.repo()).unwrap();
    assert_eq!(replaced.len(), 2);
    for (path, text) in SETTINGS {
        assert_eq!(folder.read(&format!("stage/workspace/repo/{path}")), *text, "{path}");
    }
}

#[test]
fn only_what_the_harness_names_stays() {
    let (_folder, stage) = copied(SETTINGS);
    let allowed = [RepositoryConfig::Mcp, RepositoryConfig::ClaudeSkills];
    let withheld = withhold(&stage, &allowed).unwrap();
    let expected = [".claude/new-thing", ".claude/settings.json", ".codex", ".cursor", "opencode.json"];
    assert_eq!(paths(&withheld), expected);
    assert!(
        stage.repo().join(".claude/skills/a/SKILL.md").exists() && stage.repo().join(".mcp.json").exists()
    );
    for path in &withheld.entries {
        assert!(is_withheld(&path.path, &allowed), "{path:?}");
    }
    for path in [".mcp.json", ".claude/skills/a/SKILL.md", "sub/.mcp.json", "AGENTS.md"] {
        assert!(!is_withheld(path.as_ref(), &allowed), "{path}");
    }
}

#[test]
fn a_link_in_the_place_of_a_settings_directory_is_taken_out_too() {
    let (folder, stage) = copied(&[]);
    folder.link("stage/workspace/repo/.claude", "src");
    let withheld = withhold(&stage, &[RepositoryConfig::ClaudeSkills]).unwrap();
    assert_eq!(paths(&withheld), [".claude"]);
    assert!(withheld.git_request(&stage, true).is_none(), "nothing to hide from without git");
}

/// Runs git in a directory without settings of this machine.
fn git(directory: &std::path::Path, args: &[&str]) -> String {
    let isolated = [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null")];
    let identity = ["-c", "user.name=a", "-c", "user.email=a@test"];
    let output = Command::new("git").current_dir(directory).envs(isolated).args(identity).args(args).output();
    String::from_utf8(output.unwrap().stdout).unwrap()
}

#[test]
fn git_does_not_take_what_is_withheld_for_deleted() {
    let folder = Folder::new();
    folder.write("checkout/.claude/settings.json", "{}");
    folder.write("checkout/.claude/untracked", "");
    folder.write("checkout/.gitignore", "untracked\n");
    let checkout = folder.path().join("checkout");
    git(&checkout, &["init", "-q"]);
    git(&checkout, &["add", "."]);
    git(&checkout, &["commit", "-qm", "first"]);
    let stage = folder.stage();
    assemble::repository(&checkout, &stage, &[], &|| false).unwrap();
    let withheld = withhold(&stage, &[]).unwrap();
    let status = || git(&stage.repo(), &["status", "--porcelain"]);
    assert_eq!(status(), " D .claude/settings.json\n", "without help it would be committed as deleted");
    let run = |hide| {
        let request = withheld.git_request(&stage, hide).unwrap();
        let output = Command::new(&request.command).current_dir(stage.repo()).args(&request.args).output();
        assert!(output.unwrap().status.success());
    };
    run(true);
    assert_eq!(status(), "");
    run(false);
    withheld.restore(&stage.repo()).unwrap();
    assert_eq!(status(), "");
    assert!(stage.repo().join(".claude/untracked").exists());
}
