//! `config.yaml`: kinds, layers, registered agents, forges and private hosts.

use fullsend_harness::Library;
use fullsend_harness::config::{Configuration, Lookup};
use fullsend_harness::schema::ConfigFile;

use super::support::{CLEAN, Folder, HARNESS, PIN};

/// A directory with two harnesses and this configuration.
fn configured(config: &str) -> Folder {
    Folder::with(&[("harness/code.yaml", HARNESS), ("harness/triage.yaml", HARNESS), ("config.yaml", config)])
}

fn lint(config: &str) -> Vec<String> {
    configured(config).lint()
}

fn configuration(folder: &Folder) -> Configuration {
    Library::new(folder.root()).configuration(&mut Vec::new())
}

fn allowed(folder: &Folder) -> Vec<String> {
    configuration(folder).allow.iter().map(|entry| entry.as_str().to_owned()).collect()
}

#[test]
fn a_key_that_only_organisations_have_makes_it_an_organisations() {
    for (config, org) in [
        ("", false),
        ("version: 1\n", false),
        ("agents: []\n", false),
        ("dispatch: {}\n", true),
        ("repos: {}\n", true),
        ("defaults:\n", true),
        ("runtime: native\n", false),
    ] {
        let layers = configuration(&configured(config)).layers;
        assert_eq!(matches!(layers.as_slice(), [ConfigFile::Org(_)]), org, "{config}");
        assert_eq!(matches!(layers.as_slice(), [ConfigFile::Repo(_)]), !org, "{config}");
    }
    assert_eq!(configuration(&Folder::empty()).layers, []);
}

#[test]
fn every_documented_key_of_either_kind_is_read() {
    let org = "version: '1'\nkill_switch: false\ndispatch: {platform: github-actions, mode: oidc-mint, mint_url: 'https://m.test'}\n\
        inference: {provider: vertex, project: p, region: r, wif_provider: w}\n\
        defaults: {roles: [fullsend, triage, coder, review], runtime: claude, max_implementation_retries: 2, auto_merge: no, status_notifications: {a: [1, ~, true]}}\n\
        repos: {r: {roles: [fix, retro, prioritize, e2e], enabled: true}}\nagents: [harness/code.yaml]\nallowed_remote_resources: ['https://x.test/']\n\
        create_issues: {allow_targets: {orgs: [o], repos: [o/r]}}\nforges: [{host: git.test, type: gitlab}]\n\
        private_hosts: [{host: '*.corp.test', port: 8443, cidr: 10.0.0.0/8}]\n";
    assert_eq!(lint(org), CLEAN);
    let repo = "version: 1\nforge: github\ntracker: jira\nkill_switch: on\nruntime: native\nroles: [coder]\nagents: [{source: harness/code.yaml}]\n\
        allowed_remote_resources: []\ncreate_issues: {}\nstatus_notifications: none\nmint_url: u\ninference: {}\nforges: []\nprivate_hosts: []\n";
    assert_eq!(lint(repo), CLEAN);
}

#[test]
fn unknown_keys_and_words_are_refused() {
    for (config, expected) in [
        ("agent: []", "unknown-key config.yaml:1:1 unknown key `agent` | did you mean `agents`?"),
        (
            "repos: {r: {role: [a]}}",
            "unknown-key config.yaml:1:13 unknown key `role` in `repos.r` | did you mean `roles`?",
        ),
        (
            "repos: {}\nruntime: native",
            "unknown-key config.yaml:2:1 unknown key `runtime` | remove it; known keys are version, kill_switch, dispatch, inference, defaults, repos, agents, allowed_remote_resources, create_issues, forges, private_hosts",
        ),
        (
            "version: 2",
            "invalid-value config.yaml:1:10 `version` must be one of `1`, not `2` | did you mean `1`?",
        ),
        (
            "runtime: cluade",
            "invalid-value config.yaml:1:10 `runtime` must be one of `native`, `claude`, `opencode`, `codex`, `replay`, not `cluade` | did you mean `claude`?",
        ),
        (
            "roles: [coder, boss]",
            "invalid-value config.yaml:1:16 `roles[1]` must be one of `fullsend`, `triage`, `coder`, `review`, `fix`, `retro`, `prioritize`, `e2e`, not `boss` | choose one of `fullsend`, `triage`, `coder`, `review`, `fix`, `retro`, `prioritize`, `e2e`",
        ),
        (
            "dispatch: {platform: jenkins}",
            "invalid-value config.yaml:1:22 `dispatch.platform` must be one of `github-actions`, not `jenkins` | choose one of `github-actions`",
        ),
        (
            "dispatch: {mode: pat}",
            "invalid-value config.yaml:1:18 `dispatch.mode` must be one of `oidc-mint`, not `pat` | choose one of `oidc-mint`",
        ),
        (
            "inference: {provider: bedrock}",
            "invalid-value config.yaml:1:23 `inference.provider` must be one of `vertex`, not `bedrock` | choose one of `vertex`",
        ),
        (
            "kill_switch: 'yes'",
            "wrong-type config.yaml:1:14 `kill_switch` must be `true` or `false`, not the text `yes` | remove the quotes: `yes`",
        ),
    ] {
        assert_eq!(lint(config), [expected], "{config}");
    }
    assert_eq!(lint("dispatch: {mode: ''}\n"), CLEAN, "an empty word is an absent one");
}

