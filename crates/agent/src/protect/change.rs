//! A change that a command has made and was not trusted to make.

use std::collections::{BTreeMap, BTreeSet};

use fullsend_flow::Trust;
use serde::{Deserialize, Serialize};

use super::item::Item;

/// What was done to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Deed {
    /// It was not there before.
    Added,
    /// It is another than before.
    Changed,
    /// It is gone.
    Removed,
}

/// A change that a command has made and was not trusted to make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// The path in the workspace.
    pub path: String,
    /// What was done to it.
    pub deed: Deed,
    /// How far a conversation must be trusted to do that.
    pub needs: Trust,
    /// Where the command's version is now, in the directory of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// Whether the path is as it was before.
    pub undone: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// What came of comparing a workspace with what it was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Compared {
    /// What a command was not trusted to change.
    pub changes: Vec<Change>,
    /// Whether something could not be looked at: there is too much of it, or its name is no text.
    pub incomplete: bool,
}

/// What differs. Of what was added as a whole only the topmost path is named, and what is above something else comes
/// before it.
pub(super) fn differences(
    before: &BTreeMap<String, Item>,
    after: &BTreeMap<String, Item>,
) -> Vec<(String, Deed, Trust)> {
    let mut found = Vec::new();
    let mut whole: BTreeSet<&str> = BTreeSet::new();
    for (path, item) in after {
        let deed = match before.get(path) {
            None => Deed::Added,
            Some(was) if was.what != item.what => Deed::Changed,
            Some(_) => continue,
        };
        if !is_below(&whole, path) {
            whole.insert(path);
            found.push((path.clone(), deed, item.needs));
        }
    }
    let removed = before.iter().filter(|(path, _)| !after.contains_key(*path));
    found.extend(removed.map(|(path, item)| (path.clone(), Deed::Removed, item.needs)));
    found
}

/// Whether a directory that a path is in is one of these.
pub(super) fn is_below(directories: &BTreeSet<&str>, path: &str) -> bool {
    path.match_indices('/').any(|(end, _)| path.get(..end).is_some_and(|above| directories.contains(above)))
}
