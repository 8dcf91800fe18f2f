//! What holds for any input.

use fullsend_skills::{AllowedScript, load, name, normalize, tool_requests, validate};
use proptest::prelude::*;

use crate::suite::place::Place;

/// Bytes that come near to a skill.
fn near_skill() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"---\n".to_vec()),
        Just(b"name: s\n".to_vec()),
        Just(b"description: a: b # c\n".to_vec()),
        Just(b"metadata:\n  a: &x [b]\n  c: *x\n".to_vec()),
        Just(b"allowed-tools: Bash(a) (\n".to_vec()),
        Just("\u{feff}".as_bytes().to_vec()),
        Just(b"</skill_context>".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..20),
        "\\PC{0,20}".prop_map(String::into_bytes),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_bytes_are_judged_and_what_is_valid_loads(bytes in near_skill()) {
        let place = Place::new();
        place.write("skills/s/SKILL.md", &bytes);
        place.write("skills/s/scripts/run", &bytes);
        let directory = place.path("skills/s");
        let checked = validate(&directory);
        for problem in &checked.problems {
            prop_assert!(checked.sources.resolve(problem.at).is_some() && !problem.help().is_empty());
        }
        let loaded = load(&directory);
        prop_assert!(loaded.is_ok() || !checked.is_valid());
        let registry = place.scan();
        prop_assert_eq!(registry.skills().len(), usize::from(loaded.is_ok()));
        for skill in registry.skills() {
            let block = skill.prompt_block();
            prop_assert_eq!(block.matches("</skill_context>").count(), 1);
            prop_assert_eq!(registry.read_resource("s", "scripts/run", 7).content.map_or(0, |text| text.len() / 22), 0);
        }
    }

    #[test]
    fn normal_paths_stay_normal_and_inside(path in "[a./\\\\ ]{0,24}") {
        if let Ok(normal) = normalize(&path) {
            prop_assert!(!normal.starts_with('/'));
            prop_assert!(normal.split('/').all(|part| !matches!(part, "" | "." | "..")));
            let trimmed = normal.trim().to_owned();
            prop_assert!(trimmed != normal || normalize(&normal) == Ok(normal));
        }
    }

    #[test]
    fn canonical_names_are_canonical(text in "\\PC{0,40}") {
        let once = name::canonical(&text);
        prop_assert_eq!(name::canonical(&once), once.trim());
        let _judged = (name::is_valid(&once), tool_requests(&text), text.parse::<AllowedScript>().is_ok());
    }
}
