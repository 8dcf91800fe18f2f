//! Does a value fit a schema: every answer is remembered, so that no schema makes this exponential.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    ptr,
    rc::Rc,
};

use serde_json::{Map, Value};

use super::{
    ReleaseError,
    bounds::{Canonical, same},
    document::{Additional, Document, Node, NodeId, OBJECT},
    failure::{Failure, Reason, Step, Stop, within},
};

/// The deepest chain of values, references and combinators that is followed; keeps a thread's stack safe.
const DEEPEST_CHECK: usize = 384;
/// The most steps for one value: about a second of work.
const MOST_WORK: u64 = 5_000_000;

/// Checks one value against one schema.
#[derive(Debug)]
pub(super) struct Checker<'d, 's, 'v> {
    pub(super) document: &'d Document<'s>,
    root: &'v Value,
    /// Keys of the outermost object that are treated as if they were not there.
    dropped: HashSet<&'v str>,
    answers: HashMap<(NodeId, usize), Answer<'s, 'v>>,
    names: HashMap<NodeId, Rc<Names<'s>>>,
    opened: HashMap<NodeId, bool>,
    work: u64,
    depth: usize,
}

#[derive(Debug)]
enum Answer<'s, 'v> {
    Asking,
    Fits,
    Fails(Failure<'s, 'v>),
}

/// Property names that a node and its branches declare.
#[derive(Debug, Default)]
pub(super) struct Names<'s> {
    /// In the order in which they are declared.
    pub(super) ordered: Vec<&'s str>,
    pub(super) set: HashSet<&'s str>,
}

/// The keys a node lets an object have.
#[derive(Debug)]
pub(super) enum Keys<'s> {
    Any,
    Only(Rc<Names<'s>>),
}

impl<'d, 's, 'v> Checker<'d, 's, 'v> {
    pub(super) fn new(
        document: &'d Document<'s>,
        root: &'v Value,
        reserved: &BTreeSet<String>,
    ) -> Result<Self, ReleaseError> {
        let mut checker = Self {
            document,
            root,
            dropped: HashSet::new(),
            answers: HashMap::new(),
            names: HashMap::new(),
            opened: HashMap::new(),
            work: 0,
            depth: 0,
        };
        let declared = checker.names(Document::ROOT)?;
        let keys = root.as_object().into_iter().flat_map(Map::keys).map(String::as_str);
        checker.dropped = keys.filter(|key| reserved.contains(*key) && !declared.set.contains(key)).collect();
        Ok(checker)
    }

    /// Whether the schema accepts the value as a whole.
    pub(super) fn accept(&mut self, value: &'v Value) -> Result<(), Stop<'s, 'v>> {
        self.check(Document::ROOT, value)
    }

    /// Whether one node accepts a value.
    pub(super) fn fits(&mut self, id: NodeId, value: &'v Value) -> Result<bool, ReleaseError> {
        match self.check(id, value) {
            Ok(()) => Ok(true),
            Err(Stop::Mismatch(_)) => Ok(false),
            Err(Stop::Limit(error)) => Err(error),
        }
    }

    pub(super) fn is_dropped(&self, object: &Value, key: &str) -> bool {
        ptr::eq(object, self.root) && self.dropped.contains(key)
    }

    pub(super) fn spend(&mut self, steps: usize) -> Result<(), ReleaseError> {
        self.work = self.work.saturating_add(u64::try_from(steps).unwrap_or(u64::MAX));
        if self.work > MOST_WORK {
            return Err(ReleaseError::TooMuchWork { limit: MOST_WORK });
        }
        Ok(())
    }

    fn check(&mut self, id: NodeId, value: &'v Value) -> Result<(), Stop<'s, 'v>> {
        self.spend(1)?;
        let node = self.document.node(id);
        if let Some(reason) = &node.refuses {
            return Err(reason.clone().into());
        }
        if !node.is_combined() && !value.is_object() && !value.is_array() {
            // Quickly answered, and too many to remember.
            return self.check_scalar(node, value);
        }
        let question = (id, ptr::from_ref(value).addr());
        match self.answers.get(&question) {
            Some(Answer::Asking) => return Err(Reason::Reentered.into()),
            Some(Answer::Fits) => return Ok(()),
            Some(Answer::Fails(failure)) => return Err(Stop::Mismatch(failure.clone())),
            None => {}
        }
        if self.depth >= DEEPEST_CHECK {
            return Err(ReleaseError::SchemaTooDeep { limit: DEEPEST_CHECK }.into());
        }
        self.answers.insert(question, Answer::Asking);
        self.depth += 1;
        let outcome = self.check_node(id, value);
        self.depth -= 1;
        let answer = match &outcome {
            Ok(()) => Answer::Fits,
            Err(Stop::Mismatch(failure)) => Answer::Fails(failure.clone()),
            Err(Stop::Limit(_)) => return outcome,
        };
        self.answers.insert(question, answer);
        outcome
    }

    fn check_node(&mut self, id: NodeId, value: &'v Value) -> Result<(), Stop<'s, 'v>> {
        let node = self.document.node(id);
        for branch in &node.all_of {
            self.check(*branch, value)?;
        }
        if let Some(branches) = &node.any_of
            && self.count_fitting(branches, value, 1)? == 0
        {
            return Err(Reason::AnyOf.into());
        }
        if let Some(branches) = &node.one_of
            && self.count_fitting(branches, value, 2)? != 1
        {
            return Err(Reason::OneOf.into());
        }
        self.check_scalar(node, value)?;
        match value {
            Value::Object(map) => self.check_object(id, value, map),
            Value::Array(items) => self.check_array(node, items),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        }
    }

