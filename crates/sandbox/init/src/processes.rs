//! Finding and ending everything that a command has started.
//!
//! A process that is forked while others are being killed must not get away: all are stopped first, until a look at the
//! process table finds nobody new, and killed only then.

use std::collections::{BTreeMap, BTreeSet};

use crate::kernel::signals;

/// Each round of a runaway fork bomb finds fewer processes that are not stopped; the number is only a backstop.
const MOST_ROUNDS: usize = 1000;

/// Ends every descendant of a process; the process itself lives on.
pub fn kill_below(root: i32) {
    kill_all(|parents| descendants(parents, root));
}

/// Ends everyone but process 1, the given processes, and their descendants.
pub fn kill_all_except(spared: &[i32]) {
    kill_all(|parents| {
        let kept: BTreeSet<i32> = spared
            .iter()
            .flat_map(|root| descendants(parents, *root))
            .chain(spared.iter().copied())
            .collect();
        parents.keys().copied().filter(|pid| *pid != 1 && !kept.contains(pid)).collect()
    });
}

fn kill_all(victims: impl Fn(&BTreeMap<i32, i32>) -> BTreeSet<i32>) {
    let mut stopped = BTreeSet::new();
    for _ in 0..MOST_ROUNDS {
        let fresh: Vec<i32> = victims(&parents()).into_iter().filter(|pid| !stopped.contains(pid)).collect();
        if fresh.is_empty() {
            break;
        }
        send_each(&fresh, libc::SIGSTOP);
        stopped.extend(fresh);
    }
    send_each(&stopped.into_iter().collect::<Vec<_>>(), libc::SIGKILL);
}

fn send_each(pids: &[i32], signal: i32) {
    for pid in pids {
        // One that has ended in between is what we want.
        drop(signals::send(*pid, signal));
    }
}

fn descendants(parents: &BTreeMap<i32, i32>, root: i32) -> BTreeSet<i32> {
    let mut found = BTreeSet::new();
    let mut frontier = vec![root];
    while let Some(parent) = frontier.pop() {
        let children = parents.iter().filter(|(_, of)| **of == parent).map(|(pid, _)| *pid);
        frontier.extend(children.filter(|pid| found.insert(*pid)).collect::<Vec<_>>());
    }
    found
}

/// Every process and its parent.
fn parents() -> BTreeMap<i32, i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return BTreeMap::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| Some((pid, parent(&std::fs::read(format!("/proc/{pid}/stat")).ok()?)?))).collect()
}

/// The parent in the text of a `stat` file. The name of the program is in parentheses and may contain anything.
fn parent(stat: &[u8]) -> Option<i32> {
    let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let rest = std::str::from_utf8(stat.get(after_name..)?).ok()?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::{descendants, parent};

    #[test]
    fn a_name_cannot_forge_a_parent() {
        assert_eq!(parent(b"12 (a) S 1 (b) S 7 12 12 0"), Some(7));
        assert_eq!(parent(b"12 (sh) R 5 1 1"), Some(5));
        assert_eq!(parent(b"garbage"), None);
    }

    #[test]
    fn descendants_of_descendants_count() {
        let parents = BTreeMap::from([(2, 1), (3, 2), (4, 3), (5, 1), (6, 5)]);
        assert_eq!(descendants(&parents, 2), BTreeSet::from([3, 4]));
        assert_eq!(descendants(&parents, 9), BTreeSet::new());
    }
}