#[test]
fn the_layer_below_adds_to_a_repositorys_configuration() {
    let folder = configured(
        "allowed_remote_resources: [https://up.test/]\nagents: [{name: b, source: harness/triage.yaml}]\n",
    );
    folder.write("config.base.yaml", "allowed_remote_resources: [https://down.test/]\nagents: [{name: a, source: harness/code.yaml}]\nforges: [{host: git.test, type: github}]\n");
    assert_eq!(folder.lint(), CLEAN);
    assert_eq!(allowed(&folder), ["https://up.test/", "https://down.test/"]);
    let configuration = configuration(&folder);
    let names: Vec<_> = configuration.agents.iter().filter_map(|agent| agent.name()).collect();
    assert_eq!(names, ["a", "b"], "the upper layer is read last and wins");
    assert!(configuration.forges.kind_of("git.test").is_some());
}

#[test]
fn the_lowest_layer_may_stand_alone() {
    let folder = Folder::with(&[
        ("harness/code.yaml", HARNESS),
        ("config.base.yaml", "allowed_remote_resources: [https://down.test/]\n"),
    ]);
    assert_eq!(allowed(&folder), ["https://down.test/"]);
}

#[test]
fn an_explicit_empty_list_refuses_what_the_layer_below_allows() {
    for (upper, expected) in [
        ("allowed_remote_resources: []\n", vec![]),
        ("allowed_remote_resources: ~\n", vec!["https://down.test/"]),
        ("version: 1\n", vec!["https://down.test/"]),
    ] {
        let folder = configured(upper);
        folder.write("config.base.yaml", "allowed_remote_resources: [https://down.test/]\n");
        assert_eq!(allowed(&folder), expected, "{upper}");
    }
    let folder = configured("allowed_remote_resources: [https://up.test/]\n");
    folder.write("config.base.yaml", "allowed_remote_resources: []\n");
    assert_eq!(allowed(&folder), ["https://up.test/"], "a lower layer cannot take away");
}

#[test]
fn an_organisations_configuration_has_no_layers() {
    let folder = configured("repos: {}\n");
    folder.write("config.base.yaml", "allowed_remote_resources: [https://down.test/]\nnonsense: [\n");
    assert_eq!(
        folder.lint(),
        [
            "no-effect config.base.yaml:1:1 `config.base.yaml` is not read: `config.yaml` is an organisation's | move what it says to `config.yaml`, and remove it"
        ]
    );
    assert_eq!(allowed(&folder), [""; 0]);
    let folder = configured("version: 1\n");
    folder.write("config.base.yaml", "repos: {}\n");
    assert_eq!(
        folder.lint(),
        [
            "unknown-key config.base.yaml:1:1 unknown key `repos` | remove it; known keys are version, forge, tracker, kill_switch, runtime, roles, agents, allowed_remote_resources, create_issues, status_notifications, mint_url, inference, forges, private_hosts"
        ],
        "an organisation's keys do not belong into a layer"
    );
}

