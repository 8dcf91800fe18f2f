//! The explanation as people read it.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use super::{EndpointGrant, Explanation, PathGrant, PathOrigin, Programs, Reach};
use crate::spec::ResourceLimits;

/// Wide enough for every heading.
const HEADING_WIDTH: usize = 6;

impl Display for Explanation {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("A command in this sandbox can\n")?;
        section(formatter, "read", &path_lines(&self.read))?;
        section(formatter, "write", &path_lines(&self.write))?;
        section(formatter, "run", &[program_line(&self.run)])?;
        section(formatter, "reach", &reach_lines(&self.reach, &self.endpoints))?;
        section(formatter, "use", &limit_lines(self))?;
        writeln!(formatter, "It cannot see {}.", self.withheld.join(", "))
    }
}

fn section(formatter: &mut Formatter<'_>, heading: &str, lines: &[String]) -> fmt::Result {
    for (index, line) in lines.iter().enumerate() {
        let heading = if index == 0 { heading } else { "" };
        writeln!(formatter, "  {heading:HEADING_WIDTH$} {}", printable(line))?;
    }
    Ok(())
}

/// Control characters would let a name draw lines of its own.
fn printable(line: &str) -> String {
    line.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

fn path_lines(grants: &[PathGrant]) -> Vec<String> {
    let joined = |wanted: &PathOrigin| {
        let paths: Vec<&str> =
            grants.iter().filter(|grant| grant.origin == *wanted).map(|grant| grant.path.as_str()).collect();
        paths.join(", ")
    };
    let mut lines = Vec::new();
    for (origin, note) in [
        (PathOrigin::System, "programs, libraries and public settings of the system"),
        (PathOrigin::Private, "the session's own, gone with it"),
    ] {
        let paths = joined(&origin);
        if !paths.is_empty() {
            lines.push(format!("{paths} ({note})"));
        }
    }
    lines.extend(grants.iter().filter_map(host_line));
    lines
}

fn host_line(grant: &PathGrant) -> Option<String> {
    let path = &grant.path;
    let (source, note) = match &grant.origin {
        PathOrigin::System | PathOrigin::Private => return None,
        PathOrigin::Image { image } => return Some(format!("everything in the image {image}")),
        PathOrigin::Host { source } => (source, String::new()),
        PathOrigin::Layered { source } => {
            (source, " (changes stay in the session, the files themselves are not changed)".to_owned())
        }
        PathOrigin::Exception { source, inside } => (source, format!(" (an exception inside {inside})")),
    };
    let is_same = source.to_str() == Some(path.as_str());
    let from = if is_same { String::new() } else { format!(", which is {} on the host", source.display()) };
    Some(format!("{path}{from}{note}"))
}

fn program_line(programs: &Programs) -> String {
    match programs {
        Programs::System => "every program that it can read".to_owned(),
        Programs::Only(list) if list.is_empty() => "nothing".to_owned(),
        Programs::Only(list) => format!("only {}", list.join(", ")),
    }
}

fn reach_lines(reach: &Reach, endpoints: &[EndpointGrant]) -> Vec<String> {
    let mut lines = match reach {
        Reach::Everything => vec!["everything that this machine can reach, unfiltered".to_owned()],
        Reach::Nothing => vec!["no host".to_owned()],
        Reach::Hosts { allowed, denied, rules, private } => {
            let mut lines: Vec<String> = allowed
                .iter()
                .map(|host| {
                    let noun = if host.ports.len() == 1 { "port" } else { "ports" };
                    format!("{} on {noun} {}", host.host, host.ports.join(" and "))
                })
                .collect();
            lines.extend(rules.iter().map(|(host, rules)| format!("on {host} only: {}", rules.join("; "))));
            lines.extend(
                private.iter().map(|(host, network)| format!("{host} also at addresses in {network}")),
            );
            if !denied.is_empty() {
                lines.push(format!("never {}", denied.join(", ")));
            }
            lines.push("no other host".to_owned());
            lines
        }
    };
    lines.extend(endpoints.iter().map(endpoint_line));
    lines
}

fn endpoint_line(endpoint: &EndpointGrant) -> String {
    let headers = if endpoint.headers.is_empty() {
        String::new()
    } else {
        format!(", with {} added outside", endpoint.headers.join(" and "))
    };
    let rules = if endpoint.rules.is_empty() {
        String::new()
    } else {
        format!("; only {}", endpoint.rules.join("; "))
    };
    format!("{} by ${}{headers}{rules}", endpoint.upstream, endpoint.variable)
}

fn limit_lines(explanation: &Explanation) -> Vec<String> {
    let limits = &explanation.limits;
    let mut lines = Vec::new();
    let mut add = |name: &str, text: Option<String>| {
        let note = if explanation.default_limits.contains(&name) { " (default)" } else { "" };
        lines.extend(text.map(|text| format!("{text}{note}")));
    };
    add("wall_time", limits.wall_time.map(|time| format!("{} for each command", seconds(time))));
    add("cpu_count", limits.cpu_count.map(|count| counted(count, "processor", "processors")));
    add("memory_mb", limits.memory_mb.map(|size| format!("{size} MiB of memory")));
    add("processes", limits.processes.map(|count| counted(count, "process", "processes")));
    add("file_size_mb", limits.file_size_mb.map(|size| format!("{size} MiB in one file")));
    add("scratch_mb", limits.scratch_mb.map(|size| format!("{size} MiB of private files")));
    add(
        "output_bytes",
        limits.output_bytes.map(|size| format!("{size} bytes of each output, where it is kept")),
    );
    let idle = |time| format!("{} without a command before it is suspended", seconds(time));
    add("idle_timeout", limits.idle_timeout.map(idle));
    lines.extend(
        explanation.open_files.map(|count| format!("up to {count} open files in each process (default)")),
    );
    lines.extend(unlimited(limits));
    lines
}

/// What has no limit unless one is set.
fn unlimited(limits: &ResourceLimits) -> Option<String> {
    let kinds = [
        ("time", limits.wall_time.is_none()),
        ("processors", limits.cpu_count.is_none()),
        ("memory", limits.memory_mb.is_none()),
    ];
    let free: Vec<&str> = kinds.into_iter().filter(|(_, free)| *free).map(|(kind, _)| kind).collect();
    let list = match free.split_last()? {
        (last, []) => (*last).to_owned(),
        (last, rest) => format!("{} and {last}", rest.join(", ")),
    };
    Some(format!("{list} without a limit (default)"))
}

fn counted(count: u32, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}
