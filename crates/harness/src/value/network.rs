//! Host patterns and address ranges as they stand in files.

use fullsend_origin::{HostPattern, is_metadata};
use fullsend_yaml::{FromText, TextProblem};
use ipnet::IpNet;

use crate::value::text::written_as_text;

/// A host name, or `*.suffix` for every name below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostGlob(HostPattern);

impl HostGlob {
    /// The pattern.
    #[must_use]
    pub fn pattern(&self) -> &HostPattern {
        &self.0
    }
}

impl FromText for HostGlob {
    const EMPTY_IS_ABSENT: bool = true;

    fn from_text(text: &str) -> Result<Self, TextProblem> {
        HostPattern::parse(text)
            .map(Self)
            .map_err(|error| TextProblem::invalid(format!("is not a host pattern: {error}"), error.help()))
    }
}

impl std::fmt::Display for HostGlob {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(formatter)
    }
}

written_as_text!(HostGlob, "host or `*.suffix`", "^(\\*\\.)?[^*/ ]+$");

/// A range of addresses in CIDR form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cidr(IpNet);

impl Cidr {
    /// The range.
    #[must_use]
    pub fn range(&self) -> IpNet {
        self.0
    }
}

impl FromText for Cidr {
    const EMPTY_IS_ABSENT: bool = true;

    fn from_text(text: &str) -> Result<Self, TextProblem> {
        let problem = |help: String| {
            TextProblem::invalid(format!("must be an address range, not `{text}`"), Some(help))
        };
        let range: IpNet = match text.parse() {
            Ok(range) => range,
            Err(_) => {
                let single: Option<std::net::IpAddr> = text.parse().ok();
                let example =
                    single.map_or("10.20.0.0/16".to_owned(), |address| IpNet::from(address).to_string());
                return Err(problem(format!("write it as `{example}`")));
            }
        };
        if range != range.trunc() {
            return Err(problem(format!(
                "the address has bits outside the prefix; write `{}`",
                range.trunc()
            )));
        }
        if range.prefix_len() == range.max_prefix_len() && is_metadata(range.addr()) {
            let message = format!("names the metadata service `{text}`, which is never reached");
            return Err(TextProblem::invalid(message, Some("remove the entry".to_owned())));
        }
        Ok(Self(range))
    }
}

impl std::fmt::Display for Cidr {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(formatter)
    }
}

written_as_text!(Cidr, "address range", "^[0-9a-fA-F:.]+/[0-9]{1,3}$");
