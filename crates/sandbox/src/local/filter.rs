//! The filter for system calls: what is refused whatever else a session may do.
//!
//! Most programs never make these calls; those that do get an error that they know how to handle. The filter is a search
//! tree over call numbers, because the kernel runs it once for every number when it is installed.

mod assembler;
mod table;

use assembler::Program;
pub(crate) use table::name;
use table::{Check, rows};

/// What the filter has to know of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FilterOptions {
    /// Whether internet sockets can be made at all.
    pub(crate) internet_sockets: bool,
    /// Whether the set of processors is limited by affinity, which commands must not change.
    pub(crate) fixed_processors: bool,
    /// Whether memory is counted by process, so that there must be none that is no process's.
    pub(crate) memory_by_process: bool,
    /// Whether only listed programs may run, so that none can be made in memory.
    pub(crate) listed_programs: bool,
    /// Whether refused calls are reported to the host.
    pub(crate) notify: bool,
    /// Whether calls with paths are reported too.
    pub(crate) watch_paths: bool,
}

/// The filter as bytes for the kernel.
pub(crate) fn compile(options: FilterOptions) -> Vec<u8> {
    let mut rules = rows(options);
    rules.sort_by_key(|(number, _)| *number);
    rules.dedup_by_key(|(number, _)| *number);
    let mut program = Program::new(options.notify);
    program.check_architecture();
    program.refuse_unknown_numbers(table::NEWEST_KNOWN);
    program.search(&rules);
    program.into_bytes()
}

#[cfg(test)]
mod tests;
