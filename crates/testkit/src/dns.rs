//! A name server that answers from a script and remembers every question.
//!
//! It writes DNS by hand: answers that change from one question to the next are what a hostile server sends.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::net::{IpAddr, UdpSocket};
use std::path::Path;

/// The types of records that it knows.
const ADDRESS_V4: u16 = 1;
const ADDRESS_V6: u16 = 28;

/// Names with their answers: one after the other, the last one for all further questions.
pub type Zone = HashMap<String, Vec<Vec<IpAddr>>>;

/// Makes a zone of names, each with a list of answers, each a list of addresses.
pub fn zone(names: &[(&str, &[&[&str]])]) -> Zone {
    let parse = |answer: &&[&str]| {
        answer.iter().map(|address| address.parse().expect("an IP address")).collect::<Vec<IpAddr>>()
    };
    let named = |(name, answers): &(&str, &[&[&str]])| {
        ((*name).to_owned(), answers.iter().map(parse).collect::<Vec<_>>())
    };
    names.iter().map(named).collect()
}

/// Serves `zone` on `address` from a thread, until the process ends. Every question becomes a line `TYPE name` of the
/// file `log`, with the type as a number.
pub fn serve_names(address: &str, zone: Zone, log: &Path) {
    let socket = UdpSocket::bind(address).expect("an address for the name server");
    let log = OpenOptions::new().append(true).create(true).open(log).expect("the log of the name server");
    let mut server = NameServer { zone, asked: HashMap::new(), log };
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok((length, peer)) = socket.recv_from(&mut buffer) {
            let answer = buffer.get(..length).and_then(|query| server.answer(query));
            // A peer that does not wait for its answer is its own business.
            drop(answer.map(|answer| socket.send_to(&answer, peer)));
        }
    });
}

struct NameServer {
    zone: Zone,
    /// How often the address of a name was asked for.
    asked: HashMap<String, usize>,
    log: File,
}

impl NameServer {
    fn answer(&mut self, query: &[u8]) -> Option<Vec<u8>> {
        let (name, kind, question) = question(query)?;
        writeln!(self.log, "{kind} {name}").expect("a line in the log of the name server");
        let known = self.zone.get(&name);
        // The two questions of one look-up get the same answer: only one of them counts.
        let count = self.asked.entry(name).or_default();
        let answers = known.and_then(|answers| answers.get(*count).or(answers.last()));
        if kind == ADDRESS_V4 {
            *count += 1;
        }
        let records: Vec<Vec<u8>> =
            answers.into_iter().flatten().filter_map(|address| record(kind, *address)).collect();
        let code = if known.is_some() { 0x80 } else { 0x83 };
        let number = u16::try_from(records.len()).ok()?.to_be_bytes();
        let head = [query.get(..2)?, &[0x85, code, 0, 1], &number, &[0, 0, 0, 0]].concat();
        Some([head, question, records.concat()].concat())
    }
}

/// The name, the type and the bytes of the only question of a query.
fn question(query: &[u8]) -> Option<(String, u16, Vec<u8>)> {
    let mut labels = Vec::new();
    let mut at = 12;
    loop {
        let length = usize::from(*query.get(at)?);
        if length == 0 {
            break;
        }
        labels.push(String::from_utf8_lossy(query.get(at + 1..at + 1 + length)?).to_ascii_lowercase());
        at += 1 + length;
    }
    let kind = query.get(at + 1..at + 3)?.try_into().ok().map(u16::from_be_bytes)?;
    Some((labels.join("."), kind, query.get(12..at + 5)?.to_vec()))
}

/// An answer of the wanted type that holds for no time at all.
fn record(kind: u16, address: IpAddr) -> Option<Vec<u8>> {
    let bytes = match (kind, address) {
        (ADDRESS_V4, IpAddr::V4(address)) => address.octets().to_vec(),
        (ADDRESS_V6, IpAddr::V6(address)) => address.octets().to_vec(),
        _ => return None,
    };
    let head = [0xc0, 12, 0, u8::try_from(kind).ok()?, 0, 1, 0, 0, 0, 0, 0, u8::try_from(bytes.len()).ok()?];
    Some([head.to_vec(), bytes].concat())
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::{serve_names, zone};

    #[test]
    fn answers_come_one_after_the_other() {
        let log = std::env::temp_dir().join(format!("fullsend-testkit-dns-{}", std::process::id()));
        let address = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let names = zone(&[("a.test", &[&["1.2.3.4"], &["10.0.0.1", "2001:db8::1"]])]);
        serve_names(&address.to_string(), names, &log);
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.connect(address).unwrap();
        let ask = |name: &[u8], kind: u8| {
            let query = [&[7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0], name, &[0, 0, kind, 0, 1]].concat();
            client.send(&query).unwrap();
            let mut buffer = [0; 512];
            let length = client.recv(&mut buffer).unwrap();
            buffer[..length].to_vec()
        };
        let known = b"\x01A\x04test";
        assert!(ask(known, 1).ends_with(&[1, 2, 3, 4]));
        for _ in 0..2 {
            assert!(ask(known, 28).ends_with(&[0, 1]));
            assert!(ask(known, 1).ends_with(&[10, 0, 0, 1]));
        }
        assert_eq!(ask(b"\x01b\x04test", 1)[3] & 15, 3, "an unknown name");
        assert!(std::fs::read_to_string(&log).unwrap().ends_with("1 a.test\n1 b.test\n"));
        std::fs::remove_file(log).unwrap();
    }
}
