//! Every change to a log shows.

use fullsend_guard::log::{Broken, Phase, Place, Problem, SEED, Verdict, verify_bytes};
use proptest::prelude::*;

use crate::suite::log::{create, finding, place};

/// A sealed log of three entries, as lines with their ends, and its last hash.
fn sample() -> (Vec<Vec<u8>>, String) {
    let (_directory, path) = place();
    let log = create(&path);
    for detail in ["one", "two", "three"] {
        let at = Place { phase: Phase::HookPreTool, tool: Some("Bash"), path: None };
        log.append(at, &finding(detail)).unwrap();
    }
    let head = log.seal().unwrap();
    let bytes = std::fs::read(path).unwrap();
    (bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect(), head)
}

fn broken(at: u64, problem: Problem) -> Verdict {
    Verdict::Broken(Broken { at, problem })
}

#[test]
fn any_changed_byte_shows() {
    let (lines, head) = sample();
    let whole = lines.concat();
    assert_eq!(verify_bytes(&whole, Some(&head)), Verdict::Sealed { entries: 3, head });
    for at in 0..whole.len() {
        let line = whole[..at].iter().filter(|byte| **byte == b'\n').count();
        for other in [whole[at] ^ 1, whole[at] ^ 0x20, b' ', 0xff] {
            let mut changed = whole.clone();
            changed[at] = other;
            match verify_bytes(&changed, None) {
                Verdict::Broken(broken) => {
                    assert_eq!(broken.at, line as u64, "byte {at} as {other}: {broken}")
                }
                verdict @ (Verdict::Sealed { .. } | Verdict::Unsealed { .. }) => {
                    assert_eq!(whole, changed, "byte {at} as {other}: {verdict:?}")
                }
            }
        }
    }
}

#[test]
fn any_removed_or_added_byte_shows() {
    let (lines, _) = sample();
    let whole = lines.concat();
    for at in 0..whole.len() {
        let mut shorter = whole.clone();
        shorter.remove(at);
        assert!(matches!(verify_bytes(&shorter, None), Verdict::Broken(_)), "without byte {at}");
        for added in [b' ', b'\n', b'0'] {
            let mut longer = whole.clone();
            longer.insert(at, added);
            assert!(matches!(verify_bytes(&longer, None), Verdict::Broken(_)), "{added} at {at}");
        }
    }
}

#[test]
fn changes_of_whole_lines_show() {
    let (lines, head) = sample();
    let [one, two, three, seal] = lines.try_into().unwrap();
    let unhashed = br#"{"seq":1,"trace_id":"00000000-0000-4000-8000-000000000001","phase":"hook_pretool","detail":"all is well"}
"#
    .to_vec();
    let replaced = |line: &[u8], from: &str, to: &str| {
        String::from_utf8(line.to_vec()).unwrap().replacen(from, to, 1).into_bytes()
    };
    let head_of_three = String::from_utf8(seal.clone()).unwrap();
    let head_of_three = &head_of_three.split("\"prev_hash\":\"").nth(1).unwrap()[..64];
    let table: Vec<(&str, Vec<&[u8]>, Verdict)> = vec![
        ("two swapped", vec![&two, &one, &three, &seal], broken(0, Problem::NotChained)),
        ("first dropped", vec![&two, &three, &seal], broken(0, Problem::NotChained)),
        // K05
        ("middle dropped", vec![&one, &three, &seal], broken(1, Problem::NotChained)),
        ("last finding dropped", vec![&one, &two, &seal], broken(2, Problem::NotChained)),
        (
            "seal dropped",
            vec![&one, &two, &three],
            Verdict::Unsealed { entries: 3, head: head_of_three.to_owned() },
        ),
        ("everything dropped", vec![], Verdict::Unsealed { entries: 0, head: SEED.to_owned() }),
        ("one doubled", vec![&one, &one, &two, &three, &seal], broken(1, Problem::NotChained)),
        ("unhashed line between", vec![&one, &unhashed, &two, &three, &seal], broken(1, Problem::NotAnEntry)),
        ("finding after the seal", vec![&one, &two, &three, &seal, &one], broken(4, Problem::AfterSeal)),
        ("second seal", vec![&one, &two, &three, &seal, &seal], broken(4, Problem::AfterSeal)),
        ("text after the seal", vec![&one, &two, &three, &seal, b"x"], broken(4, Problem::AfterSeal)),
        ("blank line", vec![&one, b"\n", &two], broken(1, Problem::Blank)),
        ("blank line at the end", vec![&one, &two, b" \n"], broken(2, Problem::Blank)),
        ("blank line first", vec![b"\r\n", &one], broken(0, Problem::Blank)),
        ("not JSON", vec![&one, b"oops\n"], broken(1, Problem::NotAnEntry)),
        ("an array", vec![&one, b"[1]\n"], broken(1, Problem::NotAnEntry)),
        ("not UTF-8", vec![&one, b"\xff\n"], broken(1, Problem::NotAnEntry)),
        ("torn line", vec![&one, &two[..40]], broken(1, Problem::Unfinished)),
        ("no line end", vec![&one, &two[..two.len() - 1]], broken(1, Problem::Unfinished)),
    ];
    for (name, lines, expected) in table {
        assert_eq!(verify_bytes(&lines.concat(), None), expected, "{name}");
        assert!(
            !matches!(
                verify_bytes(&lines.concat(), Some(&head)),
                Verdict::Sealed { .. } | Verdict::Unsealed { .. }
            ),
            "{name}: the last hash was kept elsewhere"
        );
    }
    let respelled = [
        ("CRLF", replaced(&two, "\n", "\r\n")),
        ("space", replaced(&two, ",\"phase\"", ", \"phase\"")),
        ("unknown member", replaced(&two, ",\"phase\"", ",\"note\":1,\"phase\"")),
        ("doubled member", replaced(&two, ",\"hash\"", ",\"tool\":\"Bash\",\"hash\"")),
        ("null member", replaced(&two, ",\"prev_hash\"", ",\"path\":null,\"prev_hash\"")),
        ("escape", replaced(&two, "\"two\"", "\"tw\\u006f\"")),
        ("number", replaced(&two, "\"position\":-1", "\"position\":-1.0")),
        ("order", replaced(&replaced(&two, "\"seq\":1,", ""), ",\"hash\"", ",\"seq\":1,\"hash\"")),
    ];
    for (name, line) in respelled {
        let Verdict::Broken(broken) = verify_bytes(&[&one[..], &line].concat(), None) else {
            panic!("{name}")
        };
        assert!(matches!(broken.problem, Problem::Respelled | Problem::NotAnEntry), "{name}: {broken}");
        assert_eq!(broken.at, 1, "{name}");
    }
}

