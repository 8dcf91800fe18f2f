//! Forges other than GitHub, and hosts on private addresses.

use fullsend_testkit::{Host, TestCa, TestFile, TestForge, TestRepo, in_namespace, test_name};

use crate::suite::forge_place::{ForgePlace, hosts, tree};
use crate::suite::running::{Place, Ran};

const SKILL: &str = "---\nname: style\ndescription: Style.\n---\nBe brief.\n";

#[test]
fn skills_come_from_gitlab_too() {
    in_namespace(test_name!(), &hosts(), || {
        let at = ForgePlace::new();
        let commit = at.repository("skills", &[TestFile::new("skills/style/SKILL.md", SKILL)]);
        let pin = tree(&[("SKILL.md", SKILL)]);
        at.harness(&format!(
            "agent: agents/a.md\nskills:\n  - https://gitlab.com/org/skills/-/tree/{commit}/skills/style#sha256={pin}\n"
        ));
        let found = at.fetched(&[]);
        assert_eq!(found.len(), 1);
        let skill = std::path::PathBuf::from(found[0]["path"].as_str().unwrap());
        assert_eq!(std::fs::read_to_string(skill.join("SKILL.md")).unwrap(), SKILL);
    });
}

const LIST: &str = "allowed_remote_resources: [https://git.example.com/org/]\n";
const FORGE: &str = "forges: [{host: git.example.com, type: gitlab}]\n";

fn fetch(place: &Place, config: &str) -> Ran {
    place.write(".fullsend/config.yaml", format!("{LIST}{config}"));
    let mut command = place.command(&["fetch", "code"]);
    command.env("SSL_CERT_FILE", place.path().join("ca.pem")).env("FULLSEND_GITLAB_TOKEN", "glpat-s3cret");
    Ran::from(command.output().unwrap())
}

#[test]
fn a_private_address_is_opened_for_its_host_and_range_only() {
    in_namespace(test_name!(), &[Host::new("git.example.com", "10.20.0.5")], || {
        let place = Place::with_harness();
        let ca = TestCa::new();
        place.write("ca.pem", ca.pem());
        let forge = TestForge::start(&ca, &["10.20.0.5:443"]);
        let mut repo = TestRepo::new("org", "skills");
        let commit = repo.commit(&[TestFile::new("skills/style/SKILL.md", SKILL)]);
        forge.add(repo);
        let pin = tree(&[("SKILL.md", SKILL)]);
        let url = format!("https://git.example.com/org/skills/-/tree/{commit}/skills/style#sha256={pin}");
        place.write(
            ".fullsend/harness/code.yaml",
            format!("agent: agents/a.md\nrole: coder\n{LIST}skills:\n  - {url}\n"),
        );
        let unknown = fetch(&place, "");
        assert_eq!(unknown.code, Some(2));
        assert!(unknown.stderr.contains("is not a known forge"), "{}", unknown.stderr);
        for closed in [
            FORGE.to_owned(),
            format!("{FORGE}private_hosts: [{{host: git.example.com, cidr: 10.21.0.0/16}}]\n"),
            format!("{FORGE}private_hosts: [{{host: other.example.com, cidr: 10.20.0.0/16}}]\n"),
            format!("{FORGE}private_hosts: [{{host: git.example.com, port: 8443, cidr: 10.20.0.0/16}}]\n"),
        ] {
            let ran = fetch(&place, &closed);
            assert_eq!(ran.code, Some(2), "{closed}");
            assert!(ran.stderr.contains("private_hosts"), "the way out is named: {}", ran.stderr);
            assert!(!ran.stderr.contains("s3cret"));
        }
        assert_eq!(forge.requests().len(), 0, "nothing was asked while the address was closed");
        let open = fetch(
            &place,
            &format!("{FORGE}private_hosts: [{{host: git.example.com, cidr: 10.20.0.0/16}}]\n"),
        );
        assert_eq!(open.code, Some(0), "{}", open.stderr);
        assert_eq!(open.stderr, "1 remote resource verified, not from the cache\n");
    });
}

#[test]
fn directories_beside_a_base_come_from_any_forge() {
    in_namespace(test_name!(), &hosts(), || {
        let at = ForgePlace::new();
        let base = "agent: agents/code.md\npre_script: scripts/pre.sh\nskills: [skills/style]\n";
        let commit = at.repository(
            "agents",
            &[
                TestFile::new("team/harness/base.yaml", base),
                TestFile::new("team/agents/code.md", "---\nname: c\ndescription: c\n---\nc\n"),
                TestFile::executable("team/scripts/pre.sh", "#!/bin/sh\n"),
                TestFile::new("team/scripts/lib.sh", "# shared\n"),
                TestFile::new("team/skills/style/SKILL.md", SKILL),
            ],
        );
        for url in [
            format!("https://gitlab.com/org/agents/-/blob/{commit}/team/harness/base.yaml"),
            format!("https://github.com/org/agents/blob/{commit}/team/harness/base.yaml"),
            format!("https://raw.githubusercontent.com/org/agents/{commit}/team/harness/base.yaml"),
        ] {
            at.harness(&format!("base: {url}#sha256={}\n", crate::suite::forge_place::sha(base.as_bytes())));
            let found = at.fetched(&[]);
            let fields: Vec<&str> = found.iter().map(|found| found["field"].as_str().unwrap()).collect();
            assert_eq!(fields, ["base", "agent", "skills[0]", "pre_script"], "{url}");
            let scripts = std::path::PathBuf::from(found[3]["path"].as_str().unwrap());
            assert!(scripts.join("lib.sh").is_file(), "{url}");
        }
    });
}
