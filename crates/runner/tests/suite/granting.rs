//! Policy files and providers as parts of a sandbox.

use std::path::Path;

use fullsend_harness::Library;
use fullsend_runner::environment::Environment;
use fullsend_runner::grants::{
    Definitions, GrantError, ProviderGrants, definitions, provider_grants, sandbox_spec,
};
use fullsend_runner::policy_file::PolicyFile;
use fullsend_sandbox::{Endpoint, FilesystemMount, NetworkPolicy, SandboxSpec};

use super::support::Folder;

const GITHUB: &str = "id: github\ndisplay_name: GitHub\nendpoints:\n  - {host: api.github.com, port: 443, protocol: rest, access: rw, enforcement: enforce}\n  - {host: github.com}\n";

fn environment(pairs: &[(&str, &str)]) -> Environment {
    Environment::new(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
}

/// The definitions that a harness leads to, with what is wrong about them.
fn read(files: &[(&str, &str)], harness: &str) -> (Definitions, Vec<String>) {
    let folder = Folder::new();
    for (path, text) in files {
        folder.write(path, text);
    }
    let file = folder.write("harness/code.yaml", harness);
    let mut library = Library::new(folder.path());
    let mut problems = Vec::new();
    let harness = library.try_harness(&file, &mut problems).unwrap().harness.unwrap();
    let found = definitions(&mut library, &harness, &|_| harness.doc.is_some(), &mut problems);
    (found, problems.into_iter().map(|problem| problem.message).collect())
}

fn grants(provider: &str, profile: &str, variables: &[(&str, &str)]) -> Result<ProviderGrants, GrantError> {
    let files = [("providers/p.yaml", provider), ("profiles/p.yaml", profile)];
    let (found, problems) = read(&files, "providers: [p]\n");
    assert!(problems.is_empty(), "{problems:?}");
    provider_grants(&found.providers, &found.profiles, &environment(variables))
}

#[test]
fn credentials_stay_outside() {
    let provider = "name: p\ntype: github\ncredentials: {GH_TOKEN: '${T}', GITHUB_TOKEN: '${T}', _NOOP: ''}\nconfig: {REGION: 'eu-${N}'}\n";
    let granted = grants(provider, GITHUB, &[("T", "hunter2"), ("N", "1")]).unwrap();
    assert_eq!(granted.hosts, ["api.github.com:443", "github.com:443"]);
    assert_eq!(granted.env.iter().collect::<Vec<_>>(), [(&"REGION".to_owned(), &"eu-1".to_owned())]);
    let names: Vec<(&str, &str)> = granted
        .endpoints
        .iter()
        .map(|endpoint| (endpoint.name.as_str(), endpoint.upstream.as_str()))
        .collect();
    assert_eq!(names, [("p", "https://api.github.com:443"), ("p_github_com", "https://github.com:443")]);
    for endpoint in &granted.endpoints {
        assert_eq!(endpoint.headers[0].0, "Authorization");
        assert_eq!(endpoint.headers[0].1.expose(), "Bearer hunter2");
    }
    assert!(!format!("{granted:?}").contains("hunter2"));
}

#[test]
fn a_provider_without_credentials_only_opens_hosts() {
    let profile = "id: t\nendpoints: [{host: '*.docs.test', access: ro}, {host: a.test, port: 8443}]\nbinaries: [/usr/bin/x]\n";
    let granted = grants("name: p\ntype: t\ncredentials: {_NOOP_P: ''}\n", profile, &[]).unwrap();
    assert_eq!(granted.hosts, ["*.docs.test:443", "a.test:8443"]);
    assert!(granted.endpoints.is_empty());
    assert_eq!(granted.warnings.len(), 2, "what is not enforced is said: {:?}", granted.warnings);
}

#[test]
fn a_profile_for_reading_lets_its_service_only_be_read() {
    let profile = "id: t\nendpoints: [{host: a.test, access: ro}]\n";
    let granted = grants("name: p\ntype: t\ncredentials: {K: '${T}'}\n", profile, &[("T", "t")]).unwrap();
    assert_eq!(granted.endpoints[0].rules[0].methods, ["GET", "HEAD", "OPTIONS"]);
}

#[test]
fn what_cannot_be_granted_is_refused() {
    let one = "id: t\nendpoints: [{host: a.test}]\n";
    let token = &[("T", "hunter2"), ("U", "other")][..];
    type Case<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], fn(&GrantError) -> bool);
    let cases: &[Case<'_>] = &[
        ("name: p\ntype: none\n", one, &[], |error| matches!(error, GrantError::NoProfile { .. })),
        ("name: p\ntype: t\ncredentials: {K: '${T}'}\n", "id: t\n", token, |error| {
            matches!(error, GrantError::NoHost { .. })
        }),
        (
            "name: p\ntype: t\ncredentials: {K: '${T}'}\n",
            "id: t\nendpoints: [{host: '*.a.test'}]\n",
            token,
            |error| matches!(error, GrantError::NoHost { .. }),
        ),
        ("name: p\ntype: t\ncredentials: {K: '${T}', L: '${U}'}\n", one, token, |error| {
            matches!(error, GrantError::ManyCredentials { .. })
        }),
        ("name: p\ntype: t\ncredentials: {K: '${V}'}\n", one, token, |error| {
            matches!(error, GrantError::Variable { .. })
        }),
        ("name: p\ntype: t\nconfig: {http_proxy: x}\n", one, &[], |error| {
            matches!(error, GrantError::Reserved { .. })
        }),
        ("name: p\ntype: t\nconfig: {Git_Ssh_Command: x}\n", one, &[], |error| {
            matches!(error, GrantError::Reserved { .. })
        }),
        ("name: p\ntype: t\ncredentials: {LD_PRELOAD: '${T}'}\n", one, token, |error| {
            matches!(error, GrantError::Reserved { .. })
        }),
        (
            "name: p\ntype: t\ncredentials: {K: '${T}'}\n",
            "id: t\nendpoints: [{host: 169.254.169.254}]\n",
            token,
            |error| matches!(error, GrantError::Sandbox(_)),
        ),
    ];
    for (provider, profile, variables, expected) in cases {
        let error = grants(provider, profile, variables).unwrap_err();
        assert!(expected(&error), "{provider}: {error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}

#[test]
fn identity_tokens_are_no_credentials() {
    let variables = [("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "secret"), ("FULLSEND_GCP_OIDC_URL", "secret")];
    let one = "id: t\nendpoints: [{host: a.test}]\n";
    for key in
        ["credentials: {K: '${ACTIONS_ID_TOKEN_REQUEST_TOKEN}'}", "config: {K: 'x${FULLSEND_GCP_OIDC_URL}'}"]
    {
        let error = grants(&format!("name: p\ntype: t\n{key}\n"), one, &variables).unwrap_err();
        assert!(matches!(error, GrantError::Variable { .. }), "{error}");
    }
}

#[test]
fn only_providers_that_the_harness_names_are_used() {
    let files = [
        ("providers/a.yaml", "name: a\ntype: t\n"),
        ("providers/b.yaml", "name: b\ntype: t\n"),
        ("profiles/t.yaml", "id: t\nendpoints: [{host: dir.test}]\n"),
        ("own.yaml", "id: t\nendpoints: [{host: own.test}]\n"),
    ];
    let (found, problems) = read(&files, "providers: [a, none]\nopenshell: {profiles: [own.yaml]}\n");
    assert_eq!(problems, ["no file under `providers/` defines `none`"]);
    assert_eq!((found.providers.len(), found.profiles.len()), (1, 1));
    assert_eq!(found.profiles[0].endpoints[0].host.value, "own.test", "what the harness names counts");
}

#[test]
fn settings_from_elsewhere_are_not_expanded() {
    let files = [("p.yaml", "name: p\ntype: t\nconfig: {A: '${HOME}'}\n"), ("profiles/t.yaml", "id: t\n")];
    for (doc, expected) in [("doc: remote\n", "${HOME}"), ("", "/home")] {
        let (found, problems) = read(&files, &format!("{doc}providers: [p.yaml]\n"));
        assert!(problems.is_empty(), "{problems:?}");
        let granted = provider_grants(&found.providers, &found.profiles, &environment(&[("HOME", "/home")]));
        assert_eq!(granted.unwrap().env["A"], expected);
    }
}

fn policy(folder: &Folder, text: &str) -> PolicyFile {
    let file = folder.write("policy.yaml", text);
    let mut problems = Vec::new();
    let policy = PolicyFile::read(&mut Library::new(folder.path()), &file, folder.path(), &mut problems);
    policy.unwrap().unwrap_or_else(|| panic!("{problems:?}"))
}

fn base(folder: &Folder) -> SandboxSpec {
    SandboxSpec {
        mounts: vec![FilesystemMount::read_write(folder.path(), "/sandbox/workspace")],
        network_policy: NetworkPolicy::limited(["model.test"]),
        endpoints: vec![named("model")],
        ..SandboxSpec::default()
    }
}

fn named(name: &str) -> Endpoint {
    Endpoint {
        name: name.to_owned(),
        upstream: "https://m.test".to_owned(),
        headers: Vec::new(),
        rules: Vec::new(),
    }
}

#[test]
fn a_sandbox_has_what_is_granted_and_nothing_else() {
    let folder = Folder::new();
    folder.write("data/x", "");
    let file = policy(
        &folder,
        "read: [data]\nexec: [git]\nnet: [a.test]\ndeny: [b.test]\nlimits: {memory_mb: 512}\nendpoints: [{name: keyed, url: 'https://k.test', key_env: KEY}]\n",
    );
    let providers = ProviderGrants { hosts: vec!["p.test:443".to_owned()], ..ProviderGrants::default() };
    let spec =
        sandbox_spec(base(&folder), Some(&file), folder.path(), &providers, &environment(&[("KEY", "k")]))
            .unwrap();
    let NetworkPolicy::Limited { allowed_hosts, denied_hosts, .. } = &spec.network_policy else { panic!() };
    let mut allowed = allowed_hosts.clone();
    allowed.sort();
    assert_eq!(
        (allowed, denied_hosts.as_slice()),
        (vec!["a.test".into(), "model.test".into(), "p.test:443".into()], &["b.test".to_owned()][..])
    );
    assert_eq!(spec.programs, Some(vec!["git".to_owned()]));
    assert_eq!((spec.mounts.len(), spec.limits.memory_mb), (2, Some(512)));
    let names: Vec<&str> = spec.endpoints.iter().map(|endpoint| endpoint.name.as_str()).collect();
    assert_eq!(names, ["model", "keyed"]);
    assert_eq!(spec.endpoints[1].headers[0].1.expose(), "Bearer k");
    let missing =
        sandbox_spec(base(&folder), Some(&file), folder.path(), &providers, &Environment::default());
    assert!(matches!(missing, Err(GrantError::NoKey { .. })));
}

#[test]
fn without_a_policy_programs_run_and_hosts_are_closed() {
    let folder = Folder::new();
    let nothing = ProviderGrants::default();
    let spec = sandbox_spec(base(&folder), None, folder.path(), &nothing, &Environment::default()).unwrap();
    assert_eq!((spec.programs, spec.network_policy), (None, NetworkPolicy::limited(["model.test"])));
    let silent = policy(&folder, "net: [a.test]\n");
    let spec = sandbox_spec(base(&folder), Some(&silent), folder.path(), &nothing, &Environment::default());
    assert!(matches!(spec, Err(GrantError::NothingRuns { .. })));
    let twice = ProviderGrants { endpoints: vec![named("MODEL")], ..ProviderGrants::default() };
    let spec = sandbox_spec(base(&folder), None, folder.path(), &twice, &Environment::default());
    assert!(matches!(spec, Err(GrantError::Twice { .. })));
    let spec = sandbox_spec(base(&folder), None, Path::new("relative"), &nothing, &Environment::default());
    assert!(matches!(spec, Err(GrantError::Sandbox(_))));
}
