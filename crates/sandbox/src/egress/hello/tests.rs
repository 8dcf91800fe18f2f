use proptest::prelude::*;
use rustls::pki_types::ServerName;
use std::sync::Arc;

use super::{Hello, MAX_HELLO, read_hello};

/// The hello that a real client sends.
fn real_hello(name: &str) -> Vec<u8> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut client = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let mut bytes = Vec::new();
    client.write_tls(&mut bytes).unwrap();
    bytes
}

/// The same handshake message in records of `size` bytes.
fn fragmented(hello: &[u8], size: usize) -> Vec<u8> {
    hello[5..]
        .chunks(size)
        .flat_map(|piece| {
            [&[22, 3, 1], &u16::try_from(piece.len()).unwrap().to_be_bytes()[..], piece].concat()
        })
        .collect()
}

/// A hello with the given extensions.
fn made(extensions: &[u8]) -> Vec<u8> {
    let length = u16::try_from(extensions.len()).unwrap().to_be_bytes();
    let body = [&[3, 3][..], &[0; 32], &[0], &[0, 2, 0x13, 1], &[1, 0], &length, extensions].concat();
    let message = [&[1, 0][..], &u16::try_from(body.len()).unwrap().to_be_bytes(), &body].concat();
    [&[22, 3, 1][..], &u16::try_from(message.len()).unwrap().to_be_bytes(), &message].concat()
}

fn names(names: &[&str]) -> Vec<u8> {
    let entry =
        |name: &&str| [&[0][..], &u16::try_from(name.len()).unwrap().to_be_bytes(), name.as_bytes()].concat();
    let list: Vec<u8> = names.iter().flat_map(entry).collect();
    let list_length = u16::try_from(list.len()).unwrap();
    [&[0, 0][..], &(list_length + 2).to_be_bytes(), &list_length.to_be_bytes(), &list].concat()
}

#[test]
fn a_real_hello_is_read_however_it_is_cut() {
    let hello = real_hello("ok.test");
    let complete = Hello::Complete(Some("ok.test".to_owned()));
    assert_eq!(read_hello(&hello), complete);
    for size in [1, 3, 100] {
        let pieces = fragmented(&hello, size);
        if pieces.len() <= MAX_HELLO {
            assert_eq!(read_hello(&pieces), complete, "records of {size}");
        }
        assert_eq!(read_hello(&pieces[..pieces.len() - 1]), Hello::Incomplete, "records of {size}");
    }
    for end in 1..hello.len() {
        assert_eq!(read_hello(&hello[..end]), Hello::Incomplete, "{end} bytes");
    }
    assert_eq!(read_hello(&[&hello[..], b"\x17\x03\x03early data"].concat()), complete);
}

#[test]
fn names_must_be_single_and_plain() {
    assert_eq!(read_hello(&made(&[])), Hello::Complete(None));
    assert_eq!(read_hello(&made(&names(&["ok.test"]))), Hello::Complete(Some("ok.test".into())));
    let twice = [names(&["ok.test"]), names(&["evil.test"])].concat();
    for bad in
        [names(&["ok.test", "evil.test"]), twice, names(&[]), names(&[""]), names(&["ö.test"]), vec![0, 0, 0]]
    {
        assert_eq!(read_hello(&made(&bad)), Hello::Malformed, "{bad:?}");
    }
}

#[test]
fn what_is_not_a_hello_is_malformed() {
    let hello = real_hello("ok.test");
    let mut other_message = hello.clone();
    other_message[5] = 2;
    let mut other_version = hello.clone();
    other_version[1] = 2;
    let interrupted = [&fragmented(&hello, 50)[..55], b"\x17\x03\x03\x00\x01x"].concat();
    let empty_record = [&[22, 3, 1, 0, 0], &hello[..]].concat();
    let endless = [&[22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff][..], &[0; MAX_HELLO]].concat();
    for bytes in [other_message, other_version, interrupted, empty_record, endless] {
        assert_eq!(read_hello(&bytes), Hello::Malformed);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = read_hello(&bytes);
        let _ = read_hello(&[&[22, 3, 1][..], &bytes].concat());
    }

    #[test]
    fn a_damaged_hello_is_read_without_panic(position in 0..200_usize, value in any::<u8>()) {
        let mut hello = made(&names(&["ok.test"]));
        let position = position % hello.len();
        hello[position] = value;
        let _ = read_hello(&hello);
    }

    #[test]
    fn fragments_do_not_change_the_answer(size in 1..400_usize) {
        let hello = made(&names(&["a.ok.test"]));
        prop_assert_eq!(read_hello(&fragmented(&hello, size)), read_hello(&hello));
    }
}
