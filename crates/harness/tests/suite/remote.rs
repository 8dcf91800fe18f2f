//! Allow-lists: nothing remote is permitted unless both the harness and its organisation list it.

use super::support::{CLEAN, Folder, HARNESS, PIN};

/// The problems of a harness whose policy is at `url`, with these lists.
fn lint(org: Option<&str>, own: &str, url: &str) -> Vec<String> {
    let folder = Folder::of(&format!("policy: '{url}{PIN}'\n{own}"));
    if let Some(org) = org {
        folder.write("config.yaml", org);
    }
    folder.lint()
}

const URL: &str = "https://x.test/org/p.yaml";
const OWN: &str = "allowed_remote_resources: [https://x.test/org/]\n";

#[test]
fn both_lists_must_permit() {
    assert_eq!(lint(Some(OWN), OWN, URL), CLEAN);
    let org = "allowed_remote_resources: [https://x.test/]\n";
    assert_eq!(lint(Some(org), OWN, URL), CLEAN, "the organisation's may be wider");
    let not_covered = "allow-entry-not-covered harness/code.yaml:4:28 `https://x.test/org/` is not covered by the organisation's allow-list";
    for org in [
        None,
        Some(""),
        Some("version: 1\n"),
        Some("allowed_remote_resources:\n"),
        Some("allowed_remote_resources: ~\n"),
        Some("allowed_remote_resources: []\n"),
        Some("repos: {}\n"),
    ] {
        assert_eq!(
            lint(org, OWN, URL),
            [format!(
                "{not_covered} | add it to `config.yaml`: `allowed_remote_resources: [https://x.test/org/]`"
            )],
            "{org:?}: there is no built-in list"
        );
    }
    for org in [
        "https://y.test/",
        "https://x.test/org/deeper/",
        "https://x.test/Org/",
        "https://x.test/or/",
        "https://x.test:8443/org/",
        "https://x.test.evil.test/org/",
    ] {
        assert_eq!(
            lint(Some(&format!("allowed_remote_resources: ['{org}']\n")), OWN, URL),
            [format!(
                "{not_covered} | add the prefix to `allowed_remote_resources` in `config.yaml`, or remove it here"
            )],
            "{org}"
        );
    }
}

#[test]
fn an_entry_permits_what_lies_below_it_and_nothing_that_merely_looks_alike() {
    let org = "allowed_remote_resources: [https://x.test/, https://y.test/, https://x.test.evil.test/]\n";
    for url in ["https://x.test/org/p", "https://x.test/org/a/b/p", "https://X.TEST/org/p"] {
        assert_eq!(lint(Some(org), OWN, url), CLEAN, "{url}");
    }
    for url in [
        "https://x.test/org-evil/p",
        "https://x.test/Org/p",
        "https://y.test/org/p",
        "https://x.test/p",
        "https://x.test.evil.test/org/p",
        "https://x.test:8443/org/p",
    ] {
        let parent = url.rsplit_once('/').unwrap().0;
        assert_eq!(
            lint(Some(org), OWN, url),
            [format!(
                "url-not-allowed harness/code.yaml:3:9 `policy`: `{url}` is not below any entry of `allowed_remote_resources` | add `{parent}/` to `allowed_remote_resources`"
            )]
        );
    }
    for url in [
        "https://x.test/org/../evil/p",
        "https://x.test/org/%2e%2e/evil",
        "https://x.test/org/%2561",
        "https://x.test/org\\..\\p",
        "https://u@x.test/org/p",
    ] {
        let found = lint(Some(org), OWN, url);
        assert_eq!(found.len(), 1, "{url}: {found:?}");
        assert!(
            found[0].starts_with("invalid-url harness/code.yaml:3:9 `policy` is not a usable reference: "),
            "{found:?}"
        );
    }
}

#[test]
fn every_kind_of_remote_resource_is_governed() {
    let url = |name: &str| format!("'https://github.com/o/r/tree/v1/{name}{PIN}'");
    let folder = Folder::with(&[
        ("config.yaml", "allowed_remote_resources: [https://github.com/]\n"),
        (
            "harness/code.yaml",
            &format!(
                "agent: {}\nrole: coder\npolicy: {}\nskills:\n- {}\n- {}: {{f.md: {}}}\nplugins: [{}]\nproviders: [{}]\nopenshell:\n  profiles: [{}]\nforge:\n  github:\n    policy: {}\n",
                url("agent"),
                url("policy"),
                url("s1"),
                url("s2"),
                url("override"),
                url("plugin"),
                url("provider"),
                url("profile"),
                url("overlay")
            ),
        ),
    ]);
    let found: Vec<String> = folder.lint_briefly();
    let fields: Vec<&str> = found.iter().map(|line| line.split('`').nth(1).unwrap()).collect();
    assert_eq!(
        fields,
        [
            "agent",
            "policy",
            "skills",
            "skills",
            "skills override",
            "plugins",
            "providers",
            "openshell.profiles",
            "policy"
        ]
    );
    assert!(found.iter().all(|line| line.starts_with("url-not-allowed ")), "{found:#?}");
}

