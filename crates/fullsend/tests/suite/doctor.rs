//! `fullsend doctor`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use fullsend_testkit::test_name;
use serde_json::Value;

use crate::suite::running::{Place, Ran};
use crate::suite::users::each_user;

#[test]
fn every_layer_is_there_or_says_how_to_get_it() {
    for user in each_user(test_name!()) {
        let ran = user.run(&["doctor", "--format", "json"]);
        let found: Value = serde_json::from_str(&ran.stdout).unwrap();
        let layers = found["sandbox"]["layers"].as_array().unwrap();
        let is_missing = |layer: &Value| layer["status"] == "missing";
        let limits_are_missing = layers
            .iter()
            .any(|layer| is_missing(layer) && layer["name"].as_str().unwrap().ends_with("limits"));
        let tier = if limits_are_missing { "namespaces" } else { "full" };
        assert_eq!((ran.code, found["sandbox"]["tier"].as_str()), (Some(0), Some(tier)), "{found}");
        for layer in layers {
            let detail = &layer["detail"];
            match layer["status"].as_str().unwrap() {
                "available" => assert!(detail.is_string(), "{layer}"),
                "missing" => {
                    let told = |key: &str| detail[key].as_str().is_some_and(|text| !text.is_empty());
                    assert!(told("why") && told("fix"), "{layer}");
                }
                other => panic!("{other}"),
            }
        }
        let names: Vec<&str> = layers.iter().map(|layer| layer["name"].as_str().unwrap()).collect();
        for expected in ["memory limits", "processor limits", "process limits"] {
            assert!(names.contains(&expected), "{names:?}");
        }
        let text = user.run(&["doctor"]);
        assert!(names.iter().all(|name| text.stdout.contains(name)), "{}", text.stdout);
        assert!(text.stdout.contains(&format!("\nTier {tier}: ")), "{}", text.stdout);
    }
}

#[test]
fn without_a_place_for_state_there_is_no_sandbox() {
    for arguments in [&["doctor"][..], &["sandbox", "exec", "--", "true"]] {
        let output = Place::new().command(arguments).env("XDG_STATE_HOME", "/proc/nowhere").output().unwrap();
        let ran = Ran::from(output);
        let (code, told) = if arguments == ["doctor"] { (1, &ran.stdout) } else { (125, &ran.stderr) };
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(told.contains("/proc/nowhere"), "{ran:?}");
        assert_eq!(told.contains("\nTier none: "), code == 1, "{ran:?}");
    }
}

#[test]
fn without_an_engine_it_says_how_to_get_one() {
    for user in each_user(test_name!()) {
        for (program, expected) in [("docker", "`docker info`"), ("/no/such/podman", "install podman")] {
            let mut command = user.command(&["doctor", "--format", "json", "--docker", program]);
            let ran = Ran::from(command.env("DOCKER_HOST", "unix:///no/such/socket").output().unwrap());
            let found: Value = serde_json::from_str(&ran.stdout).unwrap();
            let layers = found["containers"]["layers"].as_array().unwrap();
            let [engine] = layers.as_slice() else { panic!("{found}") };
            assert_eq!(
                (&engine["name"], &engine["status"]),
                (&"engine".into(), &"missing".into()),
                "{engine}"
            );
            assert!(engine["detail"]["fix"].as_str().unwrap().contains(expected), "{engine}");
            assert_eq!(ran.code, Some(0), "it is not needed: {ran:?}");
        }
    }
}

#[test]
fn it_takes_no_other_format() {
    let ran = Place::new().run(&["doctor", "--format", "xml"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
}

#[test]
fn runtimes_are_named_with_their_place_or_the_way_to_get_them() {
    let place = Place::new();
    let program = place.write("bin/claude", "#!/bin/sh\nexit 1\n");
    // Something that cannot be run is no program.
    place.write("bin/codex", "not a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let run = |arguments: &[&str]| {
        Ran::from(place.command(arguments).env("PATH", place.path().join("bin")).output().unwrap())
    };
    let ran = run(&["doctor", "--format", "json"]);
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    let layers = found["run"]["layers"].as_array().unwrap();
    let found: Vec<(&str, &str)> = layers
        .iter()
        .map(|layer| (layer["name"].as_str().unwrap(), layer["status"].as_str().unwrap()))
        .collect();
    let expected = [
        ("native", "available"),
        ("claude", "available"),
        ("codex", "missing"),
        ("opencode", "missing"),
        ("git", "missing"),
    ];
    assert_eq!(found, expected);
    let text = run(&["doctor"]).stdout;
    for part in [&*program.display().to_string(), "install Codex CLI", "install the package `git`"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
