//! The policy file of a sandbox.

use fullsend_yaml::{Located, record};

use crate::value::{Bounded, Cidr, EnvName, Seconds, Slug};

record! {
    /// What a command in a sandbox may read, write, run, reach and use. What is not listed it may not.
    ///
    /// Relative paths are relative to the current directory, not to this file. Options of the command line add to it.
    pub struct SandboxPolicy {
        /// Files and directories that can be read: `DIR/**` is the same as `DIR`, and `**` is the current directory. Below
        /// a `write` entry it is an exception that can only be read.
        read: Vec<Located<String>>,
        /// Files and directories that can be written, and read.
        write: Vec<Located<String>>,
        /// Programs that can be run: names, or absolute paths; `**` for all of the system's. Without any, nothing can be
        /// run. In a container only `**` can be enforced.
        exec: Vec<Located<String>>,
        /// Hosts that can be reached: `host`, `*.domain` or an address, with an optional `:port`; without one, ports 80
        /// and 443. `*` takes all filters away.
        net: Vec<Located<String>>,
        /// Hosts that cannot be reached although `net` covers them; without a port, on all ports.
        deny: Vec<Located<String>>,
        /// Requests that are allowed on hosts named here. Only plain HTTP can be read, so these hosts cannot be reached
        /// over TLS.
        http_rules: Vec<HostRule>,
        /// Hosts of `net` that may have addresses which are not public.
        private_hosts: Vec<PrivateHostRange>,
        /// Services that the command reaches by a URL of its own, with keys that it never sees.
        endpoints: Vec<EndpointEntry>,
        /// How much can be used; each limit has a default.
        limits: SandboxLimits,
    }
}

record! {
    /// Requests that are allowed on a host: once it has a rule, only requests that match one of its rules pass.
    pub struct HostRule {
        /// `host` or `*.domain`, with an optional `:port`. Required.
        host: Located<String> = required,
        /// Methods, in upper case. Default: all.
        methods: Vec<Located<String>>,
        /// Paths; a `*` at the end stands for everything that starts so. Default: all.
        paths: Vec<Located<String>>,
    }
}

record! {
    /// A host that may have an address which is not public. Metadata services never qualify.
    pub struct PrivateHostRange {
        /// The exact host name, or an address. Required.
        host: Located<String> = required,
        /// The addresses that it may have, such as `10.1.0.0/16`. Required.
        network: Located<Cidr> = required,
    }
}

record! {
    /// A service that the command reaches by the URL in `FULLSEND_ENDPOINT_<NAME>`.
    pub struct EndpointEntry {
        /// Its name. Required.
        name: Located<Slug> = required,
        /// Where requests go: `https://host[:port][/path]`, or `http://` for a gateway on this machine. Required.
        url: Located<String> = required,
        /// The variable of the caller's with the key; it is sent as `Authorization: Bearer`.
        key_env: Located<EnvName>,
        /// Requests that are allowed. Default: all.
        rules: Vec<EndpointRule>,
    }
}

record! {
    /// Requests that are allowed on an endpoint.
    pub struct EndpointRule {
        /// Methods, in upper case. Default: all.
        methods: Vec<Located<String>>,
        /// Paths below that of `url`; a `*` at the end stands for everything that starts so. Default: all.
        paths: Vec<Located<String>>,
    }
}

/// As much as a limit can say.
type Count = Bounded<1, { u32::MAX as i64 }>;

record! {
    /// How much a command can use.
    pub struct SandboxLimits {
        /// Seconds until the command is ended; fractions are allowed. Default: no limit.
        timeout: Located<Seconds>,
        /// Memory of all processes together, in MiB. Default: no limit; in a container, 4096.
        memory_mb: Located<Count>,
        /// Processors that they share. Default: all.
        cpus: Located<Count>,
        /// Processes and threads at a time. Default: 2048.
        processes: Located<Count>,
        /// The largest file, in MiB. Default: 4096.
        file_size_mb: Located<Count>,
        /// Private files in `/tmp`, the home directory and shared memory, in MiB; never more than half of `memory_mb`.
        /// Default: 1024.
        scratch_mb: Located<Count>,
    }
}
