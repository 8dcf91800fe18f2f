//! `fullsend pin`.

use fullsend_testkit::{TestFile, TestRepo, in_namespace, test_name};

use crate::suite::forge_place::{AGENT, ForgePlace, hosts, sha, tree};
use crate::suite::running::{Place, Ran};

#[test]
fn local_files_and_directories_are_hashed() {
    let place = Place::with_harness();
    let file = place.run(&["pin", ".fullsend/agents/a.md"]);
    let text = std::fs::read(place.path().join(".fullsend/agents/a.md")).unwrap();
    assert_eq!((file.code, file.stdout), (Some(0), format!("{}\n", sha(&text))));
    place.write("tree/a.txt", "alpha");
    place.write("tree/b.txt", "bravo");
    place.write("tree/c.txt", "charlie");
    place.write("tree/.git/config", "not part of it");
    assert_eq!(
        place.run(&["pin", "tree"]).stdout,
        "8ad7e63122fe5cc69b9e5a51c4824299c0c8f476f98e84e8fe9a805bbba7495a\n"
    );
    std::os::unix::fs::symlink("a.txt", place.path().join("tree/link")).unwrap();
    let ran = place.run(&["pin", "tree"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("`tree/link` is neither a regular file nor a directory"), "{}", ran.stderr);
    assert_eq!(place.run(&["pin", "nowhere"]).code, Some(2));
}

#[test]
fn urls_are_pinned_and_pins_written_in_place() {
    in_namespace(test_name!(), &hosts(), || {
        let at = ForgePlace::new();
        let commit = at.repository(
            "agents",
            &[TestFile::new("agents/code.md", AGENT), TestFile::new("skills/s/SKILL.md", "# S\n")],
        );
        let blob = format!("https://github.com/org/agents/blob/{commit}/agents/code.md");
        let ran = at.run(&["pin", &blob]);
        assert_eq!(
            (ran.code, ran.stdout),
            (Some(0), format!("{blob}#sha256={}\n", sha(AGENT.as_bytes()))),
            "{}",
            ran.stderr
        );
        let skill = format!("https://github.com/org/agents/tree/{commit}/skills/s");
        let pinned = format!("{skill}#sha256={}", tree(&[("SKILL.md", "# S\n")]));
        assert_eq!(at.run(&["pin", &skill]).stdout, format!("{pinned}\n"));
        at.harness(&format!("agent: agents/a.md\nskills:\n  - {skill} # reviewed in May\n"));
        let file = at.place.path().join(".fullsend/harness/code.yaml");
        let ran = at.run(&["pin", "--write", file.to_str().unwrap(), &skill]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains(&format!("  - {pinned} # reviewed in May\n")), "{text}");
        assert_eq!(at.fetched(&[]).len(), 1);
        let ran = at.run(&["pin", &format!("https://github.com/org/agents/blob/{commit}/gone.md")]);
        assert_eq!(ran.code, Some(2));
        assert!(ran.stderr.contains("was not found"), "{}", ran.stderr);
    });
}

#[test]
fn files_of_private_repositories_need_the_token_and_their_page() {
    in_namespace(test_name!(), &hosts(), || {
        let at = ForgePlace::new();
        let mut repo = TestRepo::new("org", "private").private();
        let commit = repo.commit(&[TestFile::new("agents/code.md", AGENT)]);
        at.forge.add(repo);
        at.forge.accept_token("ghp_s3cret", &["org/private"], 404);
        let url = format!("https://github.com/org/private/blob/{commit}/agents/code.md");
        let without = at.run(&["pin", &url]);
        assert_eq!(without.code, Some(2));
        assert!(without.stderr.contains("GH_TOKEN"), "the way in is named: {}", without.stderr);
        let mut command = at.place.command(&["pin", &url]);
        command.env("SSL_CERT_FILE", at.place.path().join("ca.pem")).env("GH_TOKEN", "ghp_s3cret");
        let with = Ran::from(command.output().unwrap());
        assert_eq!(with.stdout, format!("{url}#sha256={}\n", sha(AGENT.as_bytes())), "{}", with.stderr);
        let elsewhere = at
            .forge
            .requests()
            .into_iter()
            .filter(|request| request.sni.as_deref() != Some("api.github.com"));
        assert!(elsewhere.into_iter().all(|request| request.header("authorization").is_none()));
    });
}
