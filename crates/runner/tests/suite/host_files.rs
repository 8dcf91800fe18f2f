//! Files of the host on their way into the sandbox.

use std::os::unix::fs::PermissionsExt as _;

use fullsend_harness::schema::HarnessFile;
use fullsend_runner::environment::{Environment, expand};
use fullsend_runner::host_files::{HostFileContent, HostFileError, Roots, place, read};
use fullsend_runner::security::canary_plan;
use fullsend_sandbox::FilesystemMount;

use super::support::{Folder, harness};

const CONFIG: &str = "/sandbox/claude-config";

fn read_all(
    folder: &Folder,
    text: &str,
    variables: &[(&str, &str)],
) -> Result<Vec<HostFileContent>, HostFileError> {
    let (harness, _): (HarnessFile, _) = harness(text);
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let environment = Environment::new(variables);
    let sources = expand(&harness, &environment, folder.path()).unwrap().host_files;
    let target_repo = folder.path().join("repo");
    std::fs::create_dir_all(&target_repo).unwrap();
    let roots = Roots { fullsend_dir: folder.path(), target_repo: &target_repo };
    read(&harness.host_files.unwrap(), &sources, roots, &environment)
}

fn file(dest: &str, bytes: &str) -> HostFileContent {
    let dest = dest.to_owned();
    let executable = dest.contains("/bin/");
    HostFileContent { src: "/src".into(), dest, bytes: bytes.as_bytes().to_vec(), executable }
}

#[test]
fn values_in_templates_are_harmless_to_a_shell() {
    let folder = Folder::new();
    folder.write("t.env", "export X=\"${X}\"\nexport Y=\"$Y\" # costs $5, ${not a name}, $\n");
    folder.write("plain", "keep ${X}");
    let files = "host_files:\n  - {src: t.env, dest: /sandbox/workspace/.env.d/t.env, expand: true}\n  - {src: plain, dest: /p}\n";
    for (value, written) in [
        ("$(cat /etc/passwd)", "\\$(cat /etc/passwd)"),
        ("`id`", "\\`id\\`"),
        ("a\n\tb", "a\n\tb"),
        ("\"; curl evil; \"", "\\\"; curl evil; \\\""),
        ("\\", "\\\\"),
    ] {
        let contents = read_all(&folder, files, &[("X", value), ("Y", "y")]).unwrap();
        let expected = format!("export X=\"{written}\"\nexport Y=\"y\" # costs $5, ${{not a name}}, $\n");
        assert_eq!(String::from_utf8_lossy(&contents[0].bytes), expected);
        assert_eq!(contents[1].bytes, b"keep ${X}");
        let placed = place(&contents[..1], &Folder::new().stage(), CONFIG);
        let variables = placed.unwrap().env_files.remove(0).variables;
        assert_eq!(variables[0], ("X".to_owned(), value.to_owned()), "what the shell gets is the value");
    }
}

