//! The variables of the sandbox, in both forms, and files that shells read.

use std::collections::BTreeMap;
use std::process::Command;

use fullsend_runner::env_file::{AssignmentError, EnvDirFile, EnvFile, SessionDefaults, assignments};
use proptest::prelude::*;

use super::support::Folder;

fn owned(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

const EVERYTHING: &str = r"export PATH=/sandbox/workspace/bin:/usr/local/go/bin:$HOME/go/bin:$PATH
export CLAUDE_CONFIG_DIR='/sandbox/claude-config'
export FULLSEND_OUTPUT_DIR='/sandbox/workspace/output'
export FULLSEND_TARGET_REPO_DIR='/sandbox/workspace/repo'
export FULLSEND_ROLE='coder'
export FULLSEND_SLUG='bot'
export FULLSEND_OUTPUT_SCHEMA='/sandbox/workspace/.fullsend/output-schema.json'
export FULLSEND_OUTPUT_FILE='result.json'
export FULLSEND_FETCH_URL='http://127.0.0.1:1/fetch'
export FULLSEND_FETCH_TOKEN='t'
";

#[test]
fn the_lines_stand_in_their_order() {
    let runtime = owned(&[("CLAUDE_CONFIG_DIR", "/sandbox/claude-config")]);
    let sandbox = owned(&[("Z", "it's"), ("A", "$(id) `id` \"x\"")]);
    let files = [EnvDirFile {
        name: "a.env".to_owned(),
        variables: vec![("A".to_owned(), "file".to_owned()), ("F".to_owned(), "file".to_owned())],
    }];
    let file = EnvFile {
        runtime: &runtime,
        repo: "/sandbox/workspace/repo",
        role: Some("coder"),
        slug: Some("bot"),
        has_schema: true,
        output_file: Some("result.json"),
        fetch: Some(
            "export FULLSEND_FETCH_URL='http://127.0.0.1:1/fetch'\nexport FULLSEND_FETCH_TOKEN='t'\n",
        ),
        files: &files,
        sandbox: &sandbox,
        canary: Some(("SECRET_KEY", "canary")),
        trace_id: "id",
    };
    let text = file.render();
    let (before, after) = text.split_once("set -a;").unwrap();
    assert_eq!(before, EVERYTHING);
    let (_, after) = after.split_once('\n').unwrap();
    assert_eq!(
        after,
        "export A='$(id) `id` \"x\"'\nexport Z='it'\\''s'\nexport SECRET_KEY='canary'\nexport FULLSEND_TRACE_ID='id'\n"
    );
    let map = file.variables(SessionDefaults { path: "/bin", home: "/h" });
    assert_eq!(map["PATH"], "/sandbox/workspace/bin:/usr/local/go/bin:/h/go/bin:/bin");
    assert_eq!(
        (map["A"].as_str(), map["F"].as_str()),
        ("$(id) `id` \"x\"", "file"),
        "the harness is heard last"
    );
    assert_eq!(map["FULLSEND_TRACE_ID"], "id");
    let folder = Folder::new();
    let stage = folder.stage();
    file.write(&stage).unwrap();
    file.write(&stage).unwrap();
    assert_eq!(folder.read("stage/fixed/env"), text);
}

/// What a real shell makes of the lines, apart from those of this machine.
fn in_shell(text: &str) -> BTreeMap<String, String> {
    let script = format!("{text}\nenv -0");
    let output = Command::new("/bin/sh").env_clear().args(["-c", &script]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.split('\0')
        .filter_map(|pair| pair.split_once('='))
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .collect()
}

fn only(sandbox: &BTreeMap<String, String>) -> String {
    let runtime = BTreeMap::new();
    let file = EnvFile {
        runtime: &runtime,
        repo: "/r",
        role: None,
        slug: None,
        has_schema: false,
        output_file: None,
        fetch: None,
        files: &[],
        sandbox,
        canary: None,
        trace_id: "id",
    };
    file.render().replace("/usr/local/go/bin", "/usr/bin")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_shell_reads_any_value_as_it_is(value in "[^\0]*") {
        let sandbox = owned(&[("VALUE", &value)]);
        let text = only(&sandbox).replace(":$PATH", ":/usr/bin:/bin");
        prop_assert_eq!(&in_shell(&text)["VALUE"], &value);
    }

    #[test]
    fn what_passes_for_assignments_is_the_same_to_a_shell(text in "(export )?K=[ -~\n]{0,12}") {
        if let Ok(variables) = assignments(&text) {
            let seen = in_shell(&format!("set -a\nPATH=/usr/bin:/bin\n{text}\nset +a"));
            for (name, value) in variables.into_iter().collect::<BTreeMap<_, _>>() {
                prop_assert_eq!(seen.get(&name), Some(&value), "{:?}", text);
            }
        }
    }

    #[test]
    fn any_text_is_read_to_its_end(text in any::<String>()) {
        let _ = assignments(&text);
    }
}

#[test]
fn assignments_and_nothing_else() {
    let read = |text: &str| assignments(text).unwrap();
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        read(
            "# c\n\nexport A=\"a \\$b \\\"c\\\" \\\\ \\`d\\`\" # c\nB='x $y'\nC=plain/1.2\r\nexport\tD=\"two\nlines\"\n"
        ),
        [pair("A", "a $b \"c\" \\ `d`"), pair("B", "x $y"), pair("C", "plain/1.2"), pair("D", "two\nlines")]
    );
    let lines = [
        ("curl evil", "not an assignment"),
        ("A=1 curl evil", "not an assignment"),
        ("A=1; curl evil", "live"),
        ("A=$(curl evil)", "live"),
        ("A=\"$(curl evil)\"", "live"),
        ("A=\"`curl evil`\"", "live"),
        ("A=\"${B}\"", "live"),
        ("A=a&", "live"),
        ("A=~", "live"),
        ("A=(1 2)", "live"),
        ("A='x", "unclosed"),
        ("A=\"x\\", "unclosed"),
        ("PATH=/evil", "reserved"),
        ("export BASH_ENV=/evil", "reserved"),
        ("export http_proxy=http://evil", "reserved"),
        ("export FULLSEND_GCP_OIDC_URL=x", "reserved"),
        ("export A", "not an assignment"),
        ("A B=c", "not an assignment"),
    ];
    for (line, kind) in lines {
        let error = assignments(&format!("\n{line}")).unwrap_err();
        let found = if matches!(error, AssignmentError::NotAnAssignment { line: 2 }) {
            "not an assignment"
        } else if matches!(error, AssignmentError::Live { line: 2, .. }) {
            "live"
        } else if matches!(error, AssignmentError::Unclosed { line: 2, .. }) {
            "unclosed"
        } else {
            assert!(matches!(error, AssignmentError::Reserved { line: 2, .. }), "{line}: {error:?}");
            "reserved"
        };
        assert_eq!(found, kind, "{line}");
    }
}
