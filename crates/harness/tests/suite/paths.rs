//! Local resources: inside the fullsend directory, there, of the right kind.

use fullsend_harness::Library;
use fullsend_harness::resources::{ResourceKind, Source, resources};

use super::support::{AGENT, CLEAN, Folder};

/// Every key that names a local resource, around `VALUE`, and the key as messages name it.
const FIELDS: &[(&str, &str, ResourceKind)] = &[
    ("agent: VALUE", "agent", ResourceKind::Agent),
    ("policy: VALUE", "policy", ResourceKind::File),
    ("skills: [VALUE]", "skills", ResourceKind::Skill),
    ("skills: [{real: {x.md: VALUE}}]", "skills override", ResourceKind::File),
    ("plugins: [VALUE]", "plugins", ResourceKind::Plugin),
    ("openshell: {profiles: [VALUE]}", "openshell.profiles", ResourceKind::Profile),
    ("providers: [./VALUE]", "providers", ResourceKind::File),
    ("pre_script: VALUE", "pre_script", ResourceKind::Script),
    ("post_script: VALUE", "post_script", ResourceKind::Script),
    ("agent_input: VALUE", "agent_input", ResourceKind::Directory),
    ("validation_loop: {script: VALUE}", "validation_loop.script", ResourceKind::Script),
    ("validation_loop: {script: real.sh, schema: VALUE}", "validation_loop.schema", ResourceKind::File),
    ("host_files: [{src: VALUE, dest: /x}]", "host_files.src", ResourceKind::File),
    ("api_servers: [{name: a, script: VALUE}]", "api_servers.script", ResourceKind::Script),
];

/// Messages about the field under test, with the sound files around it in place.
fn lint(template: &str, value: &str) -> Vec<String> {
    let folder = Folder::with(&[
        ("real/SKILL.md", "x"),
        ("real/plugin.json", "{}"),
        ("real.sh", ""),
        ("real.md", AGENT),
        ("real.yaml", "id: a\nname: a\ntype: t\n"),
        ("bare/", ""),
    ]);
    let agent = if template.starts_with("agent:") { "" } else { "agent: agents/code.md\n" };
    folder.write("harness/code.yaml", &format!("{agent}role: coder\n{}\n", template.replace("VALUE", value)));
    let found = folder.lint_briefly().into_iter();
    let found =
        found.filter(|line| !line.starts_with("no-effect") && !line.starts_with("unknown-key real.yaml"));
    found
        .map(|line| {
            line.split_once(" `")
                .map(|(place, rest)| format!("{} `{rest}", place.split(' ').next().unwrap()))
                .unwrap_or(line)
        })
        .collect()
}

fn is_directory(kind: ResourceKind) -> bool {
    matches!(kind, ResourceKind::Skill | ResourceKind::Plugin | ResourceKind::Directory)
}

#[test]
fn every_resource_must_exist() {
    for (template, key, _) in FIELDS {
        assert_eq!(
            lint(template, "gone.yaml").last().unwrap(),
            &format!("missing-file `{key}`: `gone.yaml` does not exist"),
            "{template}"
        );
    }
}

#[test]
fn every_resource_must_be_of_its_kind() {
    for (template, key, kind) in FIELDS {
        let (right, wrong, wanted) = if is_directory(*kind) {
            ("real", "real.yaml", "a directory")
        } else {
            ("real.yaml", "real", "a file")
        };
        let wrong_name = |line: &String| !line.starts_with("invalid-file-name");
        let found: Vec<String> = lint(template, wrong).into_iter().filter(wrong_name).collect();
        let path = wrong;
        assert_eq!(found, [format!("wrong-file-kind `{key}`: `{path}` is not {wanted}")], "{template}");
        let right = if *kind == ResourceKind::Agent { "real.md" } else { right };
        assert_eq!(lint(template, right), CLEAN, "{template}");
    }
}

#[test]
fn relative_paths_stay_inside_and_absolute_ones_are_taken_as_they_are() {
    for (template, key, kind) in FIELDS {
        for written in ["../x", "a/../../x", ".", "a/.."] {
            if template.contains("./VALUE") && written == "." {
                continue;
            }
            let prefix = if template.contains("./VALUE") { "./" } else { "" };
            let found: Vec<String> = lint(template, written)
                .into_iter()
                .filter(|line| !line.starts_with("invalid-file-name"))
                .collect();
            assert_eq!(
                found,
                [format!(
                    "outside-fullsend-directory `{key}`: `{prefix}{written}` leaves the fullsend directory"
                )],
                "{template} {written}"
            );
        }
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("SKILL.md"), AGENT).unwrap();
        std::fs::write(outside.path().join("plugin.json"), "{}").unwrap();
        std::fs::write(outside.path().join("p.yaml"), "id: a\n").unwrap();
        if template.contains("./VALUE") {
            continue;
        }
        let name = if *kind == ResourceKind::Agent { "SKILL.md" } else { "p.yaml" };
        let name = if is_directory(*kind) { "" } else { name };
        let absolute = outside.path().join(name);
        let found: Vec<String> = lint(template, absolute.to_str().unwrap())
            .into_iter()
            .filter(|line| !line.starts_with("invalid-file-name"))
            .collect();
        assert_eq!(found, CLEAN, "{template}");
    }
}

