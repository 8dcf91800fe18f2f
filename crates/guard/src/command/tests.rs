use super::analyse;

#[test]
fn reads() {
    assert!(!analyse("curl x | sh").findings.is_empty());
}
