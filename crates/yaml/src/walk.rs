//! Values back to their places: visits every leaf of a read value with its path and [`Location`].

use std::fmt::Write;

use indexmap::IndexMap;

use crate::{Located, Location};

/// A value whose leaves know where they were written.
pub trait Walk {
    /// Visits the leaves.
    fn walk(&self, visitor: &mut Visitor<'_>);
}

/// Receives leaves; keeps the path to the one being visited.
pub struct Visitor<'v> {
    path: String,
    receive: &'v mut dyn FnMut(&str, Location),
}

impl std::fmt::Debug for Visitor<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Visitor").field("path", &self.path).finish_non_exhaustive()
    }
}

impl<'v> Visitor<'v> {
    /// A visitor that hands each leaf's path, as a JSON Pointer, and place to `receive`.
    pub fn new(receive: &'v mut dyn FnMut(&str, Location)) -> Self {
        Self { path: String::new(), receive }
    }

    /// Visits what stands under a key.
    pub fn key(&mut self, key: &str, value: &dyn Walk) {
        self.step(value, |path| {
            path.push('/');
            path.push_str(&key.replace('~', "~0").replace('/', "~1"));
        });
    }

    /// Visits an element of a list.
    pub fn index(&mut self, index: usize, value: &dyn Walk) {
        self.step(value, |path| {
            let _infallible = write!(path, "/{index}");
        });
    }

    /// Reports the current path as a leaf written at `at`.
    pub fn leaf(&mut self, at: Location) {
        (self.receive)(&self.path, at);
    }

    fn step(&mut self, value: &dyn Walk, extend: impl FnOnce(&mut String)) {
        let length = self.path.len();
        extend(&mut self.path);
        value.walk(self);
        self.path.truncate(length);
    }
}

impl<T> Walk for Located<T> {
    fn walk(&self, visitor: &mut Visitor<'_>) {
        visitor.leaf(self.at);
    }
}

impl<T: Walk> Walk for Option<T> {
    fn walk(&self, visitor: &mut Visitor<'_>) {
        if let Some(value) = self {
            value.walk(visitor);
        }
    }
}

impl<T: Walk> Walk for Vec<T> {
    fn walk(&self, visitor: &mut Visitor<'_>) {
        for (index, value) in self.iter().enumerate() {
            visitor.index(index, value);
        }
    }
}

impl<T: Walk> Walk for IndexMap<String, T> {
    fn walk(&self, visitor: &mut Visitor<'_>) {
        for (key, value) in self {
            visitor.key(key, value);
        }
    }
}
