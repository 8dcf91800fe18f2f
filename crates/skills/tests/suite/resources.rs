//! Indexing the files of a skill.

use fullsend_skills::{
    ContentDigest, ContentKind, Limits, Registry, ResourceKind, ScriptFacts, ScriptRuntime, normalize,
};

use crate::suite::place::{Place, skill_codes};

fn a_skill_with_files() -> Place {
    let place = Place::with_skill();
    place.write("skills/a/assets/logo.bin", [0x00, 0x9f, 0x92, 0x96]);
    place.write("skills/a/notes.txt", "notes");
    place.write("skills/a/references/guide.md", "# Guide\n");
    place.write("skills/a/scripts/check.ts", "console.log(1)\n");
    place.executable("skills/a/scripts/not-deno.sh", "#!/bin/bash\necho\n");
    place.write("skills/a/templates/scaffold.sh", "#!/bin/bash\n");
    place
}

fn facts(path: &str, content: &str) -> ScriptFacts {
    let place = Place::with_skill();
    place.write(&format!("skills/a/scripts/{path}"), content);
    place.scan().skills()[0].resources[0].script.clone().unwrap()
}

#[test]
fn files_are_indexed_with_kind_size_and_digest() {
    let place = a_skill_with_files();
    place.write("skills/a/.git/config", "x");
    place.write("skills/a/references/SKILL.md", "not the skill's own");
    let registry = place.scan();
    let resources = &registry.skill("a").unwrap().resources;
    let found: Vec<_> = resources
        .iter()
        .map(|resource| (resource.path.as_str(), resource.kind, resource.content_kind, resource.size_bytes))
        .collect();
    use ContentKind::{Binary, Text};
    assert_eq!(
        found,
        [
            ("assets/logo.bin", ResourceKind::Asset, Binary, 4),
            ("notes.txt", ResourceKind::Other, Text, 5),
            ("references/SKILL.md", ResourceKind::Reference, Text, 19),
            ("references/guide.md", ResourceKind::Reference, Text, 8),
            ("scripts/check.ts", ResourceKind::Script, Text, 15),
            ("scripts/not-deno.sh", ResourceKind::Script, Text, 17),
            ("templates/scaffold.sh", ResourceKind::Template, Text, 12),
        ]
    );
    assert_eq!(resources[1].digest, ContentDigest::of(b"notes"));
    let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(ContentDigest::of(b"").to_string(), empty);
    assert_eq!(resources[5].script.as_ref().map(|script| script.executable), Some(true));
    assert_eq!(resources[4].script.as_ref().map(|script| script.executable), Some(false));
    assert_eq!(resources[6].script, None, "only files under `scripts/` are scripts");
}

#[test]
fn first_lines_decide_how_a_script_is_run() {
    use ScriptRuntime::{Deno, Shebang, Unknown};
    let cases = [
        ("a", "#!/usr/bin/env -S deno run --allow-net\n", Deno),
        ("a", "#!/usr/bin/env deno run\n", Deno),
        ("a", "#!/usr/local/bin/deno run -A\n", Deno),
        ("a.ts", "#!/usr/bin/env deno\n", Shebang),
        ("a.ts", "#!/usr/bin/env node\n", Shebang),
        ("a.sh", "#!/bin/bash\n", Shebang),
        ("a.py", "print(1)\n", Unknown),
        ("a.cjs", "x\n", Unknown),
        ("a.TSX", "x\n", Deno),
        ("a.mjs", "x\n", Deno),
        ("a.ts", "\0#!/bin/bash\n", Deno),
    ];
    for (name, content, runtime) in cases {
        assert_eq!(facts(name, content).runtime, runtime, "{name} {content:?}");
    }
    assert_eq!(facts("a", "#!/bin/sh\r\n").shebang.as_deref(), Some("#!/bin/sh"));
    assert_eq!(facts("a", " #!/bin/sh\n").shebang, None);
}

