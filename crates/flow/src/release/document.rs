//! A schema read once: every subschema a numbered node, references followed, unknown keywords gone.

use std::{
    collections::{HashMap, HashSet},
    ptr,
    rc::Rc,
};

use serde_json::{Map, Value};

use super::{
    bounds::{Canonical, Length, Range, same},
    failure::Reason,
};
use crate::pointer;

/// The longest chain of references that is followed; without a bound, n references cost n squared.
const MOST_HOPS: usize = 64;

pub(super) type NodeId = usize;

/// All nodes of a schema.
#[derive(Debug)]
pub(super) struct Document<'s> {
    nodes: Vec<Node<'s>>,
    refusing: Node<'s>,
}

/// One subschema, with the target of its reference merged in.
#[derive(Debug, Default)]
pub(super) struct Node<'s> {
    /// Set if the node accepts nothing.
    pub(super) refuses: Option<Reason<'s, 'static>>,
    pub(super) all_of: Vec<NodeId>,
    pub(super) any_of: Option<Vec<NodeId>>,
    pub(super) one_of: Option<Vec<NodeId>>,
    pub(super) members: Option<Members<'s>>,
    pub(super) constant: Option<&'s Value>,
    pub(super) types: Option<Types<'s>>,
    pub(super) range: Range,
    pub(super) length: Length,
    pub(super) required: Vec<&'s str>,
    /// Names of `properties` in the order of the schema.
    pub(super) names: Vec<&'s str>,
    pub(super) properties: HashMap<&'s str, NodeId>,
    pub(super) additional: Additional,
    pub(super) items: Option<NodeId>,
    pub(super) slots: Vec<NodeId>,
    pub(super) speaks_of_objects: bool,
}

/// What a node says about keys it does not declare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Additional {
    /// Nothing: refused if the node speaks of objects, unless a branch knows better.
    #[default]
    Unsaid,
    Allowed,
    Refused,
    Under(NodeId),
}

/// The values of an `enum`.
#[derive(Debug, Default)]
pub(super) struct Members<'s> {
    texts: HashSet<&'s str>,
    others: Vec<&'s Value>,
}

impl<'s> Members<'s> {
    fn of(values: &'s [Value]) -> Self {
        let mut members = Self::default();
        for value in values {
            match value.as_str() {
                Some(text) => _ = members.texts.insert(text),
                None => members.others.push(value),
            }
        }
        members
    }

    pub(super) fn contain(&self, value: &Value) -> bool {
        match value.as_str() {
            Some(text) => self.texts.contains(text),
            None => self.others.iter().any(|other| same(other, value)),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.texts.len() + self.others.len()
    }

    /// How many comparisons one lookup can take.
    pub(super) fn effort(&self) -> usize {
        self.others.len()
    }
}

/// A `type` keyword.
#[derive(Debug)]
pub(super) struct Types<'s> {
    pub(super) names: Rc<[&'s str]>,
    /// One bit for each JSON type allowed.
    pub(super) kinds: u8,
    /// Numbers must be integers.
    pub(super) whole_only: bool,
}

/// The bit of a JSON type in [`Types::kinds`].
pub(super) const fn kind_of(value: &Value) -> u8 {
    match value {
        Value::Null => 1,
        Value::Bool(_) => 2,
        Value::Number(_) => 4,
        Value::String(_) => 8,
        Value::Array(_) => 16,
        Value::Object(_) => OBJECT,
    }
}

pub(super) const OBJECT: u8 = 32;
pub(super) const ALL_KINDS: u8 = 63;

impl<'s> Types<'s> {
    fn of(keyword: &'s Value) -> Option<Self> {
        let names: Vec<&str> = match keyword {
            Value::String(name) => vec![name],
            Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
        };
        let kinds = names.iter().fold(0, |kinds, name| {
            kinds
                | match *name {
                    "null" => 1,
                    "boolean" => 2,
                    "number" | "integer" => 4,
                    "string" => 8,
                    "array" => 16,
                    "object" => OBJECT,
                    // A name from another vocabulary says nothing here.
                    _ => ALL_KINDS,
                }
        });
        let whole_only = kinds != ALL_KINDS && names.contains(&"integer") && !names.contains(&"number");
        Some(Self { names: names.into(), kinds, whole_only })
    }

    pub(super) fn admit(&self, value: &Value) -> bool {
        let whole =
            |value: &Value| value.as_number().is_none_or(|number| Canonical::of(number).is_integral());
        self.kinds & kind_of(value) != 0 && (!self.whole_only || whole(value))
    }
}

impl<'s> Document<'s> {
    pub(super) const ROOT: NodeId = 0;

