//! Marks in the names of groups that tell whether the process that made them still lives.

use std::fs;

use crate::error::SandboxError;

/// `name.<process id>.<start time>`: the start time tells a process from a later one with the same id.
pub(super) fn mark(name: &str) -> Result<String, SandboxError> {
    let pid = std::process::id();
    let start = start_time(pid).ok_or_else(|| {
        SandboxError::Lifecycle(
            "cannot read this process's start time from `/proc`; a fresh `/proc` must be mounted".to_owned(),
        )
    })?;
    Ok(format!("{name}.{pid}.{start}"))
}

/// Whether the name has a mark, and the process in it is no more.
pub(super) fn is_gone(name: &str) -> bool {
    let Some((rest, start)) = name.rsplit_once('.') else { return false };
    let Some((_, pid)) = rest.rsplit_once('.') else { return false };
    let (Ok(pid), Ok(start)) = (pid.parse::<u32>(), start.parse::<u64>()) else { return false };
    start_time(pid) != Some(start)
}

fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command's name may hold anything; the last parenthesis ends it. The time is field 22, and the name field 2.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{is_gone, mark};

    #[test]
    fn this_process_is_there_and_an_earlier_one_with_its_id_is_not() {
        let name = mark("fullsend-x.y").unwrap();
        assert!(!is_gone(&name), "{name}");
        assert!(is_gone(&format!("fullsend-x.{}.1", std::process::id())));
        assert!(is_gone("fullsend-x.4194999.77"));
    }

    #[test]
    fn groups_without_a_mark_are_nobodys() {
        for name in ["fullsend", "fullsend.1", "system.slice", "a.b.c", "fullsend-x.-1.1"] {
            assert!(!is_gone(name), "{name}");
        }
    }
}