#[test]
fn a_log_cut_at_a_line_is_told_from_a_whole_one_by_its_head() {
    let (lines, head) = sample();
    let cut = lines[..2].concat();
    assert!(matches!(verify_bytes(&cut, None), Verdict::Unsealed { entries: 2, .. }));
    let Verdict::Broken(broken) = verify_bytes(&cut, Some(&head)) else { panic!() };
    assert_eq!(broken.at, 1);
    assert!(matches!(broken.problem, Problem::OtherHead { .. }), "{broken}");
    assert!(matches!(verify_bytes(b"", Some(&head)), Verdict::Broken(_)));
}

#[test]
fn a_line_over_64_kib_is_read_and_one_over_the_limit_is_not_kept() {
    let (lines, _) = sample();
    for (length, problem) in [(100_000, Problem::NotAnEntry), (3 << 20, Problem::TooLong)] {
        let long = [&lines[0][..], &vec![b'x'; length], b"\n"].concat();
        assert_eq!(verify_bytes(&long, None), broken(1, problem.clone()), "{length}");
        let (_directory, path) = place();
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &long).unwrap();
        assert_eq!(
            fullsend_guard::log::verify(&path, None).unwrap(),
            broken(1, problem),
            "{length} in a file"
        );
    }
}

proptest! {
    #[test]
    fn what_is_written_verifies_and_reads_back(details in proptest::collection::vec(any::<String>(), 0..8), tool in any::<Option<String>>()) {
        let (_directory, path) = place();
        let log = create(&path);
        for detail in &details {
            let at = Place { phase: Phase::HookPostTool, tool: tool.as_deref(), path: Some(detail) };
            log.append(at, &finding(detail)).unwrap();
        }
        let head = log.seal().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        prop_assert_eq!(verify_bytes(&bytes, Some(&head)), Verdict::Sealed { entries: details.len() as u64, head });
        let read = crate::suite::log::entries(&path);
        let found: Vec<_> = details.iter().map(|detail| finding(detail).finding.detail().to_owned()).collect();
        let written: Vec<_> = read[..details.len()].iter().map(|chained| chained.entry.detail.clone()).collect();
        prop_assert_eq!(found, written);
    }

    #[test]
    fn any_bytes_have_a_verdict(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let verdict = verify_bytes(&bytes, None);
        prop_assert!(bytes.is_empty() || matches!(verdict, Verdict::Broken(_)));
    }
}
