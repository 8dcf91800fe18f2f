//! Information flow: where values come from, where they may go, and which exceptions there are.

use fullsend_yaml::{Located, record};

use crate::value::{Bounded, FlowPath, FlowPattern, FlowTrust, Moment, ReaderName};

record! {
    /// What may influence the agent, and where what it has seen may go. Without a word here the web cannot drive commands,
    /// requests or changes of protected files, and files with credentials stay hidden.
    pub struct FlowRules {
        /// Where values come from. A later rule wins.
        sources: Vec<Located<FlowSource>>,
        /// What the model may see of results without asking.
        clearance: FlowClearance,
        /// Where values may go. A later rule wins.
        sinks: Vec<Located<FlowSink>>,
        /// Exceptions that the operator makes in advance.
        grants: Vec<Located<FlowGrant>>,
        /// What the model may look at when it asks for it.
        inspect: FlowInspect,
        /// How many bits of what a subagent has seen may come back as typed values. Default: 256.
        child_bits: Located<Bounded<0, { u32::MAX as i64 }>>,
    }
}

record! {
    /// What values from somewhere are. Names exactly one kind of place.
    pub struct FlowSource {
        /// Files of the workspace: `**` stands for any directories, `*` for part of a name; a directory for all in it.
        paths: Vec<Located<FlowPath>>,
        /// Hosts of the web; `*` stands for anything.
        web: Vec<Located<FlowPattern>>,
        /// Skills, by name.
        skills: Vec<Located<FlowPattern>>,
        /// Tools that are not built in, by name.
        tools: Vec<Located<FlowPattern>>,
        /// How far such values are trusted.
        trust: Located<FlowTrust>,
        /// Who may see them: any one of these. An empty list is everybody.
        readers: Vec<Located<ReaderName>>,
    }
}

record! {
    /// What may go somewhere. Names exactly one kind of place.
    pub struct FlowSink {
        /// Files of the workspace that are written.
        paths: Vec<Located<FlowPath>>,
        /// Hosts of the web that are sent something.
        web: Vec<Located<FlowPattern>>,
        /// Tools that are called.
        tools: Vec<Located<FlowPattern>>,
        /// How far what decides about it must be trusted.
        trust: Located<FlowTrust>,
        /// Whose secrets may go there.
        readers: Vec<Located<ReaderName>>,
    }
}

record! {
    /// An exception. Using it is on record.
    pub struct FlowGrant {
        /// What it is called in records. Required.
        id: Located<ReaderName> = required,
        /// The tool whose call it allows. Required.
        tool: Located<String> = required,
        /// The argument it speaks of. Required.
        argument: Located<String> = required,
        /// The values it speaks of; `*` stands for anything. Required.
        value: Located<FlowPattern> = required,
        /// How far the operator vouches for such a value.
        trust: Located<FlowTrust>,
        /// Whose secrets may go with it.
        declassify: Vec<Located<ReaderName>>,
        /// How far the conversation must be trusted for the exception to be used. Default: `commanded`.
        from: Located<FlowTrust>,
        /// How often it can be used. Default: any number of times.
        uses: Located<Bounded<1, { u32::MAX as i64 }>>,
        /// Until when, such as `2027-01-31T00:00:00Z`.
        expires: Located<Moment>,
    }
}

record! {
    /// What the model may see of results without asking; everything else is kept behind handles.
    pub struct FlowClearance {
        /// As whom. Default: nobody in particular.
        readers: Vec<Located<ReaderName>>,
        /// How far it must be trusted. Default: `none`.
        trust: Located<FlowTrust>,
    }
}

record! {
    /// What the model may look at when it asks for it.
    pub struct FlowInspect {
        /// As whom, besides its clearance.
        readers: Vec<Located<ReaderName>>,
        /// How far it must be trusted. Default: `none`.
        trust: Located<FlowTrust>,
        /// How many bytes of hidden values a run may look at. Default: 65536.
        max_bytes: Located<Bounded<0, { i64::MAX }>>,
    }
}
