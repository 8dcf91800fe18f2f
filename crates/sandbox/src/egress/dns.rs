//! DNS messages (RFC 1035), as far as one question about an address needs them.

use std::net::Ipv4Addr;

/// How long an answer may be kept, in seconds.
const TTL: u32 = 5;
const HEADER: usize = 12;
const TYPE_A: u16 = 1;
const TYPE_AAAA: u16 = 28;
const CLASS_IN: u16 = 1;
/// The longest name on the wire.
const MAX_NAME: usize = 255;

/// What is asked about a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Its IPv4 addresses.
    V4,
    /// Its IPv6 addresses.
    V6,
    /// Anything else.
    Other,
}

/// A query that has been understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Query {
    /// The name, labels joined with dots; not checked in any way.
    pub(super) name: String,
    /// What is asked.
    pub(super) wanted: Wanted,
    head: [u8; 4],
    question: Vec<u8>,
}

/// What a message is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// A query with one question.
    Query(Query),
    /// A query that makes no sense, and the answer to it.
    Malformed(Vec<u8>),
    /// Not a query: an answer would only feed a loop.
    Noise,
}

/// What a query is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// An address.
    Address(Ipv4Addr),
    /// The name exists but has nothing of that kind.
    NoData,
    /// Not for you.
    Refused,
}

/// Reads a message.
pub(super) fn read(message: &[u8]) -> Message {
    let (Some(head), Some(counts)) = (message.first_chunk::<4>(), message.get(4..HEADER)) else {
        return Message::Noise;
    };
    let [_, _, flags, _] = *head;
    if flags & 0x80 != 0 {
        return Message::Noise;
    }
    let is_query = flags & 0x78 == 0 && counts.starts_with(&[0, 1, 0, 0]);
    let question = message.get(HEADER..).filter(|_| is_query).and_then(read_question);
    match question {
        Some((name, kind, class, length)) => {
            let wanted = match (kind, class) {
                (TYPE_A, CLASS_IN) => Wanted::V4,
                (TYPE_AAAA, CLASS_IN) => Wanted::V6,
                _ => Wanted::Other,
            };
            let question = message.get(HEADER..HEADER + length).unwrap_or_default().to_vec();
            Message::Query(Query { name, wanted, head: *head, question })
        }
        None => Message::Malformed(reply(*head, Code::FormatError, &[], None)),
    }
}

/// The answer as a message.
pub(super) fn write(query: &Query, answer: Answer) -> Vec<u8> {
    match answer {
        Answer::Address(address) => reply(query.head, Code::NoError, &query.question, Some(address)),
        Answer::NoData => reply(query.head, Code::NoError, &query.question, None),
        Answer::Refused => reply(query.head, Code::Refused, &query.question, None),
    }
}

/// Name, type, class and length of the question at the start of `bytes`.
fn read_question(bytes: &[u8]) -> Option<(String, u16, u16, usize)> {
    let mut labels = Vec::new();
    let mut rest = bytes;
    loop {
        let (length, after) = rest.split_first()?;
        // Lengths above 63 are compression or reserved; the first name of a message has nothing to point to.
        if *length > 63 {
            return None;
        }
        let (label, after) = after.split_at_checked(usize::from(*length))?;
        rest = after;
        if label.is_empty() {
            break;
        }
        labels.push(std::str::from_utf8(label).ok().filter(|label| !label.contains('.'))?);
    }
    let name_length = bytes.len() - rest.len();
    let numbers = rest.first_chunk::<4>()?;
    let [kind_high, kind_low, class_high, class_low] = *numbers;
    let kind = u16::from_be_bytes([kind_high, kind_low]);
    let class = u16::from_be_bytes([class_high, class_low]);
    (name_length <= MAX_NAME).then(|| (labels.join("."), kind, class, name_length + numbers.len()))
}

#[derive(Clone, Copy)]
enum Code {
    NoError = 0,
    FormatError = 1,
    Refused = 5,
}

fn reply(
    [id_high, id_low, flags, _]: [u8; 4],
    code: Code,
    question: &[u8],
    address: Option<Ipv4Addr>,
) -> Vec<u8> {
    let questions = u8::from(!question.is_empty());
    let answers = u8::from(address.is_some());
    // An answer, with the recursion that was asked for and available recursion.
    let mut message = vec![id_high, id_low, 0x80 | flags & 0x79, 0x80 | code as u8];
    message.extend([0, questions, 0, answers, 0, 0, 0, 0]);
    message.extend(question);
    if let Some(address) = address {
        // A pointer to the name in the question, type, class, time to live, length, address.
        message.extend([0xc0, 12, 0, 1, 0, 1]);
        message.extend(TTL.to_be_bytes());
        message.extend([0, 4]);
        message.extend(address.octets());
    }
    message
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Answer, Message, Wanted, read, write};

    fn query(name: &str, kind: u16) -> Vec<u8> {
        let mut bytes = vec![0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.').filter(|label| !label.is_empty()) {
            bytes.push(u8::try_from(label.len()).unwrap());
            bytes.extend(label.as_bytes());
        }
        bytes.push(0);
        bytes.extend(kind.to_be_bytes());
        bytes.extend([0, 1]);
        bytes
    }

    #[test]
    fn queries_are_read_and_answered() {
        let bytes = query("Ok.test", 1);
        let Message::Query(parsed) = read(&bytes) else { panic!("not a query") };
        assert_eq!((parsed.name.as_str(), parsed.wanted), ("Ok.test", Wanted::V4));
        let answer = write(&parsed, Answer::Address("127.64.0.1".parse().unwrap()));
        let head = [0xab, 0xcd, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0];
        let record = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4, 127, 64, 0, 1];
        assert_eq!(answer, [&head[..], &bytes[12..], &record].concat());
        assert_eq!(write(&parsed, Answer::NoData)[3..8], [0x80, 0, 1, 0, 0]);
        assert_eq!(write(&parsed, Answer::Refused)[3..8], [0x85, 0, 1, 0, 0]);
        for (kind, wanted) in [(28, Wanted::V6), (16, Wanted::Other), (255, Wanted::Other)] {
            assert!(matches!(read(&query("ok.test", kind)), Message::Query(query) if query.wanted == wanted));
        }
    }

    #[test]
    fn queries_that_make_no_sense_are_told_so() {
        let mut two_questions = query("ok.test", 1);
        two_questions[5] = 2;
        let mut update = query("ok.test", 1);
        update[2] = 5 << 3;
        let mut pointer = query("ok.test", 1);
        pointer[12] = 0xc0;
        let long_name = query(&["a123456789012345678901234567890"; 9].join("."), 1);
        let truncated = query("ok.test", 1)[..20].to_vec();
        for bytes in [two_questions, update, pointer, long_name, truncated] {
            let Message::Malformed(answer) = read(&bytes) else { panic!("{bytes:?}") };
            assert_eq!((answer.len(), answer[3] & 15), (12, 1));
        }
        let mut answer = query("ok.test", 1);
        answer[2] |= 0x80;
        assert_eq!((read(&answer), read(&[0; 11])), (Message::Noise, Message::Noise));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Message::Query(query) = read(&bytes) {
                let _ = write(&query, Answer::Refused);
            }
            let _ = read(&[&[0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0], &bytes[..]].concat());
        }
    }
}
