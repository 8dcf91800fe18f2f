//! What a process 1 does before it is locked in, as a list that the host has made.

use super::codec::{Blob, choices, record};

record! {
    /// The whole of it, in the order in which it is done.
    pub struct Plan {
        /// The user that commands run as, inside.
        pub user: u32,
        /// The group that commands run as, inside.
        pub group: u32,
        /// 1 for a network namespace of its own.
        pub own_network: u32,
        /// The name of the machine, inside.
        pub hostname: Blob,
        /// What will be mounted, opened before the host's files disappear.
        pub sources: Vec<Source>,
        /// What the root has beyond its ground.
        pub steps: Vec<Step>,
        /// Sockets that listen inside for the host.
        pub listeners: Vec<Listener>,
        /// Limits of every process.
        pub limits: Vec<Limit>,
        /// How many processors may be used; zero for all.
        pub processors: u32,
        /// Rules for file access; none when the kernel has no Landlock and the host has accepted that.
        pub landlock: Option<Landlock>,
        /// The filter for system calls.
        pub filter: Blob,
        /// 1 when the filter reports refused calls.
        pub notify: u32,
    }
}

record! {
    /// What is the same for all sessions of a backend, and can be laid before it is known for which: the root with the
    /// system's directories, settings, devices and processes.
    pub struct Ground {
        /// The user that commands run as, inside.
        pub user: u32,
        /// The group that commands run as, inside.
        pub group: u32,
        /// For ordinary callers: their identity on the host, which the process maps to its own itself.
        pub caller: Option<Mapping>,
        /// What will be mounted.
        pub sources: Vec<Source>,
        /// Bytes of the root, which is in memory.
        pub scratch_bytes: u64,
        /// Files of the root.
        pub scratch_files: u64,
        /// Mount attributes of the root to add.
        pub scratch_attributes: u64,
        /// How the new root is filled.
        pub steps: Vec<Step>,
    }
}

record! {
    /// A user and a group of the host.
    pub struct Mapping {
        /// The user.
        pub user: u32,
        /// The group.
        pub group: u32,
    }
}

record! {
    /// A mount that the launcher makes, with owners changed.
    pub struct Prepared {
        /// Who owns the files on disk; they appear as the identity of the session.
        pub owner: Mapping,
        /// Mount attributes to add.
        pub attributes: u64,
        /// 1 when commands write through it, so that it is of no use with owners unchanged.
        pub writable: u32,
    }
}

record! {
    /// Something to mount.
    pub struct Source {
        /// Its path on the host.
        pub path: Blob,
        /// Its device and inode, so that what is opened is what was checked; zeros for system files.
        pub identity: (u64, u64),
        /// The number of the prepared mount to use instead of opening the path; `u32::MAX` for none.
        pub prepared: u32,
        /// Mount attributes to add.
        pub attributes: u64,
        /// 1 when it may be missing; steps that use it then do nothing.
        pub optional: u32,
    }
}

choices! {
    /// One change to the new root. Paths are below it and never lead through symbolic links.
    #[allow(missing_docs, reason = "the fields are what their names say")]
    pub enum Step {
        /// A directory in memory; its parents must exist, it may.
        Directory = 1 { path: Blob, mode: u32 },
        /// A file in memory.
        File = 2 { path: Blob, mode: u32, content: Blob },
        /// A symbolic link in memory.
        Link = 3 { path: Blob, target: Blob },
        /// Mounts a source on an existing file or directory.
        Attach = 4 { source: u32, path: Blob },
        /// Mounts a directory on itself, so that neither it nor its parents can be renamed.
        Pin = 5 { path: Blob },
        /// Mounts something on itself with attributes added.
        Seal = 6 { path: Blob, attributes: u64 },
        /// Puts an empty device over a file; a file that is not there is fine.
        Mask = 7 { path: Blob },
        /// Stacks directories, see [`OverlayStep`].
        Overlay = 8 { overlay: OverlayStep },
        /// Shows what is at one place at another, with attributes added.
        Bind = 12 { from: Blob, path: Blob, attributes: u64 },
        /// Takes a mount away again, and the directory that it was on.
        Detach = 13 { path: Blob },
        /// The processes of the session.
        Processes = 9 { path: Blob },
        /// Terminals of the session.
        Terminals = 10 { path: Blob },
        /// A small empty file system over a directory that may not be there.
        Empty = 11 { path: Blob },
    }
}

record! {
    /// A writable directory over read-only ones. Paths are below the new root; the kernel keeps its own hold on what is
    /// there, so the mounts can be detached afterwards.
    pub struct OverlayStep {
        /// Directories below, the uppermost first.
        pub lower: Vec<Blob>,
        /// Takes the changes.
        pub upper: Blob,
        /// For the kernel's own use, on the same file system.
        pub work: Blob,
        /// Where it is mounted.
        pub path: Blob,
        /// Mount attributes to add.
        pub attributes: u64,
    }
}

choices! {
    /// What kind of socket listens.
    pub enum ListenerKind {
        /// Connections.
        Stream = 1 {},
        /// Datagrams.
        Datagram = 2 {},
    }
}

record! {
    /// A socket that listens inside and is answered by the host.
    pub struct Listener {
        /// What kind.
        pub kind: ListenerKind,
        /// The IPv4 address as a number.
        pub address: u32,
        /// The port; zero for any.
        pub port: u32,
    }
}

record! {
    /// A limit of every process.
    pub struct Limit {
        /// The resource, as the kernel numbers it.
        pub resource: u32,
        /// The limit.
        pub value: u64,
    }
}

record! {
    /// Rules for file access on top of what is mounted how.
    pub struct Landlock {
        /// Kinds of access that need a rule.
        pub handled: u64,
        /// What is cut off from the rest of the machine: abstract sockets, signals.
        pub scoped: u64,
        /// What is allowed where. Paths that are not there are skipped.
        pub rules: Vec<AccessRule>,
    }
}

record! {
    /// Kinds of access to everything below a path.
    pub struct AccessRule {
        /// The path inside.
        pub path: Blob,
        /// What is allowed.
        pub access: u64,
    }
}
