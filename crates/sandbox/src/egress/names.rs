//! Stand-in addresses for names: each allowed name has one in the session, and a connection to it leads back.

use std::collections::{BTreeMap, HashMap};
use std::net::Ipv4Addr;

/// The first of the stand-ins, which are all of `127.64.0.0/10`: loopback in every network namespace, so no route
/// is needed, and apart from the addresses that programs use.
const FIRST: Ipv4Addr = Ipv4Addr::new(127, 64, 0, 1);
/// How many stand-ins there are.
const STAND_INS: u32 = (1 << 22) - 2;
/// How many names have one at a time.
const MAX_NAMES: usize = 4096;

/// Names with their stand-ins; the names that were used longest ago make room.
#[derive(Debug, Default)]
pub(super) struct Names {
    by_name: HashMap<String, (Ipv4Addr, u64)>,
    by_address: HashMap<Ipv4Addr, String>,
    by_use: BTreeMap<u64, String>,
    uses: u64,
    given: u32,
}

impl Names {
    /// The stand-in of a name, for the first time or again.
    pub(super) fn address(&mut self, name: &str) -> Ipv4Addr {
        if let Some((address, _)) = self.by_name.get(name) {
            let address = *address;
            self.used(name, address);
            return address;
        }
        if self.by_name.len() >= MAX_NAMES {
            self.forget_oldest();
        }
        let address = self.next_free();
        self.by_address.insert(address, name.to_owned());
        self.used(name, address);
        address
    }

    /// The name behind a stand-in.
    pub(super) fn name(&mut self, address: Ipv4Addr) -> Option<String> {
        let name = self.by_address.get(&address)?.clone();
        self.used(&name, address);
        Some(name)
    }

    fn used(&mut self, name: &str, address: Ipv4Addr) {
        self.uses += 1;
        if let Some((_, before)) = self.by_name.insert(name.to_owned(), (address, self.uses)) {
            self.by_use.remove(&before);
        }
        self.by_use.insert(self.uses, name.to_owned());
    }

    fn forget_oldest(&mut self) {
        if let Some((_, name)) = self.by_use.pop_first()
            && let Some((address, _)) = self.by_name.remove(&name)
        {
            self.by_address.remove(&address);
        }
    }

    /// Goes round: a stand-in is given again only after all others have been.
    fn next_free(&mut self) -> Ipv4Addr {
        loop {
            let address = Ipv4Addr::from_bits(FIRST.to_bits() + self.given % STAND_INS);
            self.given = (self.given + 1) % STAND_INS;
            if !self.by_address.contains_key(&address) {
                return address;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_NAMES, Names};

    #[test]
    fn names_keep_their_stand_in_while_they_are_used() {
        let mut names = Names::default();
        let first = names.address("first.test");
        assert_eq!(first.to_string(), "127.64.0.1");
        for number in 0..MAX_NAMES * 2 {
            let address = names.address(&format!("n{number}.test"));
            assert_ne!(address, first);
            assert_eq!(names.name(first).as_deref(), Some("first.test"));
        }
        assert_eq!(names.by_name.len(), MAX_NAMES);
        assert_eq!((names.by_address.len(), names.by_use.len()), (MAX_NAMES, MAX_NAMES));
        assert_eq!(names.address("first.test"), first);
        assert_eq!(names.name("127.64.0.2".parse().unwrap()), None, "forgotten");
        assert_eq!(names.name("127.0.0.1".parse().unwrap()), None);
    }

    #[test]
    fn stand_ins_stay_in_their_range() {
        let mut names = Names { given: super::STAND_INS - 1, ..Names::default() };
        assert_eq!(names.address("last.test").to_string(), "127.127.255.254");
        assert_eq!(names.address("again.test").to_string(), "127.64.0.1");
    }
}