#[test]
fn a_dangling_link_is_not_an_absent_configuration() {
    let folder = Folder::of("");
    std::os::unix::fs::symlink("nowhere.yaml", folder.path("config.yaml")).unwrap();
    assert_eq!(
        folder.lint(),
        [
            "missing-file config.yaml:1:1 cannot read `config.yaml`: No such file or directory (os error 2) | create the file, or correct the path"
        ]
    );
    assert!(configuration(&folder).damaged);
}

#[test]
fn agent_entries_are_sources_or_mappings() {
    let url = format!("https://x.test/h/far.yaml{PIN}");
    let config = format!(
        "allowed_remote_resources: [https://x.test/]\nagents:\n- harness/code.yaml\n- source: harness/triage.yaml\n- {{name: Other, source: harness/code.yaml, enabled: true}}\n- '{url}'\n- {{name: code, enabled: false}}\n- ~\n"
    );
    let folder = configured(&config);
    assert_eq!(folder.lint(), CLEAN);
    let agents: Vec<(Option<String>, bool)> =
        configuration(&folder).agents.iter().map(|agent| (agent.name(), agent.enabled())).collect();
    let named = |name: &str, enabled| (Some(name.to_owned()), enabled);
    assert_eq!(
        agents,
        [
            named("code", true),
            named("triage", true),
            named("Other", true),
            named("far", true),
            named("code", false)
        ]
    );
}

#[test]
fn derived_names_lose_the_pin_and_one_extension() {
    for (source, name) in [
        ("harness/triage.yaml", "triage"),
        ("triage", "triage"),
        (".yaml", ""),
        ("https://x.test/a/b.tar.gz", "b.tar"),
        ("https://x.test/a/triage.yaml?x=1", "triage"),
    ] {
        let pin = if source.starts_with("https:") { PIN } else { "" };
        let folder = configured(&format!("agents: ['{source}{pin}']\n"));
        assert_eq!(configuration(&folder).agents[0].name().unwrap(), name, "{source}");
    }
    let named = "add a `name` to the entry";
    let rule = "must consist of letters, digits, `_` and `-`, starting with a letter or digit";
    assert_eq!(
        lint("agents: [.yaml, {name: ok, source: harness/code.yaml}, 'harness/a b.yaml']\n"),
        [
            format!("invalid-agent-entry config.yaml:1:10 the agent's name `` {rule}, not `` | {named}"),
            format!(
                "invalid-agent-entry config.yaml:1:56 the agent's name `a b` {rule}, not `a b` | {named}"
            ),
        ]
    );
}

#[test]
fn agent_entries_are_checked() {
    let url = format!("https://x.test/h/far.yaml{PIN}");
    let outside = "is not a relative path inside the fullsend directory | write it relative to the fullsend directory, without `..` or `\\`";
    for (entry, expected) in [
        ("{name: a}", "config.yaml:1:10 an enabled agent needs a `source` | add `source: harness/<name>.yaml`, or `enabled: false`".to_owned()),
        ("{source: harness/code.yaml, enabled: false}", "config.yaml:1:10 a disabled agent needs its `name` | add `name: <name>`: it says which agent is switched off".to_owned()),
        ("harness/gone.yaml", "config.yaml:1:10 `harness/gone.yaml` does not exist | create the file, or correct `source`".to_owned()),
        ("harness", "config.yaml:1:10 `harness` is not a file | name a harness file".to_owned()),
        ("{name: a, source: .}", "config.yaml:1:10 `.` is not a file | name a harness file".to_owned()),
        ("../code.yaml", format!("config.yaml:1:10 `../code.yaml` {outside}")),
        ("/etc/passwd", format!("config.yaml:1:10 `/etc/passwd` {outside}")),
        ("harness/../harness/code.yaml", format!("config.yaml:1:10 `harness/../harness/code.yaml` {outside}")),
        ("{name: a, source: 'harness\\code.yaml'}", format!("config.yaml:1:10 `harness\\code.yaml` {outside}")),
        (&format!("'{url}'"), "config.yaml:1:10 `https://x.test/h/far.yaml` is not below any entry of `allowed_remote_resources` | add its prefix, ending in `/`, to `allowed_remote_resources` in this file".to_owned()),
    ] {
        assert_eq!(lint(&format!("agents: [{entry}]\n")), [format!("invalid-agent-entry {expected}")], "{entry}");
    }
    for (entry, code) in [
        ("http://x.test/a.yaml", "not-https"),
        ("file:///a.yaml", "not-https"),
        ("https://x.test/a.yaml", "unpinned-url"),
        ("{role: coder, prompt: x}", "legacy-agent-entry"),
        ("{role: coder, source: harness/code.yaml}", "unknown-key"),
        ("{name: -a, enabled: false}", "invalid-value"),
        ("{nme: a, source: harness/code.yaml}", "unknown-key"),
        ("[a]", "wrong-type"),
        ("''", "invalid-path"),
    ] {
        assert_eq!(configured(&format!("agents: [{entry}]\n")).codes(), [code], "{entry}");
    }
    assert_eq!(
        lint("agents: [{name: a, source: gone.yaml, enabled: false}]\n"),
        CLEAN,
        "a disabled agent's file may be gone"
    );
}

