//! Remote bases that someone has fetched, and harnesses whose resources have moved.

use std::collections::HashMap;
use std::path::PathBuf;

use fullsend_harness::resources::resources;
use fullsend_harness::{Library, localize};
use fullsend_origin::PinnedUrl;
use fullsend_yaml::{Diagnostic, FromNode, Limits, Reader, SourceMap, parse};
use serde_json::{Value, json};

use super::support::{Folder, PIN};

fn url(name: &str) -> PinnedUrl {
    PinnedUrl::parse(&format!("https://example.com/{name}.yaml{PIN}")).unwrap()
}

/// Composes `harness/code.yaml` with these remote bases provided.
fn composed(child: &str, remote: &[(&str, &str)]) -> (Value, Vec<String>, Vec<&'static str>) {
    let folder = Folder::with(&[("harness/code.yaml", child)]);
    let mut library = Library::new(folder.root());
    let mut problems: Vec<Diagnostic> = Vec::new();
    for (name, text) in remote {
        let loaded = library.read_remote(&url(name), text, &mut problems);
        library.provide(&url(name), loaded);
    }
    let composition = library.compose(&folder.path("harness/code.yaml"), &mut problems).unwrap();
    let chain = composition.chain.iter().skip(1).map(|link| link.display().to_string()).collect();
    (
        serde_json::to_value(&*composition.harness).unwrap(),
        chain,
        problems.iter().map(|problem| problem.rule.code).collect(),
    )
}

#[test]
fn a_provided_base_is_merged_and_shown_by_its_url() {
    let (harness, chain, problems) = composed(
        &format!("base: https://example.com/a.yaml{PIN}\nrole: coder\n"),
        &[("a", &format!("base: https://example.com/b.yaml{PIN}\nmodel: sonnet\n")), ("b", "effort: high\n")],
    );
    assert_eq!(harness, json!({"role": "coder", "model": "sonnet", "effort": "high"}));
    assert_eq!(chain, ["https://example.com/a.yaml", "https://example.com/b.yaml"]);
    assert_eq!(problems, Vec::<&str>::new());
}

#[test]
fn a_base_that_was_not_provided_stays_in_the_harness() {
    let (harness, _, problems) = composed(
        &format!("base: https://example.com/a.yaml{PIN}\nrole: coder\n"),
        &[("a", &format!("base: https://example.com/b.yaml{PIN}\nmodel: sonnet\n"))],
    );
    let base = format!("https://example.com/b.yaml{PIN}");
    assert_eq!(harness, json!({"role": "coder", "model": "sonnet", "base": base}));
    assert_eq!(problems, ["base-remote"]);
}

#[test]
fn a_remote_base_cannot_name_a_local_one() {
    let (_, _, problems) = composed(
        &format!("base: https://example.com/a.yaml{PIN}\nrole: coder\n"),
        &[("a", "base: ../bases/secret.yaml\n")],
    );
    assert_eq!(problems, ["base-of-remote"]);
}

#[test]
fn remote_bases_cannot_lead_in_a_circle_or_on_forever() {
    let to = |name: &str| format!("base: https://example.com/{name}.yaml{PIN}\n");
    let (_, _, problems) = composed(&to("a"), &[("a", &to("b")), ("b", &to("a"))]);
    assert_eq!(problems, ["base-cycle"]);
    let chain: Vec<(String, String)> =
        (0..7).map(|index| (format!("n{index}"), to(&format!("n{}", index + 1)))).collect();
    let chain: Vec<(&str, &str)> = chain.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    assert_eq!(composed(&to("n0"), &chain).2, ["base-depth"]);
}

#[test]
fn a_remote_base_gives_no_authority() {
    let (harness, _, _) = composed(
        &format!("base: https://example.com/a.yaml{PIN}\nrole: coder\n"),
        &[("a", "allowed_remote_resources: [https://evil.example/]\nallow_runtime_fetch: true\n")],
    );
    assert_eq!(harness, json!({"role": "coder"}));
}

/// One resource under every key that takes one.
const EVERY_RESOURCE: &str = "
agent: agents/a.md
policy: p.yaml
skills: [skills/s, {skills/t: {x.md: over/x.md, y.md: null}}]
plugins: [plugins/p]
openshell: {profiles: [profiles/p.yaml]}
providers: [bare, providers/x.yaml]
pre_script: pre.sh
post_script: post.sh
agent_input: input
validation_loop: {script: check.sh, schema: schema.json}
host_files: [{src: host, dest: /x}, {src: '${HOME}/y', dest: /y, optional: true}]
api_servers: [{name: s, script: serve.sh}]
";

#[test]
fn every_resource_that_is_listed_can_be_moved() {
    let mut sources = SourceMap::new();
    let file = sources.add("h.yaml", EVERY_RESOURCE);
    let root = parse(&sources, file, Limits::default()).root.unwrap();
    let mut problems = Vec::new();
    let harness =
        fullsend_harness::schema::HarnessFile::from_node(&root, &mut Reader::new(&mut problems)).unwrap();
    assert_eq!(problems, []);
    let listed = resources(&harness);
    let places: HashMap<_, _> = listed
        .iter()
        .enumerate()
        .map(|(index, resource)| (resource.at, PathBuf::from(format!("/cache/{index}"))))
        .collect();
    assert_eq!(places.len(), listed.len());
    let moved = localize(harness.clone(), &|at| places.get(&at).cloned());
    let now: Vec<String> =
        resources(&moved).iter().map(|resource| format!("{:?}", resource.source)).collect();
    let expected: Vec<String> = (0..listed.len()).map(|index| format!("Local(\"/cache/{index}\")")).collect();
    assert_eq!(now, expected);
    assert_eq!(localize(harness.clone(), &|_| None), harness);
    let labels: Vec<String> = listed.iter().map(fullsend_harness::resources::ResourceUse::label).collect();
    assert_eq!(
        labels,
        [
            "agent",
            "policy",
            "skills[0]",
            "skills[1]",
            "skills[1].overrides[x.md]",
            "plugins[0]",
            "openshell.profiles[0]",
            "providers[1]",
            "pre_script",
            "post_script",
            "agent_input",
            "validation_loop.script",
            "validation_loop.schema",
            "host_files[0].src",
            "host_files[1].src",
            "api_servers[0].script",
        ]
    );
}
