//! Flow rules as they are written, as a policy that decides.

use fullsend_flow::{Clearance, Grant, Inspect, Policy, SinkRule, SourceRule, Trust};
use fullsend_yaml::{Diagnostic, Located, Location};

use crate::rules;
use crate::schema::{FlowGrant, FlowRules, FlowSink, FlowSource};
use crate::value::{FlowPath, FlowPattern, FlowTrust, ReaderName};

impl FlowRules {
    /// Reports rules that contradict themselves or each other.
    pub fn check(&self, problems: &mut Vec<Diagnostic>) {
        for found in self.policy().problems() {
            let Some(at) = self.place(&found.place) else { continue };
            problems.push(Diagnostic::new(&rules::FLOW_RULE, at, found.problem));
        }
    }

    /// The policy that these rules are.
    #[must_use]
    pub fn policy(&self) -> Policy {
        let mut policy = Policy {
            sources: self.sources.iter().flatten().map(|rule| source(rule)).collect(),
            sinks: self.sinks.iter().flatten().map(|rule| sink(rule)).collect(),
            grants: self.grants.iter().flatten().filter_map(|grant| exception(grant)).collect(),
            ..Policy::default()
        };
        if let Some(given) = &self.clearance {
            policy.clearance = Clearance {
                readers: names(given.readers.as_ref()),
                trust: given.trust.as_ref().map_or(Trust::None, trust),
            };
        }
        if let Some(given) = &self.inspect {
            let usual = Inspect::default();
            policy.inspect = Inspect {
                readers: names(given.readers.as_ref()),
                trust: given.trust.as_ref().map_or(usual.trust, trust),
                max_bytes: given
                    .max_bytes
                    .as_ref()
                    .map_or(usual.max_bytes, |most| unsigned(most.value.get())),
            };
        }
        if let Some(bits) = &self.child_bits {
            policy.child_bits = u32::try_from(bits.value.get()).unwrap_or(u32::MAX);
        }
        policy
    }

    /// Where the rule with this JSON Pointer stands.
    fn place(&self, pointer: &str) -> Option<Location> {
        let mut parts = pointer.split('/').skip(1);
        let (list, index) = (parts.next()?, parts.next()?.parse::<usize>().ok()?);
        match list {
            "sources" => self.sources.as_ref()?.get(index).map(|rule| rule.at),
            "sinks" => self.sinks.as_ref()?.get(index).map(|rule| rule.at),
            "grants" => self.grants.as_ref()?.get(index).map(|rule| rule.at),
            _ => None,
        }
    }
}

fn source(rule: &FlowSource) -> SourceRule {
    SourceRule {
        paths: rule.paths.as_ref().map(|list| paths(list)),
        web: rule.web.as_ref().map(|list| patterns(list)),
        skills: rule.skills.as_ref().map(|list| patterns(list)),
        tools: rule.tools.as_ref().map(|list| patterns(list)),
        trust: rule.trust.as_ref().map(trust),
        readers: rule.readers.as_ref().map(|list| names(Some(list))),
    }
}

fn sink(rule: &FlowSink) -> SinkRule {
    SinkRule {
        paths: rule.paths.as_ref().map(|list| paths(list)),
        web: rule.web.as_ref().map(|list| patterns(list)),
        tools: rule.tools.as_ref().map(|list| patterns(list)),
        trust: rule.trust.as_ref().map(trust),
        readers: rule.readers.as_ref().map(|list| names(Some(list))),
    }
}

/// None for one that lacks what it must have, which is reported where it is read.
fn exception(grant: &FlowGrant) -> Option<Grant> {
    Some(Grant {
        id: grant.id.as_ref()?.as_str().to_owned(),
        tool: grant.tool.as_ref()?.value.clone(),
        argument: grant.argument.as_ref()?.value.clone(),
        value: grant.value.as_ref()?.value().clone(),
        trust: grant.trust.as_ref().map(trust),
        declassify: names(grant.declassify.as_ref()),
        from: grant.from.as_ref().map_or(Trust::Commanded, trust),
        uses: grant.uses.as_ref().and_then(|uses| u32::try_from(uses.value.get()).ok()),
        expires: grant.expires.as_ref().map(|end| *end.value()),
    })
}

fn paths(list: &[Located<FlowPath>]) -> Vec<fullsend_flow::PathPattern> {
    list.iter().map(|path| path.value().clone()).collect()
}

fn patterns(list: &[Located<FlowPattern>]) -> Vec<fullsend_flow::Pattern> {
    list.iter().map(|pattern| pattern.value().clone()).collect()
}

fn names(list: Option<&Vec<Located<ReaderName>>>) -> Vec<String> {
    list.into_iter().flatten().map(|name| name.as_str().to_owned()).collect()
}

fn trust(word: &Located<FlowTrust>) -> Trust {
    match word.value {
        FlowTrust::None => Trust::None,
        FlowTrust::Workspace => Trust::Workspace,
        FlowTrust::Commanded => Trust::Commanded,
    }
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
