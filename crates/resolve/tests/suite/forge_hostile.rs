//! Forges that lie, and files that change.

use std::sync::atomic::Ordering;
use std::time::Duration;

use fullsend_fetch::get::RetryRules;
use fullsend_testkit::{Reply, TestFile, TestForge};

use super::support::{BOTH, Dialect, World};

fn plain() -> Vec<TestFile> {
    vec![TestFile::new("s/a", "alpha"), TestFile::new("s/b/c", "gamma")]
}

/// The error that both forges give for a listing that was tampered with, and that no file was asked for.
fn refused(tamper: impl Fn(&TestForge)) -> &'static str {
    let codes = BOTH.map(|dialect| {
        let (world, commit) = World::holding(&plain());
        tamper(&world.forge);
        let code = world.code(&dialect.tree(&commit, "s"));
        assert_eq!(world.asked().len(), 1, "{dialect:?}: no file is asked for after a bad listing");
        code
    });
    assert_eq!(codes[0], codes[1]);
    codes[0]
}

#[test]
fn listings_with_hostile_names_are_refused() {
    for path in [
        "../evil",
        "b/../../evil",
        "..",
        ".",
        "b/./c",
        "/etc/passwd",
        "x//y",
        "x/",
        "a\nb:0",
        "a\rb",
        "a\0b",
        "\u{1b}[2J",
        "\u{7f}",
        ".git/config",
        "b/.Git/hooks/pre-commit",
        "bad\u{fffd}name",
    ] {
        for mode in ["100644", "100755", "040000", "120000"] {
            assert_eq!(refused(|forge| forge.list_also(path, mode)), "forge-bad-listing", "{path:?} {mode}");
        }
    }
}

#[test]
fn listings_that_contradict_themselves_are_refused() {
    assert_eq!(refused(|forge| forge.list_also("a", "100644")), "forge-bad-listing");
    assert_eq!(refused(|forge| forge.list_also("a/x", "100644")), "forge-bad-listing");
    assert_eq!(refused(|forge| forge.list_also("b", "100644")), "forge-bad-listing");
    assert_eq!(refused(|forge| forge.list_also("d", "040000")), "forge-bad-listing", "files are missing");
    assert_eq!(refused(|forge| forge.list_also("d", "100600")), "forge-entry-special");
    assert_eq!(refused(|forge| forge.list_also("d", "060000")), "forge-entry-special");
}

#[test]
fn entries_outside_the_directory_are_refused() {
    for path in ["t/x", "sx/y", "s", "", "/s/x", "s/../t/x"] {
        let (world, commit) = World::holding(&plain());
        world.forge.list_astray(path, "100644");
        assert_eq!(world.code(&Dialect::GitLab.tree(&commit, "s")), "forge-bad-listing", "{path}");
    }
}

#[test]
fn links_submodules_and_specials_are_refused_by_name() {
    for (file, code) in [
        (TestFile::symlink("s/b/link", "../../../etc/passwd"), "forge-entry-symlink"),
        (TestFile::symlink("s/b/link", "c"), "forge-entry-symlink"),
        (TestFile::submodule("s/b/link"), "forge-entry-submodule"),
        (TestFile::special("s/b/link", "020000"), "forge-entry-special"),
    ] {
        let (world, commit) = World::holding(&[plain(), vec![file]].concat());
        for dialect in BOTH {
            let error = world.download(&dialect.tree(&commit, "s")).unwrap_err();
            assert_eq!(error.code(), code);
            assert!(error.to_string().contains("`b/link`"), "{error}");
        }
    }
    // What is outside the directory does not matter.
    let (world, commit) = World::holding(&[plain(), vec![TestFile::symlink("t/link", "x")]].concat());
    for dialect in BOTH {
        assert_eq!(world.download(&dialect.tree(&commit, "s")).unwrap().files.len(), 2);
    }
}

#[test]
fn a_file_that_changes_after_the_listing_is_caught() {
    for now in ["alphA", "alpha\r\n", "", "alpha and more"] {
        for dialect in BOTH {
            let (world, commit) = World::holding(&plain());
            world.forge.change_file(b"alpha", now);
            let error = world.download(&dialect.tree(&commit, "s")).unwrap_err();
            assert_eq!(error.code(), "forge-file-changed", "{now:?}");
            assert!(error.to_string().contains("`a`"), "{error}");
        }
    }
}

#[test]
fn a_file_that_is_gone_or_broken_takes_the_directory_with_it() {
    for dialect in BOTH {
        for (reply, code) in [
            (Reply::status(404), "forge-not-found"),
            (Reply::status(500), "fetch-status"),
            (Reply::Cut(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nal".to_vec()), "fetch-interrupted"),
            (Reply::redirect(302, "https://evil.example/a"), "forge-moved"),
        ] {
            let (world, commit) = World::holding(&plain());
            world.forge.interject(2, 1, reply);
            assert_eq!(world.code(&dialect.tree(&commit, "s")), code, "{dialect:?}");
        }
        let (world, commit) = World::holding(&[plain(), vec![TestFile::new("s/lfs", LFS)]].concat());
        assert_eq!(world.code(&dialect.tree(&commit, "s")), "forge-large-file");
    }
}

const LFS: &str = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";

#[test]
fn answers_that_are_none_are_refused() {
    for body in [
        "",
        "<html>sign in</html>",
        "null",
        "{}",
        "[1]",
        "{\"tree\": 1}",
        "[[[[",
        "{\"tree\": [{\"path\": \"a\"}]}",
    ] {
        for dialect in BOTH {
            let (world, commit) = World::holding(&plain());
            world.forge.interject(0, 1, Reply::ok(body));
            assert_eq!(world.code(&dialect.tree(&commit, "s")), "forge-answer", "{body}");
        }
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for body in ["main", "", "<html>", "{\"id\": \"main\"}", "{\"id\": \"../../x\"}", &deep] {
        for dialect in BOTH {
            let (world, _) = World::holding(&plain());
            world.forge.interject(0, 1, Reply::ok(body));
            assert_eq!(world.code(&dialect.tree("main", "s")), "forge-answer");
        }
    }
}

#[test]
fn a_repository_that_moved_says_so() {
    for dialect in BOTH {
        let (world, _) = World::holding(&plain());
        world.forge.interject(0, 1, Reply::redirect(301, "https://api.github.com/repositories/1/x"));
        assert_eq!(world.code(&dialect.tree("main", "s")), "forge-moved");
        assert_eq!(world.asked().len(), 1);
    }
}

#[test]
fn a_name_that_is_not_found_at_first_is_looked_up_again() {
    for dialect in BOTH {
        let (mut world, commit) = World::holding(&plain());
        world.rules.retries =
            RetryRules { max_retries: 2, base_delay: Duration::from_millis(1), ..RetryRules::default() };
        world.resolver.failures.store(2, Ordering::SeqCst);
        assert_eq!(world.download(&dialect.tree(&commit, "s")).unwrap().files.len(), 2);
        world.resolver.failures.store(3, Ordering::SeqCst);
        assert_eq!(world.code(&dialect.tree(&commit, "s")), "fetch-dns");
    }
}
