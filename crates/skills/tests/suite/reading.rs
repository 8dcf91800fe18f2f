//! Reading resources: order of checks, changes since the scan, exchanged files.

use fullsend_skills::{ContentKind, ReadErrorCode, ReadStatus, Registry, ResourceRead};

use crate::suite::place::Place;

fn code(read: &ResourceRead) -> ReadErrorCode {
    assert_eq!((read.status, read.content.as_deref()), (ReadStatus::Error, None));
    read.error.as_ref().unwrap().code
}

fn with_file(content: impl AsRef<[u8]>) -> (Place, Registry) {
    let place = Place::with_skill();
    place.write("skills/a/references/f.md", content);
    let registry = place.scan();
    (place, registry)
}

#[test]
fn text_is_read_up_to_a_limit_and_never_splits_a_character() {
    let (_place, registry) = with_file("aé😀z");
    let cases = [
        (0, "", true),
        (1, "a", true),
        (2, "a", true),
        (3, "aé", true),
        (6, "aé", true),
        (7, "aé😀", true),
        (8, "aé😀z", false),
        (64_000, "aé😀z", false),
    ];
    for (max, content, truncated) in cases {
        let read = registry.read_resource("a", "references/f.md", max);
        let found = (read.status, read.content.as_deref(), read.truncated, read.max_bytes);
        assert_eq!(found, (ReadStatus::Read, Some(content), Some(truncated), Some(max)));
        assert_eq!((read.digest_matches_registry, read.observed_size_bytes), (Some(true), Some(8)));
    }
    let read = registry.read_resource("a", "./references//f.md", usize::MAX);
    assert_eq!((read.path.as_str(), read.max_bytes), ("references/f.md", Some(256_000)));
}

#[test]
fn broken_characters_beyond_the_beginning_are_replaced() {
    let mut bytes = vec![b'x'; 9_000];
    bytes.extend([0xff, b'y']);
    let (_place, registry) = with_file(bytes);
    let read = registry.read_resource("a", "references/f.md", 100_000);
    assert_eq!(read.status, ReadStatus::Read);
    assert!(read.content.unwrap().ends_with("x\u{fffd}y"));
}

#[test]
fn checks_come_in_order() {
    let (place, registry) = with_file("x");
    for path in ["", ".", "..", "../a", "/etc/passwd", "a\0b", "references/../../x"] {
        assert_eq!(
            code(&registry.read_resource("none", path, 1)),
            ReadErrorCode::ResourcePathInvalid,
            "{path:?}"
        );
    }
    assert_eq!(code(&registry.read_resource("none", "x", 1)), ReadErrorCode::SkillNotFound);
    for path in ["x", "SKILL.md", "references"] {
        assert_eq!(code(&registry.read_resource("a", path, 1)), ReadErrorCode::ResourceNotIndexed, "{path}");
    }
    place.write("skills/a/late.md", "x");
    assert_eq!(code(&registry.read_resource("a", "late.md", 1)), ReadErrorCode::ResourceNotIndexed);
}

#[test]
fn binary_files_have_no_content() {
    let (_place, registry) = with_file([0, 0x9f, 0x92, 0x96]);
    let read = registry.read_resource("a", "references/f.md", 100);
    let found = (read.status, read.content, read.truncated, read.content_kind);
    assert_eq!(found, (ReadStatus::Binary, None, Some(false), Some(ContentKind::Binary)));
}

#[test]
fn a_change_is_reported_and_read() {
    let (place, registry) = with_file("old");
    place.write("skills/a/references/f.md", "new");
    let read = registry.read_resource("a", "references/f.md", 100);
    assert_eq!((read.status, read.content.as_deref()), (ReadStatus::Read, Some("new")));
    assert_eq!(read.digest_matches_registry, Some(false));
    assert_eq!((read.registry_size_bytes, read.observed_size_bytes), (Some(3), Some(3)));
    let codes: Vec<_> = read.diagnostics.iter().map(|note| note.rule.code).collect();
    assert_eq!(codes, ["skill-resource-snapshot-mismatch"]);
}

#[test]
fn what_was_put_in_place_of_a_file_is_not_read() {
    type Attack = fn(&Place);
    let cases: [(Attack, ReadErrorCode); 8] = [
        (
            |place| place.replace("skills/a/references/f.md", "../../../secret"),
            ReadErrorCode::ResourceOutsideRoot,
        ),
        (
            |place| place.replace("skills/a/references/f.md", "/etc/passwd"),
            ReadErrorCode::ResourceOutsideRoot,
        ),
        (
            |place| place.replace("skills/a/references/f.md", "/proc/self/environ"),
            ReadErrorCode::ResourceOutsideRoot,
        ),
        (|place| place.replace("skills/a/references", "../../outside"), ReadErrorCode::ResourceOutsideRoot),
        (|place| place.replace("skills/a", "../outside-skill"), ReadErrorCode::ResourceOutsideRoot),
        (|place| place.replace("skills", "outside-root"), ReadErrorCode::ResourceOutsideRoot),
        (
            |place| std::fs::remove_file(place.path("skills/a/references/f.md")).unwrap(),
            ReadErrorCode::ResourceNotFound,
        ),
        (
            |place| {
                std::fs::remove_file(place.path("skills/a/references/f.md")).unwrap();
                std::fs::create_dir(place.path("skills/a/references/f.md")).unwrap();
            },
            ReadErrorCode::ResourceNotFile,
        ),
    ];
    for (number, (attack, expected)) in cases.into_iter().enumerate() {
        let (place, registry) = with_file("mine");
        place.write("secret", "secret");
        place.write("outside/f.md", "secret");
        place.write("outside-skill/references/f.md", "secret");
        place.write("outside-root/a/references/f.md", "secret");
        attack(&place);
        let read = registry.read_resource("a", "references/f.md", 100);
        assert_eq!(code(&read), expected, "attack {number}: {read:?}");
    }
}

#[test]
fn a_link_that_stays_inside_is_a_change_like_any_other() {
    let (place, registry) = with_file("mine");
    place.write("skills/a/other.md", "other");
    place.replace("skills/a/references/f.md", "../other.md");
    let read = registry.read_resource("a", "references/f.md", 100);
    assert_eq!((read.content.as_deref(), read.digest_matches_registry), (Some("other"), Some(false)));
}

impl Place {
    /// Puts a link in the place of something.
    fn replace(&self, name: &str, target: &str) {
        std::fs::rename(self.path(name), self.path("moved-away")).unwrap();
        self.link(name, target);
    }
}
