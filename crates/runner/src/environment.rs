//! The variables of a run: what the caller passed in, what files add, and what a harness makes of both.
//!
//! Identity tokens of the CI platform are dropped on the way in, so nothing that is built from an [`Environment`] can hand
//! them on: no script, no provider, no file of the sandbox.

mod child;
mod dotenv;
mod expansion;

use std::collections::BTreeMap;

pub use child::{PostScript, ScriptVariables, Validation, child};
pub use dotenv::{DotenvError, parse as parse_dotenv};
pub use expansion::{Expanded, ExpandedServer, expand};
use fullsend_guard::canary::CanaryToken;
use fullsend_harness::expand::DENIED;

/// Variables by name, without those that no part of a run may see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    /// Values that must be in nothing that is written down or passed on.
    marks: Vec<CanaryToken>,
}

impl Environment {
    /// The variables of the caller.
    pub fn new(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut environment = Self::default();
        for (name, value) in variables {
            environment.set(name, value);
        }
        environment
    }

    /// Sets a variable, unless it is one that nothing may see.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        let name = name.into();
        if !DENIED.contains(&name.as_str()) {
            self.variables.insert(name, value.into());
        }
    }

    /// Keeps a value out of everything that is written down or passed on, whichever variable holds it.
    pub fn add_secret(&mut self, secret: CanaryToken) {
        if !self.marks.contains(&secret) {
            self.marks.push(secret);
        }
    }

    /// Values that must be in nothing that is written down or passed on.
    pub fn secrets(&self) -> &[CanaryToken] {
        &self.marks
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// All variables, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Adds the variables of a file in the form of [`parse_dotenv`]. Those that are there already are replaced.
    pub fn load(&mut self, file: &std::path::Path) -> Result<(), DotenvError> {
        for (name, value) in dotenv::read(file)? {
            self.set(name, value);
        }
        Ok(())
    }
}
