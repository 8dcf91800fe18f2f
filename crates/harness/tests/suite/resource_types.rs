//! What may be remote: declarative resources by pinned https URLs, executable ones never, directories from forges only.

use super::support::{CLEAN, Folder, PIN};

/// Every key that names something executable or fed to a script, around `VALUE`.
const EXECUTABLE: &[&str] = &[
    "pre_script: VALUE",
    "post_script: VALUE",
    "agent_input: VALUE",
    "validation_loop: {script: VALUE}",
    "validation_loop: {script: a.sh, schema: VALUE}",
    "host_files: [{src: VALUE, dest: /x}]",
    "api_servers: [{name: a, script: VALUE}]",
    "forge: {github: {pre_script: VALUE}}",
    "forge: {gitlab: {post_script: VALUE}}",
    "forge: {jira: {validation_loop: {script: VALUE}}}",
    "forge: {github: {validation_loop: {script: a.sh, schema: VALUE}}}",
    "forge: {github: {host_files: [{src: VALUE, dest: /x}]}}",
];

/// Every key that names something declarative, around `VALUE`.
const DECLARATIVE: &[&str] = &[
    "agent: VALUE",
    "base: VALUE",
    "policy: VALUE",
    "skills: [VALUE]",
    "skills: [{s: {x.md: VALUE}}]",
    "skills: [{VALUE: {}}]",
    "plugins: [VALUE]",
    "openshell: {profiles: [VALUE]}",
    "providers: [VALUE]",
    "forge: {github: {policy: VALUE}}",
    "forge: {github: {skills: [VALUE]}}",
    "forge: {github: {skills: [{s: {x.md: VALUE}}]}}",
    "forge: {github: {providers: [VALUE]}}",
    "forge: {gitlab: {openshell: {profiles: [VALUE]}}}",
];

/// The problems of the value itself, without what other files and keys have.
fn of_value(template: &str, value: &str) -> Vec<String> {
    let folder = Folder::empty();
    folder.write("harness/code.yaml", &template.replace("VALUE", &format!("'{value}'")));
    let aside = ["missing-file", "missing-key", "url-not-allowed", "base-remote", "no-effect", "not-a-forge"];
    let lines = folder.lint().into_iter().filter(|line| !aside.iter().any(|code| line.starts_with(code)));
    lines.collect()
}

#[test]
fn executable_resources_are_never_urls() {
    let pinned = format!("https://x.test/a{PIN}");
    for template in EXECUTABLE {
        for url in [
            &pinned,
            "https://x.test/a",
            "http://x.test/a",
            "ftp://x.test/a",
            "file:///etc/passwd",
            "HTTPS://x.test/a",
            "git+ssh://x.test/a",
        ] {
            let found = of_value(template, url);
            assert_eq!(found.len(), 1, "{template} {url}: {found:?}");
            assert!(
                found[0].starts_with("executable-url ")
                    && found[0].contains(&format!("must be a local path, not a URL (`{url}`)")),
                "{found:?}"
            );
        }
        assert_eq!(of_value(template, "dir/a.b"), CLEAN, "{template}");
    }
}

