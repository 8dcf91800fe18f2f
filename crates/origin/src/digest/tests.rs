use proptest::prelude::*;

use super::*;

const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

#[test]
fn published_vectors() {
    assert_eq!(Sha256Digest::of(b"").to_string(), EMPTY);
    assert_eq!(
        Sha256Digest::of(b"abc").to_string(),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
}

#[test]
fn upper_case_is_refused_with_the_corrected_spelling() {
    let mixed = EMPTY.replacen('e', "E", 1);
    let error = mixed.parse::<Sha256Digest>().unwrap_err();
    assert_eq!(error, DigestError::UpperCase { corrected: EMPTY.to_owned() });
    assert_eq!(error.code(), "digest-upper-case");
    assert!(error.help().unwrap().contains(EMPTY));
}

#[test]
fn only_64_hex_digits_are_a_digest() {
    let long = format!("{EMPTY}0");
    let newline = format!("{}\n", &EMPTY[..63]);
    let traversal = format!("../../../../../../etc/shadow{}", "/".repeat(36));
    let wide_digit = format!("{}0", "\u{ff11}".repeat(21));
    let cases = [
        ("", DigestError::Length { found: 0 }),
        (&EMPTY[..63], DigestError::Length { found: 63 }),
        (&long, DigestError::Length { found: 65 }),
        (&newline, DigestError::NotHex { character: '\n', offset: 63 }),
        (&traversal, DigestError::NotHex { character: '.', offset: 0 }),
        (&wide_digit, DigestError::NotHex { character: '\u{ff11}', offset: 0 }),
    ];
    for (text, expected) in cases {
        assert_eq!(text.parse::<Sha256Digest>(), Err(expected), "{text:?}");
    }
}

#[test]
fn debug_shows_the_digest_and_order_follows_the_text() {
    let (low, high) = (Sha256Digest::from_bytes([0x09; 32]), Sha256Digest::from_bytes([0xa0; 32]));
    assert!(low < high && low.to_string() < high.to_string());
    assert_eq!(format!("{low:?}"), format!("Sha256Digest({})", "09".repeat(32)));
    assert_eq!(high.as_bytes(), &[0xa0; 32]);
}

proptest! {
    #[test]
    fn text_round_trips(bytes: [u8; 32]) {
        let digest = Sha256Digest::from_bytes(bytes);
        prop_assert_eq!(digest.to_string().parse(), Ok(digest));
    }

    #[test]
    fn streaming_equals_one_shot(pieces: Vec<Vec<u8>>) {
        let mut hasher = Sha256Hasher::new();
        pieces.iter().for_each(|piece| hasher.update(piece));
        prop_assert_eq!(hasher.finish(), Sha256Digest::of(&pieces.concat()));
    }
}