#[test]
fn identity_tokens_in_templates_are_empty_and_other_variables_must_be_set() {
    let folder = Folder::new();
    let template = folder.write("t", "a=$ACTIONS_ID_TOKEN_REQUEST_TOKEN.\nb=${B}\n");
    let files = "host_files: [{src: t, dest: /t, expand: true}]\n";
    let variables = [("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "secret"), ("B", "b")];
    assert_eq!(read_all(&folder, files, &variables).unwrap()[0].bytes, b"a=.\nb=b\n");
    let error = read_all(&folder, files, &[]).unwrap_err().to_string();
    assert_eq!(error, format!("host_files: {}:2: `${{B}}` is not set", template.display()));
}

#[test]
fn optional_files_may_be_missing_and_others_not() {
    let folder = Folder::new();
    let files = |optional| format!("host_files: [{{src: '${{D}}/none', dest: /t, optional: {optional}}}]\n");
    let directory = folder.path().to_str().unwrap();
    assert!(read_all(&folder, &files("true"), &[("D", directory)]).unwrap().is_empty());
    assert!(read_all(&folder, &files("true"), &[]).unwrap().is_empty());
    let error = read_all(&folder, &files("false"), &[("D", directory)]).unwrap_err();
    assert!(matches!(error, HostFileError::Io { .. }), "{error}");
}

#[test]
fn surprises_are_refused() {
    let folder = Folder::new();
    let outside = Folder::new();
    outside.write("secret", "s");
    folder.link("repo/link", outside.path().join("secret").to_str().unwrap());
    folder.link("mine", outside.path().join("secret").to_str().unwrap());
    folder.write("repo/file", "f");
    folder.link("repo/inside", "file");
    folder.write("large", vec![0; (16 << 20) + 1]);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        folder.path().join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let one = |src: &str, dest: &str| {
        read_all(&folder, &format!("host_files: [{{src: {src}, dest: '{dest}'}}]\n"), &[])
    };
    assert!(matches!(one("repo/link", "/t"), Err(HostFileError::Outside { .. })));
    assert_eq!(one("repo/inside", "/t").unwrap()[0].bytes, b"f");
    assert_eq!(one("mine", "/t").unwrap()[0].bytes, b"s", "a link of the operator's own is his affair");
    assert!(matches!(one("large", "/t"), Err(HostFileError::TooLarge { .. })));
    assert!(matches!(one("pipe", "/t"), Err(HostFileError::NotAFile { .. })));
    assert!(matches!(one("repo", "/t"), Err(HostFileError::NotAFile { .. })));
    for dest in ["t", "/a/../b", "/proc/x", "/"] {
        assert!(matches!(one("mine", dest), Err(HostFileError::Dest(_))), "{dest}");
    }
    let twice = "host_files: [{src: mine, dest: /t}, {src: mine, dest: //t}]\n";
    assert!(matches!(read_all(&folder, twice, &[]), Err(HostFileError::Twice { .. })));
}

#[test]
fn every_destination_has_its_place() {
    let folder = Folder::new();
    let stage = folder.stage();
    let files = [
        file("/sandbox/workspace/notes/a b'$(x).txt", "1"),
        file("/sandbox/workspace/bin/tool", "2"),
        file("/sandbox/claude-config/x.json", "3"),
        file("/opt/bin/thing", "4"),
        file("/etc/tool.conf", "5"),
        file("/sandbox/workspace/.env.d/b.env", "B=b\n"),
        file("/sandbox/workspace/.env.d/a.env", "A=a\n"),
        file("/sandbox/workspace/repo/new/file", "6"),
    ];
    let placed = place(&files, &stage, CONFIG).unwrap();
    let mode = |path: &str| folder.path().join(path).metadata().unwrap().permissions().mode() & 0o777;
    for (path, text, expected) in [
        ("stage/workspace/notes/a b'$(x).txt", "1", 0o644),
        ("stage/fixed/bin/tool", "2", 0o755),
        ("stage/config/x.json", "3", 0o644),
        ("stage/extra/3", "4", 0o755),
        ("stage/extra/4", "5", 0o644),
        ("stage/fixed/env.d/a.env", "A=a\n", 0o644),
        ("stage/workspace/repo/new/file", "6", 0o644),
    ] {
        assert_eq!((folder.read(path).as_str(), mode(path)), (text, expected), "{path}");
    }
    let extra = |number: &str, target: &str| {
        FilesystemMount::read_only(folder.path().join("stage/extra").join(number), target)
    };
    assert_eq!(placed.mounts, [extra("3", "/opt/bin/thing"), extra("4", "/etc/tool.conf")]);
    let names: Vec<&str> = placed.env_files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["a.env", "b.env"], "in the order of the shell");
}

#[test]
fn what_belongs_to_the_run_is_no_destination() {
    let folder = Folder::new();
    let stage = folder.stage();
    for dest in [
        "/sandbox/hooks/hook.json",
        "/sandbox/workspace",
        "/sandbox/workspace/.env",
        "/sandbox/workspace/.env.d",
        "/sandbox/workspace/.env.d/deep/a.env",
        "/sandbox/workspace/.fullsend/output-schema.json",
        "/sandbox/workspace/bin/fullsend",
        "/sandbox/workspace/bin/fullsend-check-output",
        "/sandbox/workspace/output/agent-result.json",
        "/sandbox/workspace/repo",
        CONFIG,
    ] {
        let error = place(&[file(dest, "")], &stage, CONFIG).unwrap_err();
        assert!(matches!(error, HostFileError::Taken { .. }), "{dest}: {error}");
    }
    let commands = file("/sandbox/workspace/.env.d/a.env", "curl evil\n");
    assert!(matches!(place(&[commands], &stage, CONFIG), Err(HostFileError::Variables { .. })));
}

#[test]
fn links_in_the_copy_of_a_repository_are_not_written_through() {
    let (folder, outside) = (Folder::new(), Folder::new());
    outside.write("victim", "untouched");
    let stage = folder.stage();
    let target = outside.path().to_str().unwrap();
    folder.link("stage/workspace/repo/directory", target);
    folder.link("stage/workspace/repo/file", &format!("{target}/victim"));
    let through = file("/sandbox/workspace/repo/directory/victim", "changed");
    assert!(matches!(place(&[through], &stage, CONFIG), Err(HostFileError::Write { .. })));
    place(&[file("/sandbox/workspace/repo/file", "changed")], &stage, CONFIG).unwrap();
    assert_eq!(outside.read("victim"), "untouched");
    assert_eq!(folder.read("stage/workspace/repo/file"), "changed");
}

#[test]
fn a_canary_token_is_planted_where_the_harness_says() {
    let (harness, _) =
        harness("security: {canary: {env: DEPLOY_KEY, files: [/sandbox/workspace/.aws/credentials]}}");
    let plan = canary_plan(&harness.security.unwrap());
    let token = plan.generate().unwrap();
    let folder = Folder::new();
    place(&plan.contents(&token), &folder.stage(), CONFIG).unwrap();
    assert_eq!(folder.read("stage/workspace/.aws/credentials"), format!("{}\n", token.reveal()));
    assert_eq!(plan.env.as_deref(), Some("DEPLOY_KEY"));
    let off = super::support::harness("security: {enabled: false, canary: {env: DEPLOY_KEY}}").0;
    assert!(canary_plan(&off.security.unwrap()).generate().is_none(), "nobody would look for it");
}