#[test]
fn names_are_unique_in_each_state_whatever_their_case() {
    let twice = |place: &str, name: &str| {
        format!(
            "invalid-agent-entry config.yaml:{place} an agent named `{name}` is registered twice | give one of them another `name`, or remove it"
        )
    };
    let on = "source: harness/code.yaml}";
    assert_eq!(lint(&format!("agents:\n- {{name: a, {on}\n- {{name: A, {on}\n")), [twice("3:3", "A")]);
    assert_eq!(lint("agents:\n- {name: a, enabled: no}\n- {name: A, enabled: no}\n"), [twice("3:3", "A")]);
    assert_eq!(lint(&format!("agents:\n- {{name: a, {on}\n- {{name: A, enabled: no}}\n")), CLEAN);
    assert_eq!(
        lint(&format!("agents:\n- {{name: a, {on}\n- {{name: a, enabled: no}}\n- {{name: a, {on}\n")),
        [twice("4:3", "a")]
    );
    assert_eq!(
        lint("agents:\n- harness/code.yaml\n- {name: CODE, source: harness/triage.yaml}\n"),
        [twice("3:3", "CODE")]
    );
}

#[test]
fn look_up_prefers_registered_agents_and_obeys_disabled_ones() {
    let url = format!("https://x.test/h/far.yaml{PIN}");
    let folder = configured(&format!(
        "allowed_remote_resources: [https://x.test/]\nagents:\n- {{name: code, source: harness/triage.yaml}}\n- {{name: Triage, enabled: false}}\n- '{url}'\n- {{name: back, enabled: false}}\n- {{name: back, source: harness/code.yaml}}\n"
    ));
    let configuration = configuration(&folder);
    let look_up = |name: &str| configuration.look_up(folder.root(), name);
    assert_eq!(look_up("code"), Lookup::File(folder.path("harness/triage.yaml")));
    assert_eq!(look_up("CODE"), Lookup::File(folder.path("harness/triage.yaml")));
    assert_eq!(look_up("Triage"), Lookup::Disabled);
    assert_eq!(look_up("triage"), Lookup::Disabled, "although `harness/triage.yaml` exists");
    assert_eq!(look_up("far"), Lookup::Remote(url));
    assert_eq!(look_up("back"), Lookup::File(folder.path("harness/code.yaml")), "the last entry decides");
    let path = folder.path("harness/code.yaml");
    assert_eq!(look_up(path.to_str().unwrap()), Lookup::File(path), "a path is a path");
    assert_eq!(
        look_up("none"),
        Lookup::Unknown(["back", "code", "far", "triage"].map(str::to_owned).to_vec())
    );
}

#[test]
fn look_up_never_leads_outside_by_a_registered_name() {
    for source in ["/etc/passwd", "../x.yaml", ".."] {
        let folder = configured(&format!("agents: [{{name: code, source: {source}}}]\n"));
        let found = configuration(&folder).look_up(folder.root(), "code");
        assert_eq!(found, Lookup::Unknown(vec!["code".to_owned(), "triage".to_owned()]), "{source}");
    }
}