    fn count_fitting(
        &mut self,
        branches: &[NodeId],
        value: &'v Value,
        enough: usize,
    ) -> Result<usize, ReleaseError> {
        let mut fitting = 0;
        for branch in branches {
            fitting += usize::from(self.fits(*branch, value)?);
            if fitting == enough {
                break;
            }
        }
        Ok(fitting)
    }

    /// What a node says about the value itself, not about its parts.
    fn check_scalar(&mut self, node: &'d Node<'s>, value: &'v Value) -> Result<(), Stop<'s, 'v>> {
        if let Some(members) = &node.members {
            self.spend(members.effort())?;
            if !members.contain(value) {
                return Err(Reason::Enum.into());
            }
        }
        if node.constant.is_some_and(|constant| !same(constant, value)) {
            return Err(Reason::Const.into());
        }
        if let Some(types) = &node.types
            && !types.admit(value)
        {
            return Err(Reason::Type(Rc::clone(&types.names)).into());
        }
        if let Some(number) = value.as_number()
            && !node.range.admits(Canonical::of(number))
        {
            return Err(Reason::Range.into());
        }
        Ok(())
    }

    fn check_object(
        &mut self,
        id: NodeId,
        value: &'v Value,
        map: &'v Map<String, Value>,
    ) -> Result<(), Stop<'s, 'v>> {
        let node = self.document.node(id);
        self.spend(node.required.len())?;
        if let Some(name) = node.required.iter().find(|name| !map.contains_key(**name)) {
            return Err(Reason::Missing(name).into());
        }
        for (key, part) in map {
            if let Some(property) = node.properties.get(key.as_str()) {
                within(Step::Key(key), self.check(*property, part))?;
            }
        }
        let allowed = self.keys(id)?;
        for (key, part) in map {
            if node.properties.contains_key(key.as_str()) || self.is_dropped(value, key) {
                continue;
            }
            match (&allowed, node.additional) {
                (Keys::Only(names), _) if !names.set.contains(key.as_str()) => {
                    return Err(Reason::Additional(key).into());
                }
                (_, Additional::Under(schema)) => within(Step::Key(key), self.check(schema, part))?,
                (_, Additional::Unsaid | Additional::Allowed | Additional::Refused) => {}
            }
        }
        Ok(())
    }

    fn check_array(&mut self, node: &'d Node<'s>, items: &'v [Value]) -> Result<(), Stop<'s, 'v>> {
        if !node.length.admits(items.len()) {
            return Err(Reason::Length.into());
        }
        let Some(schema) = node.items else { return Ok(()) };
        for (index, item) in items.iter().enumerate().skip(node.slots.len()) {
            within(Step::Index(index), self.check(schema, item))?;
        }
        Ok(())
    }

    /// The keys a node lets an object have, by its own words or by its silence.
    pub(super) fn keys(&mut self, id: NodeId) -> Result<Keys<'s>, ReleaseError> {
        let node = self.document.node(id);
        match node.additional {
            Additional::Allowed | Additional::Under(_) => Ok(Keys::Any),
            Additional::Refused if node.branches().next().is_some() => {
                // Taken at its word: what its branches declare does not count.
                let ordered = node.names.clone();
                let set = ordered.iter().copied().collect();
                Ok(Keys::Only(Rc::new(Names { ordered, set })))
            }
            Additional::Unsaid if !node.speaks_of_objects || self.is_opened(id)? => Ok(Keys::Any),
            Additional::Unsaid | Additional::Refused => self.names(id).map(Keys::Only),
        }
    }

    /// Names declared by a node and, through any nesting of combinators, by its branches.
    pub(super) fn names(&mut self, id: NodeId) -> Result<Rc<Names<'s>>, ReleaseError> {
        if let Some(names) = self.names.get(&id) {
            return Ok(Rc::clone(names));
        }
        let mut names = Names::default();
        for reached in self.reachable(id, |_| true)? {
            let node = self.document.node(reached);
            self.spend(node.names.len())?;
            for name in &node.names {
                if names.set.insert(name) {
                    names.ordered.push(name);
                }
            }
        }
        let names = Rc::new(names);
        self.names.insert(id, Rc::clone(&names));
        Ok(names)
    }

    /// Whether a branch lifts the silence of a node that does not say whether it is closed.
    fn is_opened(&mut self, id: NodeId) -> Result<bool, ReleaseError> {
        if let Some(opened) = self.opened.get(&id) {
            return Ok(*opened);
        }
        let document = self.document;
        let unsaid = |id: NodeId| document.node(id).additional == Additional::Unsaid;
        let reached = self.reachable(id, unsaid)?;
        let opened = reached.into_iter().any(|other| other != id && opens(document.node(other)));
        self.opened.insert(id, opened);
        Ok(opened)
    }

    fn reachable(
        &mut self,
        id: NodeId,
        enters: impl Fn(NodeId) -> bool,
    ) -> Result<Vec<NodeId>, ReleaseError> {
        let mut reached = vec![id];
        let mut seen = HashSet::from([id]);
        let mut next = 0;
        while let Some(at) = reached.get(next).copied() {
            next += 1;
            if !enters(at) {
                continue;
            }
            for branch in self.document.node(at).branches() {
                self.spend(1)?;
                if seen.insert(branch) {
                    reached.push(branch);
                }
            }
        }
        Ok(reached)
    }
}

/// Whether a branch by itself lets an object have keys that nobody declared.
fn opens(branch: &Node<'_>) -> bool {
    let takes_objects = branch.types.as_ref().is_none_or(|types| types.kinds & OBJECT != 0);
    let open = match branch.additional {
        Additional::Allowed | Additional::Under(_) => true,
        Additional::Refused => false,
        Additional::Unsaid => !branch.speaks_of_objects && branch.branches().next().is_none(),
    };
    branch.refuses.is_none() && takes_objects && open
}
