//! Self-hosted forges and hosts on private addresses.

use fullsend_yaml::{Located, record};

use crate::value::{Bounded, Cidr, ForgeType, HostGlob, HostName};

record! {
    /// A self-hosted forge.
    pub struct ForgeHost {
        /// Its host name. Required.
        host: Located<HostName> = required,
        /// Whose REST interface it speaks. Required.
        forge_type as "type": Located<ForgeType> = required,
    }
}

record! {
    /// A host on a private address that may be reached all the same. Metadata addresses never are.
    pub struct PrivateHost {
        /// The host name, or `*.suffix`. Required.
        host: Located<HostGlob> = required,
        /// The port. Default: 443.
        port: Located<Bounded<1, 65535>>,
        /// The addresses that the name may resolve to, such as `10.20.0.0/16`. Required.
        cidr: Located<Cidr> = required,
    }
}