    /// Reads a schema, one node after the other and without recursion.
    pub(super) fn of(root: &'s Value) -> Self {
        let mut reading = Reading { root, places: Vec::new(), numbers: HashMap::new() };
        reading.number(root);
        let mut nodes = Vec::new();
        while let Some(place) = reading.places.get(nodes.len()).copied() {
            let node = reading.node(place);
            nodes.push(node);
        }
        Self { nodes, refusing: refusing(Reason::RejectsAll) }
    }

    pub(super) fn node(&self, id: NodeId) -> &Node<'s> {
        self.nodes.get(id).unwrap_or(&self.refusing)
    }
}

impl Node<'_> {
    /// Whether a combinator takes part in the verdict; one without branches does.
    pub(super) fn is_combined(&self) -> bool {
        !self.all_of.is_empty() || self.any_of.is_some() || self.one_of.is_some()
    }

    pub(super) fn branches(&self) -> impl Iterator<Item = NodeId> + '_ {
        let any_of = self.any_of.iter().flatten();
        self.all_of.iter().chain(any_of).chain(self.one_of.iter().flatten()).copied()
    }
}

fn refusing<'s>(reason: Reason<'s, 'static>) -> Node<'s> {
    Node { refuses: Some(reason), ..Node::default() }
}

struct Reading<'s> {
    root: &'s Value,
    places: Vec<&'s Value>,
    numbers: HashMap<usize, NodeId>,
}

impl<'s> Reading<'s> {
    fn number(&mut self, place: &'s Value) -> NodeId {
        let next = self.places.len();
        let number = *self.numbers.entry(ptr::from_ref(place).addr()).or_insert(next);
        if number == next {
            self.places.push(place);
        }
        number
    }

    fn numbers(&mut self, places: Option<&'s Value>) -> Option<Vec<NodeId>> {
        Some(places?.as_array()?.iter().map(|place| self.number(place)).collect())
    }

    fn node(&mut self, place: &'s Value) -> Node<'s> {
        let layers = match self.layers(place) {
            Ok(layers) => layers,
            Err(reason) => return refusing(reason),
        };
        let get = |key: &str| layers.iter().find_map(|layer| layer.get(key));
        let types = get("type").and_then(Types::of);
        let mut node = Node {
            all_of: self.numbers(get("allOf")).unwrap_or_default(),
            any_of: self.numbers(get("anyOf")),
            one_of: self.numbers(get("oneOf")),
            members: get("enum").and_then(Value::as_array).map(|values| Members::of(values)),
            constant: get("const"),
            range: Range::of(get),
            length: Length::of(get),
            required: texts(get("required")),
            additional: match get("additionalProperties") {
                Some(Value::Bool(true)) => Additional::Allowed,
                Some(Value::Bool(false)) => Additional::Refused,
                Some(schema @ Value::Object(_)) => Additional::Under(self.number(schema)),
                _ => Additional::Unsaid,
            },
            items: get("items").filter(|items| items.is_object()).map(|items| self.number(items)),
            slots: self.numbers(get("prefixItems")).unwrap_or_default(),
            speaks_of_objects: types.as_ref().is_some_and(|types| types.names.contains(&"object"))
                || ["properties", "required", "additionalProperties"].iter().any(|key| get(key).is_some()),
            types,
            ..Node::default()
        };
        for (name, schema) in get("properties").and_then(Value::as_object).into_iter().flatten() {
            node.names.push(name);
            node.properties.insert(name, self.number(schema));
        }
        node
    }

    /// The node's own keywords, then those of what it refers to; the first to have a keyword decides.
    fn layers(&self, place: &'s Value) -> Result<Vec<&'s Map<String, Value>>, Reason<'s, 'static>> {
        let mut layers: Vec<&'s Map<String, Value>> = Vec::new();
        let mut at = place;
        loop {
            match at {
                Value::Bool(true) => return Ok(layers),
                Value::Bool(false) => return Err(Reason::RejectsAll),
                Value::Object(map) if layers.iter().any(|layer| ptr::eq(*layer, map)) => {
                    return Err(Reason::Reentered);
                }
                Value::Object(map) => layers.push(map),
                Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                    return Err(Reason::NotASchema);
                }
            }
            let Some(reference) = at.get("$ref") else { return Ok(layers) };
            let target = reference.as_str().and_then(|text| pointer::local_target(self.root, text));
            at = target.filter(|_| layers.len() <= MOST_HOPS).ok_or(Reason::Unresolved)?;
        }
    }
}

fn texts(list: Option<&Value>) -> Vec<&str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}
