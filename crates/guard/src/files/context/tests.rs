use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode};
use tempfile::TempDir;

use super::{ContextLimits, Dependencies, Entry, context};
use crate::files::Root;

fn tree(files: &[&str]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for name in files {
        write(root.path(), name, name.as_bytes());
    }
    root
}

fn write(root: &Path, name: &str, content: &[u8]) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// One line per entry: the path, and what it is or what is wrong with it.
fn walk(root: &Path, limits: ContextLimits) -> Vec<String> {
    context(Root::open(root).unwrap(), limits)
        .map(|entry| match entry {
            Entry::File(file) => format!("{} {:?}", file.path.display(), file.kind),
            Entry::Skipped { path, why } => format!("{} skipped {why:?}", path.display()),
            Entry::Problem { path, finding } => format!("{} ! {}", path.display(), finding.rule.id),
        })
        .collect()
}

fn default(root: &Path) -> Vec<String> {
    walk(root, ContextLimits::default())
}

#[test]
fn what_an_agent_reads_is_found_in_order_whatever_directory_it_lies_in() {
    let root = tree(&[
        "README.md",
        "src/main.rs",
        "CLAUDE.md",
        "security/AGENTS.md",
        "a/b/c/d/e/f/g/GEMINI.md",
        ".claude/settings.json",
        "skills/x/SKILL.md",
        "skills/x/scripts/run.sh",
        "skills/x/vendor/more.md",
    ]);
    assert_eq!(
        default(root.path()),
        [
            ".claude/settings.json RuntimeConfig",
            "CLAUDE.md Instructions",
            "a/b/c/d/e/f/g/GEMINI.md Instructions",
            "security/AGENTS.md Instructions",
            "skills/x/SKILL.md Skill",
            "skills/x/scripts/run.sh SkillFile",
            "skills/x/vendor/more.md SkillFile",
        ]
    );
}

#[test]
fn the_root_itself_may_be_the_directory_of_a_runtime_or_a_skill() {
    let root = tree(&[".claude/agents/a.md", ".claude/x.md", "skill/SKILL.md", "skill/more.txt"]);
    assert_eq!(default(&root.path().join(".claude")), ["agents/a.md Agent", "x.md RuntimeFile"]);
    assert_eq!(default(&root.path().join("skill")), ["SKILL.md Skill", "more.txt SkillFile"]);
}

#[test]
fn dependencies_are_named_when_they_are_skipped() {
    let root = tree(&["node_modules/x/CLAUDE.md", "vendor/AGENTS.md", ".git/AGENTS.md", "target/a"]);
    let skipped =
        ["node_modules skipped Dependencies", "target skipped Dependencies", "vendor skipped Dependencies"];
    assert_eq!(default(root.path()), [&[".git skipped Dependencies"], &skipped[..]].concat());
    let all = ContextLimits { dependencies: Dependencies::Walk, ..ContextLimits::default() };
    assert_eq!(
        walk(root.path(), all),
        [
            ".git skipped Dependencies",
            "node_modules/x/CLAUDE.md Instructions",
            "vendor/AGENTS.md Instructions"
        ]
    );
}

#[test]
fn links_are_followed_inside_the_root_only() {
    let outside = tree(&["evil.md", "dir/x.md"]);
    let root =
        tree(&["docs/rules.md", "docs/deep/agents/a.md", "prompts/go.md", "node_modules/p/s/SKILL.md"]);
    let link = |target: &Path, name: &str| symlink(target, root.path().join(name)).unwrap();
    fs::create_dir(root.path().join(".claude")).unwrap();
    link(Path::new("docs/rules.md"), "AGENTS.md");
    link(Path::new("docs/rules.md"), "CLAUDE.md");
    link(&outside.path().join("evil.md"), "GEMINI.md");
    link(Path::new("gone"), "SOUL.md");
    link(Path::new("SOUL2.md"), "SOUL2.md");
    link(Path::new("../prompts"), ".claude/commands");
    link(&outside.path().join("dir"), ".claude/agents");
    link(Path::new(".."), ".claude/up");
    link(&outside.path().join("dir"), "elsewhere");
    link(Path::new("node_modules/p"), "plain");
    assert_eq!(
        default(root.path()),
        [
            ".claude/agents ! link_outside",
            ".claude/commands/go.md Command",
            // The root is now also the inside of a runtime's directory, in which every file counts.
            ".claude/up/.claude skipped Seen",
            ".claude/up/AGENTS.md Instructions",
            ".claude/up/CLAUDE.md skipped Seen",
            ".claude/up/GEMINI.md ! link_outside",
            ".claude/up/SOUL.md ! unreadable",
            ".claude/up/SOUL2.md ! unreadable",
            ".claude/up/docs/deep/agents/a.md Agent",
            ".claude/up/docs/rules.md RuntimeFile",
            ".claude/up/elsewhere ! link_outside",
            ".claude/up/node_modules/p/s/SKILL.md Skill",
            ".claude/up/plain skipped Seen",
            ".claude/up/prompts/go.md RuntimeFile",
            "AGENTS.md skipped Seen",
            "CLAUDE.md skipped Seen",
            "GEMINI.md ! link_outside",
            "SOUL.md ! unreadable",
            "docs/deep/agents/a.md skipped Seen",
            "elsewhere skipped LinkOutside",
            "node_modules skipped Dependencies",
            "plain/s skipped Seen",
        ]
    );
}

#[test]
fn links_in_a_circle_end() {
    let root = tree(&[".claude/a.md"]);
    for number in 0..20 {
        symlink(".", root.path().join(format!(".claude/l{number}"))).unwrap();
    }
    let entries = default(root.path());
    assert_eq!(entries.len(), 21, "{entries:?}");
    assert_eq!(entries[0], ".claude/a.md RuntimeFile");
}

#[test]
fn what_cannot_be_read_as_text_is_a_problem_and_never_a_gap() {
    let root = tree(&["ok/AGENTS.md"]);
    write(root.path(), "AGENTS.md", b"caf\xe9");
    write(root.path(), "CLAUDE.md", &vec![b'a'; 2000]);
    write(root.path(), "GEMINI.md", b"\xff\xfea\0");
    write(root.path(), "s/SKILL.md", b"---");
    write(root.path(), "s/logo.png", b"\x89PNG\0\0");
    write(root.path(), "s/latin.txt", b"caf\xe9");
    rustix::fs::mknodat(CWD, root.path().join("SOUL.md"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    rustix::fs::mknodat(CWD, root.path().join("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    let limits = ContextLimits { file_size: 1999, ..ContextLimits::default() };
    assert_eq!(
        walk(root.path(), limits),
        [
            "AGENTS.md ! not_text",
            "CLAUDE.md ! file_too_large",
            "GEMINI.md ! not_text",
            "SOUL.md ! not_a_file",
            "ok/AGENTS.md Instructions",
            "s/SKILL.md Skill",
            "s/latin.txt ! not_text",
            "s/logo.png skipped Binary",
        ]
    );
}

#[test]
fn directories_below_the_limit_are_a_problem() {
    let root = tree(&["a/b/AGENTS.md", "a/b/c/AGENTS.md"]);
    let limits = ContextLimits { depth: 2, ..ContextLimits::default() };
    assert_eq!(walk(root.path(), limits), ["a/b/AGENTS.md Instructions", "a/b/c ! too_deep"]);
}
