//! Profiles and providers by URL.

use fullsend_testkit::{TestFile, in_namespace, test_name};

use crate::suite::forge_place::{ForgePlace, hosts, sha};

#[test]
fn profiles_and_providers_from_elsewhere_are_read_strictly() {
    in_namespace(test_name!(), &hosts(), || {
        let at = ForgePlace::new();
        let cases = [
            ("id: my_profile_2\ndisplay_name: Mine\n", true),
            ("display_name: no id\n", false),
            ("id: -h\n", false),
            ("id: my profile\n", false),
            ("id: foo;rm -rf /\n", false),
            ("id: [\n", false),
        ];
        let files: Vec<TestFile> = cases
            .iter()
            .enumerate()
            .map(|(n, (text, _))| TestFile::new(&format!("p{n}.yaml"), *text))
            .collect();
        let commit = at.repository("profiles", &files);
        for (n, (text, fine)) in cases.iter().enumerate() {
            let url = format!("https://raw.githubusercontent.com/org/profiles/{commit}/p{n}.yaml");
            at.harness(&format!(
                "agent: agents/a.md\nopenshell: {{profiles: ['{url}#sha256={}']}}\n",
                sha(text.as_bytes())
            ));
            let ran = at.run(&["fetch", "code"]);
            assert_eq!(ran.code, Some(if *fine { 0 } else { 2 }), "{text}: {}", ran.stderr);
            assert_eq!(
                ran.stderr.contains(&format!("p{n}.yaml:1:")),
                !fine,
                "the place is named: {}",
                ran.stderr
            );
        }
    });
}
