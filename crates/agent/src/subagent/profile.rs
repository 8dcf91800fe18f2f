//! What a child may do.

use serde_json::{Map, Value, json};

use crate::toolbox::Rejection;

/// How often the model of a child is asked, where nothing else is said.
const TURNS: u32 = 8;

/// What a child may do, by name. The tools of a profile are all that a child has; where it works and how strictly it is
/// judged is as in the run that starts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Profile {
    /// Commands and files, as in the run itself.
    Default,
    /// A browser that was lent, and looking at files.
    Browser,
    /// Pages of the web, and nothing else.
    WebFetch,
    /// What the model's own side finds on the web.
    WebSearch,
}

impl Profile {
    /// Every profile.
    pub const ALL: [Self; 4] = [Self::Default, Self::Browser, Self::WebFetch, Self::WebSearch];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Browser => "browser",
            Self::WebFetch => "web_fetch",
            Self::WebSearch => "web_search",
        }
    }

    /// The profile of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.as_str() == name)
    }

    /// What a child may call.
    pub const fn tools(self) -> &'static [&'static str] {
        match self {
            Self::Default => {
                &["bash", "read_file", "view_image", "edit_file", "write_file", "search_files", "list_files"]
            }
            Self::Browser => &["browser", "read_file", "view_image"],
            Self::WebFetch => &["web_fetch"],
            Self::WebSearch => &[],
        }
    }

    /// Those of them that act outside of the sandbox.
    pub const fn host_tools(self) -> &'static [&'static str] {
        match self {
            Self::Browser => &["browser"],
            Self::Default | Self::WebFetch | Self::WebSearch => &[],
        }
    }

    /// What the model's own side may do, by type.
    pub const fn native_tools(self) -> &'static [&'static str] {
        match self {
            Self::Default | Self::Browser | Self::WebFetch => &[],
            Self::WebSearch => &["google_search"],
        }
    }

    /// What it is for, in words for the model that chooses one.
    pub(super) const fn purpose(self) -> &'static str {
        match self {
            Self::Default => "works with the files and commands of the workspace",
            Self::Browser => "drives a browser: opens pages, reads them, fills in forms",
            Self::WebFetch => "reads pages of the public web",
            Self::WebSearch => "searches the web",
        }
    }

    /// How often the model of a child is asked, where nothing else is said.
    pub(super) const fn turns(self) -> u32 {
        match self {
            Self::Default | Self::Browser | Self::WebFetch | Self::WebSearch => TURNS,
        }
    }
}

/// The profile that a call with arguments that can be used asks for; nothing where no child is asked for.
pub(crate) fn profile_of(tool: &str, input: &Map<String, Value>) -> Option<Profile> {
    if tool != super::NAME {
        return None;
    }
    let asked = input.get("profile").and_then(Value::as_str);
    asked.map_or(Some(Profile::Default), Profile::named)
}

/// Whether a call was rejected for the profile that it asks for.
pub(crate) fn is_about_profile(rejection: &Rejection) -> bool {
    matches!(rejection, Rejection::Arguments { tool: super::NAME, field: Some(field), .. } if field == "/profile")
}

/// The profile that is named in arguments as they came. A name that is none of ours is the model's, and not for the record.
pub(crate) fn profile_named_in(arguments: &str) -> Option<Profile> {
    let arguments: Value = serde_json::from_str(arguments).ok()?;
    Profile::named(arguments.get("profile")?.as_str()?)
}

/// What comes back from a child: always the same, and on record with each.
pub(super) fn return_policy() -> Value {
    json!({
        "type": "fullsend.subagent-return-policy",
        "channel": "summary-and-sanitized-state",
        "includeSummary": true,
        "includeSanitizedRunState": true,
        "includeManifest": true,
        "includeTranscript": false,
        "includeRawFailureRecords": false,
    })
}
