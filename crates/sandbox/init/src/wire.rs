//! The messages between the host and the programs inside.
//!
//! Both sides are built together, so the encoding is simple: numbers in little endian, everything else preceded by its
//! length. What comes from inside a sandbox is read with suspicion all the same: any bytes give a value or an error.

mod codec;
mod plan;

pub use codec::{Blob, Malformed, Reader, Wire, Writer};
pub use plan::{
    AccessRule, Landlock, Limit, Listener, ListenerKind, Mapping, OverlayStep, Plan, Prepared, Source, Step,
};

use crate::wire::codec::{choices, record};

record! {
    /// Asks the launcher for a process 1. Descriptors: the control channel of the session, then one for each prepared source.
    pub struct Launch {
        /// A [`Plan`] in its own wire form: what the new process does before it is locked in. The launcher only passes
        /// it on.
        pub plan: Blob,
        /// The user inside.
        pub user: u32,
        /// The group inside.
        pub group: u32,
        /// 1 for a network of its own.
        pub own_network: u32,
        /// For callers who are root: the unprivileged identity on the host.
        pub identity: Option<Mapping>,
        /// Sources of which the launcher makes mounts before cloning, in the order of their descriptors.
        pub prepared: Vec<Prepared>,
    }
}

choices! {
    /// What the launcher answers.
    pub enum Launched {
        /// The process exists and waits for the go-ahead. Descriptor: its pidfd.
        Started = 1 {
            /// Its number on the host.
            pid: u32
        },
        /// It could not be made.
        Failed = 2 {
            /// What was being done.
            doing: Blob,
            /// The error number of the system.
            errno: u32
        },
    }
}

choices! {
    /// From the host to process 1 of a session.
    pub enum Order {
        /// Set up and lock in.
        Go = 1 {},
        /// Start a command. Descriptors: input, output, error; none with a terminal.
        Exec = 2 {
            /// Names the command in later messages.
            id: u32,
            /// The program, by path or name.
            command: Blob,
            /// Its arguments, without its name.
            arguments: Vec<Blob>,
            /// The whole environment, `NAME=value` each.
            environment: Vec<Blob>,
            /// Where it starts.
            directory: Blob,
            /// Rows and columns of a terminal; zero for none.
            terminal: (u32, u32),
            /// 1 when processes that it leaves behind may live on.
            keep_background: u32
        },
        /// Send a signal to the process group of a command.
        Signal = 3 {
            /// The command.
            id: u32,
            /// The signal.
            signal: u32
        },
        /// End a command and everything it has started.
        Kill = 4 {
            /// The command.
            id: u32
        },
        /// Stop every process until [`Order::Continue`].
        Stop = 5 {},
        /// Let all processes go on.
        Continue = 6 {},
    }
}

choices! {
    /// From process 1 of a session to the host.
    pub enum Event {
        /// Locked in and ready. Descriptors: the seccomp listener if asked for, then the listeners of the plan.
        Ready = 1 {
            /// The ports on which the listeners are, in order.
            ports: Vec<u32>,
            /// 1 when the first descriptor is the seccomp listener.
            notifies: u32
        },
        /// Setting up has failed; the process ends.
        Failed = 2 {
            /// What was being done, and to what.
            doing: Blob,
            /// The error number of the system.
            errno: u32
        },
        /// A command runs. Descriptor: the terminal's master side, if it has one.
        Started = 3 {
            /// The command.
            id: u32,
            /// Its process, as numbered inside.
            pid: u32
        },
        /// A command could not be started.
        NotStarted = 4 {
            /// The command.
            id: u32,
            /// The error number of the system.
            errno: u32,
            /// 1 when it is the directory that cannot be entered.
            directory: u32
        },
        /// A command has ended, and so has everything it started unless that may live on.
        Exited = 5 {
            /// The command.
            id: u32,
            /// The status as the kernel gives it.
            status: u32,
            /// Microseconds of processor time in programs.
            user_us: u64,
            /// Microseconds of processor time in the kernel.
            system_us: u64,
            /// The largest resident size, in KiB.
            max_rss_kb: u64,
            /// 1 when processes were left behind and live on.
            background: u32
        },
        /// All processes are stopped, or go on.
        Done = 6 {},
    }
}

choices! {
    /// From the host into a container, where descriptors cannot be passed and streams of the channel stand for them.
    pub enum Inward {
        /// Lock in; the parts of the plan that a container engine carries out are empty.
        Go = 1 {
            /// What to do.
            plan: Plan
        },
        /// An order.
        Order = 2 {
            /// The order.
            order: Order,
            /// The streams in place of its descriptors.
            streams: Vec<u32>
        },
        /// The terminal behind a stream has another size now.
        Resize = 3 {
            /// The stream.
            stream: u32,
            /// Lines.
            rows: u32,
            /// Characters in a line.
            columns: u32
        },
        /// Answers a datagram.
        Reply = 4 {
            /// The listener that it came to.
            listener: u32,
            /// Who is answered: an IPv4 address as a number.
            address: u32,
            /// And a port.
            port: u32,
            /// The answer.
            payload: Blob
        },
    }
}

choices! {
    /// From inside a container to the host.
    pub enum Outward {
        /// A report.
        Event = 1 {
            /// The report.
            event: Event,
            /// The streams in place of its descriptors.
            streams: Vec<u32>,
            /// With the end of a command: 1 when a process was killed for lack of memory since the last report.
            memory: u32,
            /// With the end of a command: 1 when the container had no room for a process since the last report.
            processes: u32
        },
        /// A datagram has come.
        Query = 2 {
            /// The listener that it came to.
            listener: u32,
            /// From whom: an IPv4 address as a number.
            address: u32,
            /// And a port.
            port: u32,
            /// What it says.
            payload: Blob
        },
    }
}

record! {
    /// A connection inside a container, as the beginning of its stream says.
    pub struct Arrival {
        /// The listener that it came to.
        pub listener: u32,
        /// The IPv4 address that it was made to, as a number.
        pub address: u32,
        /// The port that it was made to.
        pub port: u32,
        /// The port that it came from.
        pub peer_port: u32,
    }
}

#[cfg(test)]
mod tests;
