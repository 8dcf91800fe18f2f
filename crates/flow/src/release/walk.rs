//! The walk through an accepted value that keeps what is pinned, seals the rest and adds up the price.

use std::{
    collections::{BTreeSet, HashMap},
    rc::Rc,
};

use serde_json::{Map, Value};

use super::{
    ReleaseError, Released,
    applicable::Applicable,
    bounds::Canonical,
    check::{Checker, Keys},
    document::{Additional, Document, NodeId},
    link, price,
};
use crate::{leak_budget::MilliBits, pointer};

/// One walk through one value.
#[derive(Debug)]
pub(super) struct Walk<'d, 's, 'v, 'o> {
    checker: Checker<'d, 's, 'v>,
    minted: &'o BTreeSet<String>,
    link_prefix: String,
    /// The JSON pointer of where the walk is.
    path: String,
    plans: HashMap<Vec<NodeId>, Rc<Plan<'s>>>,
    linked_strings: usize,
    sealed_paths: Vec<String>,
    bits: u64,
}

/// What the nodes that hold for an object say about its keys.
#[derive(Debug, Default)]
struct Plan<'s> {
    /// Declared keys, with their place in the released object.
    ranks: HashMap<&'s str, usize>,
    /// How many declared keys may be there or not.
    optional: usize,
    /// Undeclared keys are possible.
    open: bool,
    /// The object is a link.
    link: bool,
}

impl<'d, 's, 'v, 'o> Walk<'d, 's, 'v, 'o> {
    pub(super) fn new(checker: Checker<'d, 's, 'v>, link_id: &str, minted: &'o BTreeSet<String>) -> Self {
        Self {
            checker,
            minted,
            link_prefix: link::prefix(link_id),
            path: String::new(),
            plans: HashMap::new(),
            linked_strings: 0,
            sealed_paths: Vec::new(),
            bits: 0,
        }
    }

    pub(super) fn run(mut self, value: &'v Value) -> Result<Released, ReleaseError> {
        let value = self.walk(value, &[Document::ROOT])?;
        Ok(Released {
            value,
            linked_strings: self.linked_strings,
            sealed_paths: self.sealed_paths,
            bits: MilliBits::new(self.bits),
        })
    }

    fn walk(&mut self, value: &'v Value, starts: &[NodeId]) -> Result<Value, ReleaseError> {
        let holds = Applicable::find(&mut self.checker, starts, value)?;
        let document = self.checker.document;
        self.charge(holds.choice);
        let before = self.bits;
        self.charge(holds.kind_price(document, value));
        let released = match value {
            Value::Null => Value::Null,
            Value::Bool(_) => {
                self.charge(price::ONE_BIT);
                value.clone()
            }
            Value::Number(number) => {
                self.charge(holds.number_price(document));
                Canonical::of(number).spelled(number)
            }
            Value::String(_) if holds.pins(document, value) => value.clone(),
            Value::String(_) => {
                self.linked_strings += 1;
                self.seal()
            }
            Value::Array(items) => self.walk_array(items, &holds)?,
            Value::Object(map) => self.walk_object(value, map, &holds)?,
        };
        if let Some(listed) = holds.listed_price(document) {
            self.bits = before.saturating_add(listed);
        }
        Ok(released)
    }

    fn walk_array(&mut self, items: &'v [Value], holds: &Applicable) -> Result<Value, ReleaseError> {
        let document = self.checker.document;
        self.charge(holds.length_price(document, items.len()));
        let mut released = Vec::with_capacity(items.len());
        let mut starts = Vec::new();
        for (index, item) in items.iter().enumerate() {
            starts.clear();
            for node in holds.nodes.iter().map(|id| document.node(*id)) {
                match (node.slots.get(index), node.items) {
                    (Some(slot), _) => {
                        // Nothing rejected an element that does not fit its slot, so the slot must not vouch for it.
                        self.charge(price::ONE_BIT);
                        if self.checker.fits(*slot, item)? {
                            starts.push(*slot);
                        }
                    }
                    (None, Some(schema)) => starts.push(schema),
                    (None, None) => {}
                }
            }
            released.push(self.walk_part(&index.to_string(), item, &starts)?);
        }
        Ok(Value::Array(released))
    }

