//! Ends processes of a script that have left its process group, as daemons do.
//!
//! They are known by a variable that the script was started with. Scripts are the operator's, so none hides on purpose; what
//! an agent wrote runs in sandboxes, which end with their own means.

use std::collections::BTreeMap;
use std::fs;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use uuid::Uuid;

/// How often it is looked for more: a process that is being ended may have started another one just before.
const ROUNDS: u32 = 20;

/// What the processes of one script have in common.
#[derive(Debug)]
pub(crate) struct Mark {
    /// The marks of scripts around this one, and its own.
    value: String,
    own: String,
}

impl Mark {
    /// The variable that holds it.
    pub(crate) const VARIABLE: &str = "FULLSEND_SCRIPT_IDS";

    /// A new one, for a script with these variables.
    pub(crate) fn new(env: &BTreeMap<String, String>) -> Self {
        let own = Uuid::new_v4().simple().to_string();
        let value = match env.get(Self::VARIABLE) {
            Some(outer) => format!("{outer} {own}"),
            None => own.clone(),
        };
        Self { value, own }
    }

    /// What the variable is set to.
    pub(crate) fn value(&self) -> &str {
        &self.value
    }

    /// Ends every process that has the mark.
    pub(crate) fn end_all(&self) {
        for _ in 0..ROUNDS {
            let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
            let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
            let ended = numbers.filter_map(Pid::from_raw).filter(|pid| self.end(*pid)).count();
            if ended == 0 {
                return;
            }
        }
    }

    /// Ends a process if it has the mark. The number may be another process's by the time it is used, a handle is not.
    fn end(&self, pid: Pid) -> bool {
        self.is_on(pid)
            && pidfd_open(pid, PidfdFlags::empty())
                .is_ok_and(|process| self.is_on(pid) && pidfd_send_signal(&process, Signal::KILL).is_ok())
    }

    /// A process that has ended has no variables any more.
    fn is_on(&self, pid: Pid) -> bool {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let prefix = Self::VARIABLE.as_bytes();
        environment
            .split(|byte| *byte == 0)
            .find_map(|variable| variable.strip_prefix(prefix))
            .is_some_and(|value| String::from_utf8_lossy(value).contains(&self.own))
    }
}
