//! For every rule a directory that breaks it, and the same directory put right.

use super::support::{HARNESS, PIN};

/// Files by path; a path that ends in `/` is a directory.
pub(crate) type Files = Vec<(&'static str, String)>;

/// One rule, broken and kept.
pub(crate) struct Case {
    pub(crate) code: &'static str,
    pub(crate) broken: Files,
    pub(crate) kept: Files,
}

/// A case in which one file differs.
fn file(code: &'static str, path: &'static str, broken: &str, kept: &str) -> Case {
    Case { code, broken: vec![(path, broken.to_owned())], kept: vec![(path, kept.to_owned())] }
}

/// A case in which the lines of the harness differ.
fn lines(code: &'static str, broken: &str, kept: &str) -> Case {
    let harness = |lines: &str| format!("{HARNESS}{lines}\n");
    file(code, "harness/code.yaml", &harness(broken), &harness(kept))
}

impl Case {
    /// The same file on both sides.
    fn beside(mut self, path: &'static str, text: &str) -> Self {
        for files in [&mut self.broken, &mut self.kept] {
            files.push((path, text.to_owned()));
        }
        self
    }
}

pub(crate) fn cases() -> Vec<Case> {
    [
        yaml_cases(),
        reference_cases(),
        remote_cases(),
        file_cases(),
        chain_cases(),
        meaning_cases(),
        document_cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn yaml_cases() -> Vec<Case> {
    let deep = |levels: usize| format!("description: {}{}", "[".repeat(levels), "]".repeat(levels));
    let bomb = "env:\n  runner: {A: &a x}\nskills: &s [a, b, c, d, e, f, g, h, i, j]\nplugins: &p [*s, *s, *s, *s, *s, *s, *s, *s, *s, *s]\nproviders: &q [*p, *p, *p, *p, *p, *p, *p, *p, *p, *p]\nallowed_remote_resources: &r [*q, *q, *q, *q, *q, *q, *q, *q, *q, *q]\nhost_files: [*r, *r, *r]\n";
    vec![
        lines("yaml-syntax", "skills: [", "skills: []"),
        lines("yaml-too-deep", &deep(40), "description: flat"),
        lines("yaml-too-many-nodes", bomb, "env: {runner: {A: x}}"),
        lines("duplicate-key", "model: a\nmodel: b", "model: a"),
        lines("yaml-unknown-anchor", "model: *a", "description: &a a\nmodel: *a"),
        lines("yaml-recursive-alias", "env: &a {runner: *a}", "env: &a {runner: {}}"),
        lines("yaml-tag", "timeout_minutes: !!int 5", "timeout_minutes: 5"),
        lines("yaml-merge", "env: {<<: a}", "env: {<<: {runner: {}}}"),
        lines("yaml-key", "env: {[a]: b}", "env: {runner: {}}"),
        lines("yaml-multiple-documents", "---\nrole: b", "# --- role: b"),
        lines("unknown-key", "modle: a", "model: a"),
        lines("wrong-type", "skills: {}", "skills: []"),
        lines("invalid-value", "effort: most", "effort: max"),
        lines("yaml-too-large", &format!("# {}", "x".repeat(1 << 20)), "# x"),
    ]
}

fn reference_cases() -> Vec<Case> {
    let org = "allowed_remote_resources: [https://x.test/]\n";
    let policy = |url: &str| format!("allowed_remote_resources: [https://x.test/]\npolicy: '{url}'");
    let good = policy(&format!("https://x.test/p{PIN}"));
    let remote = |code, url: &str| lines(code, &policy(url), &good).beside("config.yaml", org);
    vec![
        lines("executable-url", &format!("pre_script: https://x.test/a{PIN}"), "pre_script: a.sh")
            .beside("a.sh", ""),
        remote("unpinned-url", "https://x.test/p"),
        remote("invalid-pin", "https://x.test/p#sha256=AB"),
        remote("not-https", "http://x.test/p"),
        remote("invalid-url", &format!("https://x.test/../p{PIN}")),
        lines("invalid-path", "policy: \"a\\tb\"", "policy: ab").beside("ab", ""),
        lines("skill-override", "skills: [{s: {../x: y}}]", "skills: [{s: {x: y}}]")
            .beside("s/SKILL.md", "")
            .beside("y", ""),
        lines("invalid-file-name", "plugins: [p.q]", "plugins: [p-q]")
            .beside("p.q/plugin.json", "")
            .beside("p-q/plugin.json", ""),
    ]
}

fn remote_cases() -> Vec<Case> {
    let own = "allowed_remote_resources: [https://github.com/]";
    let org = "allowed_remote_resources: [https://github.com/]\n";
    let skill = |kind: &str| format!("{own}\nskills: ['https://github.com/o/r/{kind}/v1/s{PIN}']");
    vec![
        lines("not-a-forge-directory", &skill("blob"), &skill("tree")).beside("config.yaml", org),
        lines("invalid-allow-entry", "allowed_remote_resources: [https://github.com]", own)
            .beside("config.yaml", org),
        lines("allow-entry-not-covered", "allowed_remote_resources: [https://gitlab.com/]", own)
            .beside("config.yaml", org),
        lines(
            "url-not-allowed",
            &format!("{own}\npolicy: https://x.test/p{PIN}"),
            &format!("{own}\npolicy: https://github.com/p{PIN}"),
        )
        .beside("config.yaml", org),
        lines(
            "flow-rule",
            "flow: {sources: [{paths: [a], web: [b], trust: none}]}",
            "flow: {sources: [{paths: [a], trust: none}, {web: [b], trust: none}]}",
        ),
        lines(
            "runtime-fetch-without-list",
            "allow_runtime_fetch: true",
            &format!("{own}\nallow_runtime_fetch: true"),
        )
        .beside("config.yaml", org),
        lines(
            "runtime-fetches-without-fetch",
            "max_runtime_fetches: 5",
            &format!("{own}\nmax_runtime_fetches: 5\nallow_runtime_fetch: true"),
        )
        .beside("config.yaml", org),
        lines("base-remote", &format!("base: https://github.com/b{PIN}"), "base: b.base")
            .beside("config.yaml", org)
            .beside("harness/b.base", ""),
    ]
}

fn file_cases() -> Vec<Case> {
    vec![
        lines("duplicate-skill", "skills: [a/s, b/s]", "skills: [a/s, b/t]")
            .beside("a/s/SKILL.md", "")
            .beside("b/s/SKILL.md", "")
            .beside("b/t/SKILL.md", ""),
        lines("outside-fullsend-directory", "policy: ../p", "policy: p").beside("p", ""),
        lines("missing-file", "policy: q", "policy: p").beside("p", ""),
        lines("wrong-file-kind", "policy: d", "policy: d/p").beside("d/p", ""),
        lines("incomplete-directory", "skills: [d]", "skills: [s]").beside("d/", "").beside("s/SKILL.md", ""),
    ]
}

fn chain_cases() -> Vec<Case> {
    let links = |count: usize| {
        let mut files: Files = vec![("harness/code.yaml", format!("{HARNESS}base: 1.base\n"))];
        let names = [
            "harness/1.base",
            "harness/2.base",
            "harness/3.base",
            "harness/4.base",
            "harness/5.base",
            "harness/6.base",
        ];
        for (index, name) in names.into_iter().take(count).enumerate() {
            let base = if index + 1 < count { format!("base: {}.base\n", index + 2) } else { String::new() };
            files.push((name, base));
        }
        files
    };
    vec![
        lines("base-missing", "base: a.base", "base: b.base").beside("harness/b.base", ""),
        lines("base-outside", "base: ../../b.base", "base: ../b.base").beside("b.base", ""),
        lines("base-cycle", "base: code.yaml", "base: b.base").beside("harness/b.base", ""),
        Case { code: "base-depth", broken: links(6), kept: links(5) },
    ]
}

fn meaning_cases() -> Vec<Case> {
    vec![
        file("missing-key", "harness/code.yaml", "agent: agents/code.md\n", HARNESS),
        lines("invalid-trigger", "trigger: 1 + 1", "trigger: 1 + 1 == 2"),
        lines("invalid-variable", "env: {runner: {A: '${'}}", "env: {runner: {A: '${B}'}}"),
        lines("reserved-variable", "env: {sandbox: {PATH: a}}", "env: {runner: {PATH: a}}"),
        lines("deprecated-key", "runner_env: {A: b}", "env: {runner: {A: b}}"),
        file("no-effect", "config.yaml", "repos: {}\n", "version: 1\n")
            .beside("config.base.yaml", "")
            .beside("harness/code.yaml", HARNESS),
        lines(
            "unsupported",
            "security: {host_scanners: {llm_guard: {enabled: true}}}",
            "security: {host_scanners: {llm_guard: {enabled: false}}}",
        ),
        lines("provider-undefined", "providers: [a]", "providers: [b]")
            .beside("providers/b.yaml", "name: b\ntype: t\n"),
    ]
}

fn document_cases() -> Vec<Case> {
    let harness = format!("{HARNESS}\n");
    let document = |code, path, broken: &str, kept: &str| {
        file(code, path, broken, kept).beside("harness/code.yaml", &harness)
    };
    vec![
        document(
            "invalid-agent-entry",
            "config.yaml",
            "agents: [{name: a}]\n",
            "agents: [{name: a, source: harness/code.yaml}]\n",
        ),
        document(
            "legacy-agent-entry",
            "config.yaml",
            "agents: [{role: a}]\n",
            "agents: [harness/code.yaml]\n",
        ),
        document(
            "invalid-forge",
            "config.yaml",
            "forges: [{host: github.com, type: github}]\n",
            "forges: [{host: git.test, type: github}]\n",
        ),
        document(
            "agent-key-refused",
            "agents/code.md",
            "---\nhooks: {}\n---\nDo it.\n",
            "---\ntools: Read\n---\nDo it.\n",
        ),
        document("agent-front-matter", "agents/code.md", "Do it.\n", "---\nname: a\n---\nDo it.\n"),
        document("agent-empty", "agents/code.md", "---\nname: a\n---\n", "---\nname: a\n---\nDo it.\n"),
        document(
            "credential-literal",
            "providers/p.yaml",
            "name: p\ntype: t\ncredentials: {A: b}\n",
            "name: p\ntype: t\ncredentials: {A: '${B}'}\n",
        ),
    ]
}