    fn walk_object(
        &mut self,
        value: &'v Value,
        map: &'v Map<String, Value>,
        holds: &Applicable,
    ) -> Result<Value, ReleaseError> {
        let plan = self.plan(&holds.nodes)?;
        if let Some(link) = link::link_in(value).filter(|_| plan.link) {
            self.charge(price::one_of_count(self.minted.len().saturating_add(1)));
            return Ok(if self.minted.contains(link) { value.clone() } else { self.seal() });
        }
        if plan.open {
            self.charge(price::ONE_BIT);
        }
        let mut parts = Vec::with_capacity(map.len());
        for (key, part) in map {
            match plan.ranks.get(key.as_str()) {
                Some(rank) => parts.push((*rank, key, part)),
                None if self.checker.is_dropped(value, key) => {}
                // Names of keys are free text as well.
                None => return Ok(self.seal()),
            }
        }
        self.charge(price::ONE_BIT.saturating_mul(u64::try_from(plan.optional).unwrap_or(u64::MAX)));
        parts.sort_unstable_by_key(|(rank, _, _)| *rank);
        let mut released = Map::with_capacity(parts.len());
        let document = self.checker.document;
        for (_, key, part) in parts {
            let nodes = holds.nodes.iter().map(|id| document.node(*id));
            let starts: Vec<NodeId> = nodes
                .filter_map(|node| match (node.properties.get(key.as_str()), node.additional) {
                    (Some(property), _) => Some(*property),
                    (None, Additional::Under(schema)) => Some(schema),
                    (None, Additional::Unsaid | Additional::Allowed | Additional::Refused) => None,
                })
                .collect();
            released.insert(key.clone(), self.walk_part(key, part, &starts)?);
        }
        let released = Value::Object(released);
        // A link that the schema spells out is still not one that we made.
        let forged = link::link_in(&released).is_some_and(|link| !self.minted.contains(link));
        Ok(if forged { self.seal() } else { released })
    }

    fn walk_part(&mut self, step: &str, part: &'v Value, starts: &[NodeId]) -> Result<Value, ReleaseError> {
        let length = self.path.len();
        pointer::push_step(&mut self.path, step);
        let released = self.walk(part, starts);
        self.path.truncate(length);
        released
    }

    fn seal(&mut self) -> Value {
        self.sealed_paths.push(self.path.clone());
        link::sealed(&self.link_prefix, &self.path)
    }

    fn charge(&mut self, price: u64) {
        self.bits = self.bits.saturating_add(price);
    }

    fn plan(&mut self, nodes: &[NodeId]) -> Result<Rc<Plan<'s>>, ReleaseError> {
        if let Some(plan) = self.plans.get(nodes) {
            return Ok(Rc::clone(plan));
        }
        let plan = Rc::new(self.new_plan(nodes)?);
        self.plans.insert(nodes.to_vec(), Rc::clone(&plan));
        Ok(plan)
    }

    fn new_plan(&mut self, nodes: &[NodeId]) -> Result<Plan<'s>, ReleaseError> {
        let document = self.checker.document;
        let mut plan = Plan { open: true, ..Plan::default() };
        let mut closed = Vec::new();
        for id in nodes {
            for name in &self.checker.names(*id)?.ordered {
                let rank = plan.ranks.len();
                plan.ranks.entry(name).or_insert(rank);
            }
            if let Keys::Only(names) = self.checker.keys(*id)? {
                plan.open = false;
                plan.link |= is_link(document, *id);
                closed.push(names);
            }
        }
        self.checker.spend(plan.ranks.len().saturating_mul(nodes.len() + 1))?;
        let required: BTreeSet<&str> =
            nodes.iter().flat_map(|id| document.node(*id).required.iter().copied()).collect();
        let possible = |name: &&&str| closed.iter().all(|names| names.set.contains(**name));
        plan.optional = plan.ranks.keys().filter(possible).filter(|name| !required.contains(**name)).count();
        Ok(plan)
    }
}

/// Whether a closed node is the schema of a link object.
fn is_link(document: &Document<'_>, id: NodeId) -> bool {
    let node = document.node(id);
    let declared = node.properties.get(link::link_key()).map(|id| document.node(*id));
    let text = declared.and_then(|node| node.types.as_ref()).is_some_and(|types| *types.names == ["string"]);
    text && node.required.contains(&link::link_key())
}
