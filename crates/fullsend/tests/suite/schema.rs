//! `fullsend harness schema` and `rules`.

use serde_json::Value;

use crate::suite::running::Place;

#[test]
fn every_key_of_every_kind_is_described() {
    for kind in ["harness", "config", "agent", "provider", "sandbox-policy", "chat-protocol"] {
        let ran = Place::new().run(&["harness", "schema", "--kind", kind]);
        assert_eq!(ran.code, Some(0));
        let schema: Value = serde_json::from_str(&ran.stdout).unwrap();
        let definitions =
            schema["definitions"].as_object().into_iter().flat_map(|definitions| definitions.values());
        let mut keys = 0;
        for record in definitions.chain([&schema]).filter_map(|record| record["properties"].as_object()) {
            for (key, property) in record {
                let platform = ["github", "gitlab", "jira"].contains(&key.as_str());
                assert!(platform || property["description"].is_string(), "{kind}: {key}");
                keys += 1;
            }
        }
        assert!(keys >= 4, "{kind}");
        let page = Place::new().run(&["harness", "schema", "--kind", kind, "--format", "markdown"]).stdout;
        assert!(page.starts_with("# "), "{page}");
    }
}

#[test]
fn rules_are_listed_in_each_format() {
    let place = Place::new();
    let rules: Value =
        serde_json::from_str(&place.run(&["harness", "rules", "--format", "json"]).stdout).unwrap();
    let text = place.run(&["harness", "rules"]).stdout;
    let page = place.run(&["harness", "rules", "--format", "markdown"]).stdout;
    let codes: Vec<&str> =
        rules.as_array().unwrap().iter().map(|rule| rule["code"].as_str().unwrap()).collect();
    assert!(codes.len() > 40);
    for code in &codes {
        assert_eq!(codes.iter().filter(|other| *other == code).count(), 1, "{code} stands twice");
        assert!(text.contains(code) && page.contains(code), "{code}");
    }
}