#[test]
fn declarative_resources_are_paths_or_pinned_https_urls() {
    let cases = [
        (
            "https://github.com/o/r/tree/v1/name",
            "unpinned-url",
            "append `#sha256=` and the tree digest of the directory",
        ),
        (
            "https://github.com/o/r/tree/v1/name#sha256=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
            "invalid-pin",
            "write `#sha256=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`",
        ),
        (
            "https://github.com/o/r/tree/v1/name#sha256=aaaa",
            "invalid-pin",
            "end the URL in `#sha256=` and 64 of the digits 0-9 and a-f",
        ),
        (
            "https://github.com/o/r/tree/v1/name#main",
            "invalid-pin",
            "end the URL in `#sha256=` and 64 of the digits 0-9 and a-f",
        ),
        ("http://x.test/name", "not-https", "use `https://`, with a `#sha256=` pin at the end"),
        (
            "ftp://x.test/name",
            "not-https",
            "use an `https://` URL with a `#sha256=` pin, or a path without `://`",
        ),
        (
            "file:///etc/passwd",
            "not-https",
            "use an `https://` URL with a `#sha256=` pin, or a path without `://`",
        ),
    ];
    for template in DECLARATIVE {
        for (url, code, help) in cases {
            let found = of_value(template, url);
            assert_eq!(found.len(), 1, "{template} {url}: {found:?}");
            assert!(
                found[0].starts_with(&format!("{code} ")) && found[0].ends_with(&format!(" | {help}")),
                "{template}: {found:?}"
            );
        }
        assert_eq!(
            of_value(template, &format!("https://github.com/o/r/tree/v1/name{PIN}")),
            CLEAN,
            "{template}"
        );
        let path = of_value(template, "dir/name.yaml");
        assert!(
            path.iter().all(|line| line.starts_with("invalid-file-name") || line.starts_with("base-missing")),
            "{path:?}"
        );
    }
}

#[test]
fn the_digest_to_pin_is_that_of_the_file_not_of_a_page_about_it() {
    for (url, help) in [
        (
            "https://x.test/p",
            "append `#sha256=` and the digest that `curl -fsS 'https://x.test/p' | sha256sum` prints",
        ),
        (
            "https://github.com/o/r/blob/v1/a/p.yaml",
            "name the file itself and its digest, as `curl -fsS 'https://raw.githubusercontent.com/o/r/v1/a/p.yaml' | sha256sum` prints it: `https://raw.githubusercontent.com/o/r/v1/a/p.yaml#sha256=…`",
        ),
        (
            "https://gitlab.com/g/r/-/blob/v1/p",
            "name the file itself and its digest, as `curl -fsS 'https://gitlab.com/g/r/-/raw/v1/p' | sha256sum` prints it: `https://gitlab.com/g/r/-/raw/v1/p#sha256=…`",
        ),
    ] {
        assert_eq!(
            of_value("policy: VALUE", url),
            [format!(
                "unpinned-url harness/code.yaml:1:9 `policy` is not a usable reference: the URL has no `#sha256=` pin | {help}"
            )]
        );
    }
}

#[test]
fn a_path_with_a_pin_is_refused() {
    let found = of_value("policy: VALUE", &format!("policies/a.yaml{PIN}"));
    assert_eq!(
        found,
        [
            "invalid-path harness/code.yaml:1:9 `policy` is not a usable reference: a local path has no `#sha256=` pin | remove the `#sha256=` part; local files are trusted as they are"
        ]
    );
}

/// What linting says about a skill and a plugin at this URL; both lists permit it.
fn forge_problems(url: &str, config: &str) -> Vec<String> {
    let folder = Folder::of(&format!(
        "allowed_remote_resources: [https://github.com/, https://gitlab.com/, https://git.corp.test/, https://raw.githubusercontent.com/]\n\
         skills: ['{url}{PIN}']\nplugins: ['{url}{PIN}']\nforge: {{github: {{skills: ['{url}2{PIN}']}}}}\n"
    ));
    folder.write(
        "config.yaml",
        &format!(
            "allowed_remote_resources: [https://github.com/, https://gitlab.com/, https://git.corp.test/, https://raw.githubusercontent.com/]\n{config}"
        ),
    );
    folder.lint()
}