#[test]
fn look_up_falls_back_to_the_files_there_are() {
    let folder = Folder::with(&[("harness/a.yaml", HARNESS), ("harness/b.yml", HARNESS)]);
    let configuration = configuration(&folder);
    assert_eq!(configuration.look_up(folder.root(), "a"), Lookup::File(folder.path("harness/a.yaml")));
    assert_eq!(configuration.look_up(folder.root(), "b"), Lookup::File(folder.path("harness/b.yml")));
    assert_eq!(
        configuration.look_up(folder.root(), ""),
        Lookup::Unknown(vec!["a".to_owned(), "b".to_owned()])
    );
}

#[test]
fn forges_are_hosts_of_a_known_kind_each_named_once() {
    for (entry, expected) in [
        (
            "{host: github.com, type: gitlab}",
            "invalid-forge config.yaml:1:17 `github.com` is built in and cannot be redefined | remove the entry",
        ),
        (
            "{host: raw.githubusercontent.com, type: github}",
            "invalid-forge config.yaml:1:17 `raw.githubusercontent.com` is built in and cannot be redefined | remove the entry",
        ),
        (
            "{host: a.test, type: github}, {host: A.TEST, type: gitlab}",
            "invalid-forge config.yaml:1:47 `a.test` is declared twice | remove the entry",
        ),
        (
            "{host: 'https://a.test', type: github}",
            "invalid-value config.yaml:1:17 `forges[0].host` must consist of letters, digits, `-` and dots, like `git.example.com`, without scheme, port or path, not `https://a.test` | use only letters, digits, `-` and dots, like `git.example.com`, without scheme, port or path",
        ),
        (
            "{host: a.test, type: gitea}",
            "invalid-value config.yaml:1:31 `forges[0].type` must be one of `github`, `gitlab`, not `gitea` | choose one of `github`, `gitlab`",
        ),
        ("{host: a.test}", "missing-key config.yaml:1:11 `forges[0]` has no `type` | add `type: …`"),
        ("{type: github}", "missing-key config.yaml:1:11 `forges[0]` has no `host` | add `host: …`"),
    ] {
        assert_eq!(lint(&format!("forges: [{entry}]\n")), [expected], "{entry}");
    }
    assert_eq!(lint("forges: [{}]\n").len(), 2);
}

#[test]
fn private_hosts_are_a_pattern_and_a_range() {
    assert_eq!(
        lint(
            "private_hosts: [{host: a.test, cidr: 10.0.0.0/8}, {host: '*.b.test', port: 1, cidr: 'fd00::/8'}]\n"
        ),
        CLEAN
    );
    for (entry, expected) in [
        (
            "{host: a.test, cidr: 169.254.169.254/32}",
            "invalid-value config.yaml:1:38 `private_hosts[0].cidr` names the metadata service `169.254.169.254/32`, which is never reached | remove the entry",
        ),
        ("{host: a.test}", "missing-key config.yaml:1:18 `private_hosts[0]` has no `cidr` | add `cidr: …`"),
        (
            "{cidr: 10.0.0.0/8}",
            "missing-key config.yaml:1:18 `private_hosts[0]` has no `host` | add `host: …`",
        ),
        (
            "{host: a.test, cidr: 10.0.0.1}",
            "invalid-value config.yaml:1:38 `private_hosts[0].cidr` must be an address range, not `10.0.0.1` | write it as `10.0.0.1/32`",
        ),
        (
            "{host: a.test, cidr: 10.0.0.1/8}",
            "invalid-value config.yaml:1:38 `private_hosts[0].cidr` must be an address range, not `10.0.0.1/8` | the address has bits outside the prefix; write `10.0.0.0/8`",
        ),
        (
            "{host: a.test, cidr: corp}",
            "invalid-value config.yaml:1:38 `private_hosts[0].cidr` must be an address range, not `corp` | write it as `10.20.0.0/16`",
        ),
        (
            "{host: a.test, cidr: 10.0.0.0/8, port: 0}",
            "invalid-value config.yaml:1:56 `private_hosts[0].port` must be from 1 to 65535, not 0 | write a number from 1 to 65535",
        ),
    ] {
        assert_eq!(lint(&format!("private_hosts: [{entry}]\n")), [expected], "{entry}");
    }
    for host in ["*", "*.", "a.*.test", "https://a.test", "a.test/x"] {
        assert_eq!(
            configured(&format!("private_hosts: [{{host: '{host}', cidr: 10.0.0.0/8}}]\n")).codes(),
            ["invalid-value"],
            "{host}"
        );
    }
}
