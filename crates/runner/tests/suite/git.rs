//! Real git in extracted repositories that would start programs if they could.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use fullsend_runner::extract::{self, Base, Compared, GitConfig, Limits, PatchError, changes, harden_git};
use fullsend_runtimes::cancellation;
use fullsend_testkit::declare_skip;

/// A repository of the operator, the agent's copy of it, and a file that exists if something ran.
struct Place {
    base: tempfile::TempDir,
}

fn git(directory: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .args(["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

impl Place {
    /// None where there is no git.
    fn new() -> Option<Self> {
        let place = Self { base: tempfile::tempdir().unwrap() };
        let host = place.host();
        fs::create_dir(&host).unwrap();
        if git(&host, &["init", "--quiet"]).is_none() {
            declare_skip("git in extracted repositories", "git is not installed");
            return None;
        }
        fs::write(host.join("file.txt"), "one\n").unwrap();
        fs::write(host.join("gone.txt"), "gone\n").unwrap();
        git(&host, &["add", "."]).unwrap();
        git(&host, &["commit", "--quiet", "-m", "first"]).unwrap();
        git(&host, &["remote", "add", "origin", "https://me:hunter2@example.com/r.git"]).unwrap();
        let copied = Command::new("cp").arg("-a").arg(&host).arg(place.agent()).status().unwrap();
        assert!(copied.success());
        Some(place)
    }

    fn host(&self) -> PathBuf {
        self.base.path().join("host")
    }

    fn agent(&self) -> PathBuf {
        self.base.path().join("agent")
    }

    fn copy(&self) -> PathBuf {
        self.base.path().join("copy")
    }

    fn trap(&self) -> PathBuf {
        self.base.path().join("ran")
    }

    fn plant(&self, path: &str, text: &str) {
        let path = self.agent().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    }

    fn program(&self) -> String {
        let program = self.base.path().join("evil.sh");
        fs::write(&program, format!("#!/bin/sh\ntouch {}\ncat\n", self.trap().display())).unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        program.display().to_string()
    }
}

async fn extract(place: &Place) -> extract::Extracted {
    let (_canceller, cancel) = cancellation();
    let config = GitConfig::of_host(&place.host(), None, &cancel).await;
    extract::repo(&place.agent(), &place.copy(), Limits::REPO, &config, &|| false).unwrap()
}

#[tokio::test]
async fn nothing_that_the_agent_planted_runs() {
    let Some(place) = Place::new() else { return };
    let program = place.program();
    let hook = format!("#!/bin/sh\nexec {program}\n");
    for name in ["pre-commit", "post-checkout", "post-index-change", "reference-transaction", "post-commit"] {
        place.plant(&format!(".git/hooks/{name}"), &hook);
        place.plant(&format!("own-hooks/{name}"), &hook);
        place.plant(&format!(".git/modules/sub/hooks/{name}"), &hook);
    }
    let settings = format!(
        "[core]\n\tfsmonitor = {program}\n\thooksPath = own-hooks\n\tpager = {program}\n\teditor = {program}\n\tsshCommand = {program}\n\
         [filter \"f\"]\n\tclean = {program}\n\tsmudge = {program}\n\tprocess = {program}\n[diff \"f\"]\n\ttextconv = {program}\n\tcommand = {program}\n\
         [alias]\n\tst = !{program}\n[include]\n\tpath = ../evil.config\n[diff]\n\texternal = {program}\n[gpg]\n\tprogram = {program}\n[commit]\n\tgpgSign = true\n"
    );
    let mut config = fs::read_to_string(place.agent().join(".git/config")).unwrap();
    config.push_str(&settings);
    place.plant(".git/config", &config);
    place.plant(".git/config.worktree", &settings);
    place.plant(".git/info/attributes", "* filter=f diff=f\n");
    place.plant(".gitattributes", "* filter=f diff=f\n");
    place.plant(".git/objects/info/alternates", "/etc\n");
    place.plant(".git/._index", "apple");
    place.plant("vendor/dep/.git/config", &settings);
    place.plant("vendor/dep/.git/hooks/pre-commit", &hook);
    place.plant("vendor/other/.GIT/config", &settings);
    place.plant("sub/.git", "gitdir: ../.git/modules/sub\n");
    place.plant("file.txt", "two\n");
    // The trap works: git in the agent's own tree falls into it.
    git(&place.agent(), &["status"]);
    assert!(place.trap().exists());
    fs::remove_file(place.trap()).unwrap();
    place.plant(".git/commondir", "/etc\n");

    let extracted = extract(&place).await;
    let copy = place.copy();
    for arguments in [
        &["status"][..],
        &["diff"],
        &["add", "-A"],
        &["commit", "-q", "-m", "x"],
        &["log", "-p"],
        &["checkout", "-q", "-b", "other"],
        &["-C", "vendor/dep", "status"],
    ] {
        assert!(git(&copy, arguments).is_some(), "{arguments:?}");
    }
    assert!(!place.trap().exists());
    let left = [
        ".git/hooks",
        ".git/modules",
        ".git/info/attributes",
        ".git/objects/info/alternates",
        ".git/config.worktree",
        ".git/commondir",
        ".git/._index",
        "vendor/dep/.git",
        "vendor/other/.GIT",
        "sub/.git",
    ];
    for path in left {
        assert!(!copy.join(path).exists(), "{path}");
    }
    let config = fs::read_to_string(copy.join(".git/config")).unwrap();
    assert!(config.contains("https://example.com/r.git") && !config.contains("hunter2"), "{config}");
    assert!(
        extracted.warnings.iter().any(|warning| warning.contains("vendor/dep/.git")),
        "{:?}",
        extracted.warnings
    );
}

#[tokio::test]
async fn a_git_directory_that_is_somewhere_else_is_left_out() {
    for shape in ["file", "link"] {
        let Some(place) = Place::new() else { return };
        fs::rename(place.agent().join(".git"), place.agent().join("moved")).unwrap();
        if shape == "file" {
            place.plant(".git", "gitdir: moved\n");
        } else {
            symlink("moved", place.agent().join(".git")).unwrap();
        }
        let extracted = extract(&place).await;
        assert!(!place.copy().join(".git").exists());
        assert!(
            extracted.warnings.iter().any(|warning| warning.starts_with("`.git`")),
            "{:?}",
            extracted.warnings
        );
    }
}

#[tokio::test]
async fn a_directory_dressed_up_as_a_repository_is_not_taken_for_one() {
    let Some(place) = Place::new() else { return };
    let program = place.program();
    place.plant("bare/HEAD", "ref: refs/heads/main\n");
    place.plant("bare/objects/x", "");
    place.plant("bare/refs/x", "");
    place.plant(
        "bare/config",
        &format!(
            "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = {program}\n"
        ),
    );
    extract(&place).await;
    let mut env = BTreeMap::from([
        ("GIT_CONFIG_COUNT".to_owned(), "1".to_owned()),
        ("GIT_CONFIG_KEY_0".to_owned(), "user.name".to_owned()),
        ("GIT_CONFIG_VALUE_0".to_owned(), "Operator".to_owned()),
    ]);
    let inside = place.copy().join("bare");
    let _fell_into_it =
        Command::new("git").args(["add", "HEAD"]).current_dir(&inside).envs(&env).output().unwrap();
    assert!(place.trap().exists());
    fs::remove_file(place.trap()).unwrap();
    harden_git(&mut env);
    let hardened =
        Command::new("git").args(["add", "HEAD"]).current_dir(&inside).envs(&env).output().unwrap();
    assert!(!hardened.status.success() && !place.trap().exists());
    let name = Command::new("git")
        .args(["config", "user.name"])
        .current_dir(place.copy())
        .envs(&env)
        .output()
        .unwrap();
    assert_eq!(name.stdout, b"Operator\n");
}

#[tokio::test]
async fn the_patch_leads_from_the_hosts_commit_to_what_the_agent_left() {
    let Some(place) = Place::new() else { return };
    let (_canceller, cancel) = cancellation();
    let program = place.program();
    place.plant(".gitattributes", "* filter=f diff=f\n");
    place.plant("file.txt", "one\ntwo\n");
    place.plant("new/binary", "\0\u{1}");
    fs::remove_file(place.agent().join("gone.txt")).unwrap();
    place.plant("moved.txt", "committed\n");
    git(&place.agent(), &["add", "moved.txt"]).unwrap();
    git(&place.agent(), &["commit", "-q", "-m", "agent"]).unwrap();
    place.plant(
        ".git/config",
        &format!("[filter \"f\"]\n\tclean = {program}\n[diff \"f\"]\n\ttextconv = {program}\n"),
    );
    extract(&place).await;
    let patch = place.base.path().join("changes.patch");
    let base = Base::of_host(&place.host(), None, &cancel).await;
    // What the operator does meanwhile is no change of the agent's.
    fs::write(place.host().join("meanwhile.txt"), "of the operator\n").unwrap();
    git(&place.host(), &["add", "."]).unwrap();
    git(&place.host(), &["commit", "--quiet", "-m", "second"]).unwrap();
    let compared = Compared {
        host: &place.host(),
        base: &base,
        copy: &place.copy(),
        left_out_links: &[],
        scratch: place.base.path(),
    };
    changes(compared, &patch, None, &cancel).await.unwrap();
    assert!(!place.trap().exists());
    let text = fs::read_to_string(&patch).unwrap();
    for part in ["+two", "deleted file mode 100644", "+committed", "GIT binary patch", "b/new/binary"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    git(&place.host(), &["apply", "--check", &patch.display().to_string()]).unwrap();
    // The operator's repository is as it was.
    assert_eq!(git(&place.host(), &["status", "--porcelain"]).unwrap(), "");
}

#[tokio::test]
async fn every_kind_of_object_names_gets_a_patch() {
    for format in ["sha1", "sha256"] {
        let base = tempfile::tempdir().unwrap();
        let (host, copy) = (base.path().join("host"), base.path().join("copy"));
        for directory in [&host, &copy] {
            fs::create_dir(directory).unwrap();
        }
        let Some(_made) = git(&host, &["init", "--quiet", &format!("--object-format={format}")]) else {
            return declare_skip("patches of every kind", "this git cannot make such repositories");
        };
        fs::write(host.join("file.txt"), "one\n").unwrap();
        git(&host, &["add", "."]).unwrap();
        git(&host, &["commit", "--quiet", "-m", "first"]).unwrap();
        fs::write(copy.join("file.txt"), "two\n").unwrap();
        let (_canceller, cancel) = cancellation();
        let (begun, patch) = (Base::of_host(&host, None, &cancel).await, base.path().join("changes.patch"));
        let compared =
            Compared { host: &host, base: &begun, copy: &copy, left_out_links: &[], scratch: base.path() };
        changes(compared, &patch, None, &cancel).await.unwrap();
        let text = fs::read_to_string(&patch).unwrap();
        assert!(text.contains("-one\n+two\n"), "{format}: {text}");
    }
}

#[tokio::test]
async fn without_a_commit_the_files_themselves_are_compared() {
    let base = tempfile::tempdir().unwrap();
    let (host, copy) = (base.path().join("host"), base.path().join("copy"));
    for (directory, text) in [(&host, "one\n"), (&copy, "two\n")] {
        fs::create_dir(directory).unwrap();
        fs::write(directory.join("same"), "same\n").unwrap();
        fs::write(directory.join("changed"), text).unwrap();
    }
    fs::write(copy.join("new"), "new\n").unwrap();
    fs::write(host.join("gone"), "gone\n").unwrap();
    let (_canceller, cancel) = cancellation();
    let patch = base.path().join("p");
    let at_first = Base::of_host(&host, None, &cancel).await;
    let compared =
        Compared { host: &host, base: &at_first, copy: &copy, left_out_links: &[], scratch: base.path() };
    changes(compared, &patch, None, &cancel).await.unwrap();
    let text = fs::read_to_string(&patch).unwrap();
    for part in ["--- a/changed\n+++ b/changed\n", "-one\n+two\n", "+++ b/new\n", "--- a/gone\n"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("same"), "{text}");
    assert!(!host.join(".git").exists(), "the target is left as it is");
}

/// Links that no copy has: dangling, absolute, leading outside, and with names that mean more to git than to others.
fn links_to_nowhere() -> Vec<(&'static OsStr, &'static str)> {
    let odd = OsStr::from_bytes(b"odd/\xff\n*");
    let plain = ["dangling", "deep/absolute", "deep/outside", ":(glob)**", "*.txt", " [x]"].map(OsStr::new);
    let texts = ["nothing", "/etc/passwd", "../../outside", "nothing", "nothing", "nothing", "nothing"];
    plain.into_iter().chain([odd]).zip(texts).collect()
}

fn make_links(directory: &Path) {
    for inner in ["deep", "odd"] {
        fs::create_dir(directory.join(inner)).unwrap();
    }
    for (path, text) in links_to_nowhere() {
        symlink(text, directory.join(path)).unwrap();
    }
}

/// The patch for what `agent` is, when links were left out of its copy.
async fn patched(place: &Place, base: &Base) -> (extract::Extracted, String) {
    let (_canceller, cancel) = cancellation();
    let extracted = extract(place).await;
    let patch = place.base.path().join("changes.patch");
    let (host, copy, left_out_links) = (&place.host(), &place.copy(), &extracted.left_out_links);
    let compared = Compared { host, base, copy, left_out_links, scratch: place.base.path() };
    changes(compared, &patch, None, &cancel).await.unwrap();
    (extracted, String::from_utf8_lossy(&fs::read(&patch).unwrap()).into_owned())
}

#[tokio::test]
async fn links_that_are_left_out_of_the_copy_are_not_deleted_by_the_patch() {
    for committed in [true, false] {
        let Some(place) = Place::new() else { return };
        let (_canceller, cancel) = cancellation();
        for directory in [place.host(), place.agent()] {
            make_links(&directory);
            fs::write(directory.join("deep/plain.txt"), "plain\n").unwrap();
            fs::create_dir_all(directory.join("inner/part")).unwrap();
            fs::write(directory.join("inner/part/file.txt"), "one\n").unwrap();
        }
        if committed {
            git(&place.host(), &["add", "."]).unwrap();
            git(&place.host(), &["commit", "--quiet", "-m", "links"]).unwrap();
        } else {
            fs::remove_dir_all(place.host().join(".git")).unwrap();
        }
        let base = Base::of_host(&place.host(), None, &cancel).await;
        let (extracted, patch) = patched(&place, &base).await;
        assert_eq!(extracted.left_out_links.len(), links_to_nowhere().len());
        assert_eq!(patch, "", "{committed}");

        // What the agent does is in the patch, but for links that are left out.
        fs::remove_dir_all(place.copy()).unwrap();
        let agent = place.agent();
        fs::write(agent.join("file.txt"), "one\ntwo\n").unwrap();
        for gone in ["deep/outside", "gone.txt", "deep/absolute", "deep/plain.txt", "*.txt"] {
            fs::remove_file(agent.join(gone)).unwrap();
        }
        fs::remove_dir_all(agent.join("inner")).unwrap();
        symlink("/etc/shadow", agent.join("deep/absolute")).unwrap();
        symlink("/etc/shadow", agent.join("new-link")).unwrap();
        symlink("/etc/shadow", agent.join("deep/plain.txt")).unwrap();
        symlink("/etc/shadow", agent.join("inner")).unwrap();
        fs::write(agent.join("*.txt"), "a file now\n").unwrap();
        let (extracted, patch) = patched(&place, &base).await;
        let mut changed: Vec<&str> =
            patch.lines().filter_map(|line| line.strip_prefix("diff --git a/")).collect();
        changed.dedup();
        // A link that became a file is removed and made.
        let expected =
            ["*.txt b/*.txt", "deep/outside b/deep/outside", "file.txt b/file.txt", "gone.txt b/gone.txt"];
        assert_eq!(changed, expected, "{committed}: {patch}");
        for told in ["`deep/absolute`", "`new-link`", "`deep/plain.txt`", "`inner`"] {
            assert!(extracted.warnings.iter().any(|warning| warning.starts_with(told)), "{told}");
        }
        if committed {
            let patch = place.base.path().join("changes.patch").display().to_string();
            git(&place.host(), &["apply", "--check", &patch]).unwrap();
        }
    }
}

#[tokio::test]
async fn without_git_it_is_said_that_git_is_missing() {
    let base = tempfile::tempdir().unwrap();
    let (host, copy) = (base.path().join("host"), base.path().join("copy"));
    for directory in [&host, &copy] {
        fs::create_dir(directory).unwrap();
    }
    let (_canceller, cancel) = cancellation();
    let nowhere = Some("/nonexistent");
    let begun = Base::of_host(&host, nowhere, &cancel).await;
    let compared =
        Compared { host: &host, base: &begun, copy: &copy, left_out_links: &[], scratch: base.path() };
    let error = changes(compared, &base.path().join("p"), nowhere, &cancel).await.unwrap_err();
    assert!(matches!(error, PatchError::NoGit), "{error:?}");
    let said = error.to_string();
    assert!(said.contains("git was not found") && said.contains("PATH"), "{said}");
    assert!(!said.contains("#!/bin/sh"), "{said}");
}
