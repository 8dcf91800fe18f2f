//! Watches the memory of a session where no control group limits it.
//!
//! The largest process is ended when all together have too much, as the kernel would do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal};
use tokio::sync::watch;

/// Often enough that a process cannot get far past the limit, seldom enough not to be felt.
const INTERVAL: Duration = Duration::from_millis(10);

/// A task that watches until the session has ended.
#[derive(Debug)]
pub(crate) struct MemoryWatch {
    exceeded: Arc<AtomicBool>,
}

impl MemoryWatch {
    pub(crate) fn start(init: u32, megabytes: u32, mut ended: watch::Receiver<bool>) -> Self {
        let exceeded = Arc::<AtomicBool>::default();
        let noted = Arc::clone(&exceeded);
        let limit = u64::from(megabytes) << 20;
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    _ = ended.wait_for(|ended| *ended) => return,
                    () = tokio::time::sleep(INTERVAL) => {}
                }
                if end_largest_above(init, limit) {
                    noted.store(true, Ordering::Relaxed);
                }
            }
        });
        Self { exceeded }
    }

    /// Whether the limit was exceeded since the last time.
    pub(crate) fn take_exceeded(&self) -> bool {
        self.exceeded.swap(false, Ordering::Relaxed)
    }
}

/// Ends the largest process when all together have more than the limit.
fn end_largest_above(init: u32, limit: u64) -> bool {
    let processes = descendants(init);
    // Quick to find out, and never too little.
    if processes.iter().map(|pid| resident_bytes(*pid)).sum::<u64>() <= limit {
        return false;
    }
    let sizes: Vec<(u32, u64)> = processes.into_iter().map(|pid| (pid, used_bytes(pid))).collect();
    if sizes.iter().map(|(_, bytes)| bytes).sum::<u64>() <= limit {
        return false;
    }
    let Some((pid, _)) = sizes.into_iter().max_by_key(|(_, bytes)| *bytes) else { return false };
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return false };
    // By descriptor: a process that has ended meanwhile must not be mistaken for one that has its number now.
    let Ok(held) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else { return false };
    let still_ours = descendants(init).contains(&pid.as_raw_nonzero().get().unsigned_abs());
    still_ours && rustix::process::pidfd_send_signal(&held, Signal::KILL).is_ok()
}

fn descendants(init: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut frontier = vec![init];
    while let Some(parent) = frontier.pop() {
        let threads = std::fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
        for thread in threads {
            let children = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            let children = children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok());
            for child in children {
                found.push(child);
                frontier.push(child);
            }
        }
    }
    found
}

/// Resident memory, that of files and what is shared with other processes included.
fn resident_bytes(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    let pages = text.split_whitespace().nth(1).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
    pages.saturating_mul(rustix::param::page_size() as u64)
}

/// Resident memory that is not that of files; of memory that several processes share, the share of this one.
fn used_bytes(pid: u32) -> u64 {
    let Ok(text) = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) else {
        return resident_bytes(pid);
    };
    let counted = text.lines().filter_map(|line| {
        let rest = line.strip_prefix("Pss_Anon:").or_else(|| line.strip_prefix("Pss_Shmem:"))?;
        rest.split_whitespace().next()?.parse::<u64>().ok()
    });
    counted.sum::<u64>().saturating_mul(1024)
}