#[test]
fn the_organisation_limits_a_harness_that_only_fetches_at_run_time() {
    let folder = Folder::of("allow_runtime_fetch: true\nallowed_remote_resources: [https://x.test/]\n");
    folder.write("config.yaml", "allowed_remote_resources: [https://y.test/]\n");
    assert_eq!(folder.codes(), ["allow-entry-not-covered"]);
}

#[test]
fn run_time_fetching_needs_a_list_and_a_switch() {
    let org = ("config.yaml", "allowed_remote_resources: [https://x.test/]\n");
    let lint = |lines: &str| Folder::with(&[org, ("harness/code.yaml", &format!("{HARNESS}{lines}"))]).lint();
    let without_list = "runtime-fetch-without-list harness/code.yaml:3:22 `allow_runtime_fetch` is on, but `allowed_remote_resources` is empty | add `allowed_remote_resources`, or remove `allow_runtime_fetch`";
    assert_eq!(lint("allow_runtime_fetch: true\n"), [without_list]);
    assert_eq!(lint("allow_runtime_fetch: true\nallowed_remote_resources: []\n"), [without_list]);
    assert_eq!(lint("allow_runtime_fetch: false\n"), CLEAN);
    let without_switch = "runtime-fetches-without-fetch harness/code.yaml:3:22 `max_runtime_fetches` is set, but `allow_runtime_fetch` is not on | add `allow_runtime_fetch: true`, or remove `max_runtime_fetches`";
    assert_eq!(lint("max_runtime_fetches: 3\n"), [without_switch]);
    assert_eq!(lint("max_runtime_fetches: 3\nallow_runtime_fetch: no\n"), [without_switch]);
    assert_eq!(
        lint(
            "max_runtime_fetches: 3\nallow_runtime_fetch: yes\nallowed_remote_resources: [https://x.test/]\n"
        ),
        CLEAN
    );
}

#[test]
fn a_base_cannot_lend_its_list() {
    let folder = Folder::with(&[
        ("config.yaml", "allowed_remote_resources: [https://x.test/]\n"),
        (
            "bases/base.yaml",
            &format!(
                "{HARNESS}policy: https://x.test/p.yaml{PIN}\nallowed_remote_resources: [https://x.test/]\n"
            ),
        ),
        ("harness/a.yaml", "base: ../bases/base.yaml\n"),
        ("harness/b.yaml", "base: ../bases/base.yaml\n"),
        ("harness/c.yaml", "base: ../bases/base.yaml\nallowed_remote_resources: [https://x.test/]\n"),
    ]);
    let report = folder.report(None);
    let line = "url-not-allowed bases/base.yaml:3:9 `policy`: `https://x.test/p.yaml` is not below any entry of `allowed_remote_resources` | add `https://x.test/` to `allowed_remote_resources` of this harness; a base's list is not inherited";
    assert_eq!(folder.described(&report), [line, line], "both children that lack a list are named");
    let children: Vec<String> = report
        .problems
        .iter()
        .flat_map(|problem| &problem.related)
        .map(|related| {
            let (path, _) = report.sources.resolve(related.at).unwrap();
            folder.relative(&format!("{} {}", path.display(), related.message))
        })
        .collect();
    assert_eq!(
        children,
        ["harness/a.yaml inherited by this harness", "harness/b.yaml inherited by this harness"]
    );
}

#[test]
fn allow_list_entries_have_one_meaning() {
    for (entry, problem, help) in [
        (
            "https://x.test/org",
            "the entry does not end in `/`, so it would also allow names that merely start alike",
            "write `https://x.test/org/`",
        ),
        (
            "https://x.test",
            "the entry does not end in `/`, so it would also allow names that merely start alike",
            "write `https://x.test/`",
        ),
        (
            "https://x.test/?a/",
            "the entry has a query",
            "write host and path only; an entry allows every query below it",
        ),
        (
            "https://x.test/#a/",
            "the entry has a fragment",
            "write host and path only; an entry allows every query below it",
        ),
        (
            "https://x.test/a//b/",
            "the entry has an empty path segment",
            "write single slashes between segments",
        ),
    ] {
        for (file, place, text) in [
            ("config.yaml", "1:28", format!("allowed_remote_resources: ['{entry}']\n")),
            ("harness/code.yaml", "3:28", format!("{HARNESS}allowed_remote_resources: ['{entry}']\n")),
        ] {
            let folder = Folder::of("");
            folder.write(file, &text);
            assert_eq!(
                folder.lint(),
                [format!(
                    "invalid-allow-entry {file}:{place} `allowed_remote_resources[0]` is not a usable allow-list entry: {problem} | {help}"
                )]
            );
        }
    }
    for entry in [
        "http://x.test/",
        "ftp://x.test/",
        "x.test/",
        "https://u@x.test/",
        "https://x.test/../a/",
        "https://x.test/%2e%2e/evil/",
        "https://x.test/%252f/",
        "https:///",
        "*",
    ] {
        let folder = Folder::of(&format!("allowed_remote_resources: ['{entry}']\n"));
        assert_eq!(folder.codes(), ["invalid-allow-entry"], "{entry}: {:?}", folder.lint());
    }
}