#[test]
fn a_character_on_the_edge_of_what_is_sniffed_is_text() {
    let place = Place::with_skill();
    let cases: &[(&str, Vec<u8>, ContentKind)] = &[
        ("0", ["x".repeat(8_191).as_bytes(), "é tail".as_bytes()].concat(), ContentKind::Text),
        ("1", ["x".repeat(8_190).as_bytes(), "😀".as_bytes()].concat(), ContentKind::Text),
        ("2", ["x".repeat(8_191).as_bytes(), &[0xc3]].concat(), ContentKind::Binary),
        ("3", ["x".repeat(8_192).as_bytes(), &[0]].concat(), ContentKind::Text),
        ("4", [0xc3].to_vec(), ContentKind::Binary),
        ("5", Vec::new(), ContentKind::Text),
    ];
    for (name, content, _) in cases {
        place.write(&format!("skills/a/{name}"), content);
    }
    let registry = place.scan();
    for ((name, _, kind), resource) in cases.iter().zip(&registry.skills()[0].resources) {
        assert_eq!((resource.path.as_str(), resource.content_kind), (*name, *kind));
    }
}

#[test]
fn links_are_indexed_inside_the_skill_only() {
    let place = Place::with_skill();
    let secret = place.write("outside/secret", "key");
    place.skill("b", "Does b");
    place.write("skills/a/files/real.md", "real");
    place.link("skills/a/in.md", "files/real.md");
    place.link("skills/a/in-absolute.md", place.path("skills/a/files/real.md"));
    place.link("skills/a/loop", ".");
    place.link("skills/a/out", secret);
    place.link("skills/a/out-dir", "../../outside");
    place.link("skills/a/neighbour", "../b/SKILL.md");
    place.link("skills/a/gone", "nowhere");
    place.link("skills/a/zero", "/dev/zero");
    let registry = place.scan();
    let paths: Vec<_> =
        registry.skill("a").unwrap().resources.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["files/real.md", "in-absolute.md", "in.md"]);
    let outside = "skill-resource-outside-root";
    assert_eq!(
        skill_codes(&registry, "a"),
        ["unresolvable-skill-resource", outside, outside, "skill-resource-scan-outside-root", outside,]
    );
    assert_eq!(registry.read_resource("a", "in-absolute.md", 10).content.as_deref(), Some("real"));
}

#[test]
fn a_named_pipe_does_not_stop_the_scan() {
    let place = Place::with_skill();
    std::fs::create_dir(place.path("skills/p")).unwrap();
    for pipe in ["skills/a/pipe", "skills/p/SKILL.md"] {
        let made = std::process::Command::new("mkfifo").arg(place.path(pipe)).status().unwrap();
        assert!(made.success());
    }
    let registry = place.scan();
    assert_eq!((registry.skills().len(), registry.skills()[0].resources.len()), (1, 0));
}

#[test]
fn an_index_has_limits() {
    let place = Place::with_skill();
    for name in ["1/x", "2/x", "3/x", "4"] {
        place.write(&format!("skills/a/{name}"), "1234567890");
    }
    let root = [place.root()];
    let limited = |limits: Limits| {
        let registry = Registry::scan(&root, limits);
        (registry.skills()[0].resources.len(), skill_codes(&registry, "a"))
    };
    let all = Limits::default();
    assert_eq!(limited(all), (4, vec![]));
    assert_eq!(limited(Limits { resource_files: 2, ..all }), (2, vec!["resource-file-limit-exceeded"]));
    assert_eq!(limited(Limits { resource_directories: 2, ..all }), (1, vec!["resource-scan-limit-exceeded"]));
    assert_eq!(limited(Limits { resource_names: 5, ..all }), (0, vec!["resource-scan-limit-exceeded"]));
    let too_large = vec!["resource-size-limit-exceeded"; 2];
    assert_eq!(limited(Limits { resource_bytes: 29, ..all }), (2, too_large));
    let too_deep = vec!["resource-max-depth-exceeded"; 3];
    assert_eq!(limited(Limits { resource_depth: 0, ..all }), (1, too_deep));
}

#[test]
fn paths_have_one_spelling() {
    let cases = [
        ("a", Some("a")),
        (" scripts/./b.sh ", Some("scripts/b.sh")),
        ("a/../b", Some("b")),
        ("a\\b", Some("a/b")),
        ("a//b/", Some("a/b")),
        ("..foo/x", Some("..foo/x")),
        ("a/..foo", Some("a/..foo")),
        ("", None),
        (".", None),
        ("a/..", None),
        ("..", None),
        ("../a", None),
        ("a/../../b", None),
        ("/a", None),
        ("\\a", None),
        ("a\0b", None),
        ("a\nb", None),
    ];
    for (path, expected) in cases {
        assert_eq!(normalize(path).ok().as_deref(), expected, "{path:?}");
    }
}