#[test]
fn skills_and_plugins_are_directories_on_a_forge() {
    for url in [
        "https://github.com/o/r/tree/main/skills/a",
        "https://github.com/o/r/tree/0123456789012345678901234567890123456789/a",
        "https://gitlab.com/g/sub/r/-/tree/v1/skills/a",
    ] {
        assert_eq!(forge_problems(url, ""), CLEAN, "{url}");
    }
    for (url, problem, help) in [
        (
            "https://github.com/o/r/blob/main/a",
            "the URL names a file (`blob`), a directory is needed",
            "write the URL of the directory around the file, with `/tree/` for `/blob/`",
        ),
        (
            "https://github.com/o/r/tree/main",
            "the URL names a whole repository, a directory in it is needed",
            "append the path of the directory",
        ),
        (
            "https://raw.githubusercontent.com/o/r/main/a",
            "`raw.githubusercontent.com` is not a known forge",
            "use a github.com or gitlab.com URL, or name the host under `forges:` in the org config",
        ),
        (
            "https://git.corp.test/o/r/tree/main/a",
            "`git.corp.test` is not a known forge",
            "use a github.com or gitlab.com URL, or name the host under `forges:` in the org config",
        ),
        (
            "https://gitlab.com/g/r/tree/main/a",
            "the path has no `/-/` between repository and `tree`",
            "write `https://gitlab.com/{group}/{repo}/-/tree/{ref}/{path}`",
        ),
    ] {
        let expected: Vec<String> = [("5:10", "skills"), ("6:11", "plugins")]
            .iter()
            .map(|(_, key)| format!("`{key}` needs a forge directory: {problem} | {help}"))
            .collect();
        let found = forge_problems(url, "");
        let texts: Vec<&str> = found.iter().map(|line| line.splitn(3, ' ').nth(2).unwrap()).collect();
        let overlay = if url.ends_with("tree/main") {
            expected[0].clone()
        } else {
            format!("`skills` needs a forge directory: {problem} | {help}")
        };
        assert_eq!(texts, [expected[0].clone(), expected[1].clone(), overlay], "{url}");
    }
}

#[test]
fn a_self_hosted_forge_is_one_that_the_configuration_names() {
    let url = "https://git.corp.test/o/r/tree/main/a";
    assert_eq!(forge_problems(url, "forges: [{host: git.corp.test, type: github}]\n"), CLEAN);
    assert_eq!(forge_problems(url, "forges: [{host: GIT.corp.test, type: github}]\n"), CLEAN);
    assert_eq!(
        forge_problems(url, "forges: [{host: git.corp.test, type: gitlab}]\n").len(),
        3,
        "another grammar"
    );
    assert_eq!(forge_problems(url, "forges: [{host: corp.test, type: github}]\n").len(), 3, "another host");
}

#[test]
fn file_names_that_become_names_have_limited_letters() {
    let folder = Folder::with(&[
        (
            "harness/code.yaml",
            &format!(
                "agent: agents/my agent.md\nrole: coder\nplugins: [plugins/a.b, 'https://github.com/o/r/tree/v1/a.b{PIN}']\n\
             openshell: {{profiles: [p.json, p.YAML, /abs/profile]}}\n\
             allowed_remote_resources: [https://github.com/]\n"
            ),
        ),
        ("config.yaml", "allowed_remote_resources: [https://github.com/]\n"),
        ("agents/my agent.md", super::support::AGENT),
        ("plugins/a.b/plugin.json", "{}"),
        ("p.json", "id: a"),
        ("p.YAML", "id: b"),
    ]);
    let found: Vec<String> =
        folder.lint().into_iter().filter(|line| !line.starts_with("missing-file")).collect();
    assert_eq!(
        found,
        [
            "invalid-file-name harness/code.yaml:1:8 the agent's name would be `my agent` | rename the file using letters, digits, `_` and `-`",
            "invalid-file-name harness/code.yaml:3:11 the plugin's name would be `a.b` | rename the file using letters, digits, `_` and `-`",
            "invalid-file-name harness/code.yaml:3:24 the plugin's name would be `a.b` | rename the file using letters, digits, `_` and `-`",
            "invalid-file-name harness/code.yaml:4:24 `p.json` is not a YAML file | give the profile the extension `.yaml`",
        ]
    );
}
