//! How often the container ran into one of its limits, as its control group tells.

/// A number that only grows, in a file with a name and a number on each line.
#[derive(Debug)]
pub(super) struct Counter {
    /// Where it may be: version 2 of control groups, then version 1.
    files: [&'static str; 2],
    name: &'static str,
    last: u64,
}

impl Counter {
    /// Processes that were killed for lack of memory.
    pub(super) fn of_memory() -> Self {
        Self::new(["/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"], "oom_kill")
    }

    /// Processes that there was no room for.
    pub(super) fn of_processes() -> Self {
        Self::new(["/sys/fs/cgroup/pids.events", "/sys/fs/cgroup/pids/pids.events"], "max")
    }

    fn new(files: [&'static str; 2], name: &'static str) -> Self {
        let mut counter = Self { files, name, last: 0 };
        counter.has_grown();
        counter
    }

    /// Whether it is larger than when it was looked at before. One that cannot be read does not grow.
    pub(super) fn has_grown(&mut self) -> bool {
        let text = self.files.iter().find_map(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
        let now = value(&text, self.name).unwrap_or(self.last);
        now > std::mem::replace(&mut self.last, now)
    }
}

fn value(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn a_number_is_found_by_its_whole_name() {
        let text = "oom_kill_disable 7\nunder_oom 0\noom_kill 3\n";
        assert_eq!(value(text, "oom_kill"), Some(3));
        assert_eq!(value(text, "oom"), None);
        assert_eq!(value("max x", "max"), None);
    }
}