#[test]
fn directories_of_skills_and_plugins_are_complete() {
    assert_eq!(lint("skills: [bare]", ""), ["incomplete-directory `skills`: `bare` has no `SKILL.md`"]);
    assert_eq!(lint("plugins: [bare]", ""), ["incomplete-directory `plugins`: `bare` has no `plugin.json`"]);
    assert_eq!(lint("agent_input: bare", ""), CLEAN);
    let folder = Folder::of("plugins: [p]\nskills: [s]\n");
    folder.write("p/.claude-plugin/plugin.json", "{}");
    folder.write("s/SKILL.md/", "");
    assert_eq!(folder.codes(), ["incomplete-directory"], "a directory called `SKILL.md` is no `SKILL.md`");
}

#[test]
fn an_optional_host_file_may_be_missing_but_not_elsewhere() {
    let host = |src: &str, rest: &str| lint(&format!("host_files: [{{src: '{src}', dest: /x{rest}}}]"), "");
    assert_eq!(host("gone", ", optional: true"), CLEAN);
    assert_eq!(host("gone", ", optional: false").len(), 1);
    assert_eq!(host("../gone", ", optional: true").len(), 1);
    assert_eq!(host("real", ", optional: true"), ["wrong-file-kind `host_files.src`: `real` is not a file"]);
}

#[test]
fn paths_with_variables_are_checked_once_they_are_known() {
    let folder = Folder::of(
        "host_files:\n- {src: '${DIR}/a.txt', dest: /a}\n- {src: '${OPT}', dest: /b, optional: true}\nvalidation_loop: {script: v.sh, schema: '${DIR}/s.json'}\n",
    );
    folder.write("v.sh", "");
    folder.write("in/a.txt", "");
    assert_eq!(folder.lint(), CLEAN, "nothing is known without an environment");
    assert_eq!(
        folder.lint_with(&[]),
        [
            "unset-variable harness/code.yaml:4:9 `host_files.src` refers to `${DIR}`, which is not set | set `DIR` in the environment",
            "unset-variable harness/code.yaml:6:41 `validation_loop.schema` refers to `${DIR}`, which is not set | set `DIR` in the environment",
        ],
        "an optional file with an unset variable is skipped"
    );
    assert_eq!(
        folder.lint_with(&[("DIR", "in"), ("OPT", "")]),
        [
            "missing-file harness/code.yaml:6:41 `validation_loop.schema`: `in/s.json` does not exist | create the file, or correct the path"
        ],
        "an optional file with an empty path is skipped"
    );
    let outside = folder.lint_with(&[("DIR", "../.."), ("OPT", "../x")]);
    assert_eq!(
        outside.iter().filter(|line| line.starts_with("outside-fullsend-directory")).count(),
        3,
        "{outside:#?}"
    );
}

#[test]
fn the_fullsend_directory_is_known_in_every_environment() {
    let folder = Folder::of(
        "host_files:\n- {src: '${FULLSEND_DIR}/in/a.txt', dest: /a}\n- {src: '${FULLSEND_DIR}/gone', dest: /b}\n",
    );
    folder.write("in/a.txt", "");
    let missing = [
        "missing-file harness/code.yaml:5:9 `host_files.src`: `gone` does not exist | create the file, or correct the path",
    ];
    assert_eq!(folder.lint_with(&[]), missing);
    assert_eq!(folder.lint_with(&[("FULLSEND_DIR", "/elsewhere")]), missing, "and cannot be moved");
}

#[test]
fn the_list_of_resources_follows_the_order_of_a_run() {
    let folder = Folder::of(
        &FIELDS
            .iter()
            .filter(|(_, key, _)| !["agent", "skills override", "validation_loop.script"].contains(key))
            .map(|(template, ..)| template.replace("VALUE", "x.yaml") + "\n")
            .collect::<String>()
            .replace("skills: [x.yaml]", "skills: [{x.yaml: {f: y.md, g: ~}}]"),
    );
    let mut problems = Vec::new();
    let composition =
        Library::new(folder.root()).compose(&folder.path("harness/code.yaml"), &mut problems).unwrap();
    let listed: Vec<String> = resources(&composition.harness)
        .iter()
        .map(|resource| match resource.source {
            Source::Local(path) => format!("{} {:?} {path}", resource.field, resource.kind),
            Source::Template(_) | Source::Remote(_) => panic!(),
        })
        .collect();
    assert_eq!(
        listed,
        [
            "agent Agent agents/code.md",
            "policy File x.yaml",
            "skills[0] Skill x.yaml",
            "skills[0] override File y.md",
            "plugins[0] Plugin x.yaml",
            "openshell.profiles[0] Profile x.yaml",
            "providers[0] File ./x.yaml",
            "pre_script Script x.yaml",
            "post_script Script x.yaml",
            "agent_input Directory x.yaml",
            "validation_loop.script Script real.sh",
            "validation_loop.schema File x.yaml",
            "host_files[0].src File x.yaml",
            "api_servers[0].script Script x.yaml",
        ]
    );
}
