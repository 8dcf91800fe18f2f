//! Where a resource comes from: declarative ones may be remote, executable ones are always local.

use std::path::Path;

use fullsend_origin::{ForgeHosts, ForgeUrl, HttpsUrl, PathKind, Reference, ReferenceError, has_scheme};
use fullsend_yaml::{FromText, TextProblem};

use crate::rules;
use crate::value::BareName;
use crate::value::text::written_as_text;

/// A declarative resource: a local path, or an HTTPS URL with its SHA-256.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource(Reference);

impl Resource {
    /// The reference.
    #[must_use]
    pub fn reference(&self) -> &Reference {
        &self.0
    }

    /// The resource at a path; `None` when the path cannot be written in a file.
    pub(crate) fn at_path(path: &Path) -> Option<Self> {
        Self::from_text(path.to_str()?).ok().filter(|resource| resource.local().is_some())
    }

    /// The path as written, when the resource is local.
    #[must_use]
    pub fn local(&self) -> Option<&str> {
        match &self.0 {
            Reference::Local(path) => Some(path.as_str()),
            Reference::Remote(_) => None,
        }
    }

    /// The last element of the path, which names the resource where it is used; empty when there is none.
    #[must_use]
    pub fn base_name(&self) -> String {
        self.0.base_name().unwrap_or_default()
    }
}

impl FromText for Resource {
    const EMPTY_IS_ABSENT: bool = true;

    fn from_text(text: &str) -> Result<Self, TextProblem> {
        Reference::parse(text).map(Self).map_err(|error| TextProblem {
            rule: rules::for_reference(&error),
            message: format!("is not a usable reference: {error}"),
            help: forge_help(&error).or_else(|| error.help()),
        })
    }
}

/// A forge shows a page around a file or directory. The digest of that page is not the one to pin.
fn forge_help(error: &ReferenceError) -> Option<String> {
    let ReferenceError::Unpinned { url } = error else { return None };
    let forge_url = ForgeUrl::parse(&HttpsUrl::parse(url).ok()?, &ForgeHosts::default()).ok()?;
    match forge_url.path_kind() {
        PathKind::Tree => Some("append `#sha256=` and the tree digest of the directory".to_owned()),
        PathKind::Blob => {
            let raw = forge_url.raw_file_url().filter(|raw| !raw.contains('\''))?;
            Some(format!(
                "name the file itself and its digest, as `curl -fsS '{raw}' | sha256sum` prints it: `{raw}#sha256=…`"
            ))
        }
    }
}

impl std::fmt::Display for Resource {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(formatter)
    }
}

/// What editors can check of a local path: that it is no URL.
pub(super) const LOCAL_PATTERN: &str = "^(?![A-Za-z][A-Za-z0-9+.-]*://).+$";

/// What editors can check of a reference: no scheme but https, and a pin on it.
const RESOURCE_PATTERN: &str = "^(https://[^#]+#sha256=[0-9a-f]{64}|(?![A-Za-z][A-Za-z0-9+.-]*://).+)$";

written_as_text!(Resource, "path or pinned URL", RESOURCE_PATTERN);

/// An executable resource or its input: always a local path, because a URL would bring code from elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutablePath(String);

impl ExecutablePath {
    /// The path; `None` when it cannot be written in a file.
    pub(crate) fn at_path(path: &Path) -> Option<Self> {
        Self::from_text(path.to_str()?).ok()
    }

    /// The path as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromText for ExecutablePath {
    const EMPTY_IS_ABSENT: bool = true;

    fn from_text(text: &str) -> Result<Self, TextProblem> {
        refuse_url(text)?;
        match Reference::parse(text) {
            Ok(Reference::Local(_)) => Ok(Self(text.to_owned())),
            Ok(Reference::Remote(_)) => Err(url_refused(text)),
            Err(error) => Err(TextProblem {
                rule: rules::for_reference(&error),
                message: format!("is not a usable path: {error}"),
                help: error.help(),
            }),
        }
    }
}

/// Refuses anything that reads like a URL, whatever its scheme.
pub(crate) fn refuse_url(text: &str) -> Result<(), TextProblem> {
    if has_scheme(text) { Err(url_refused(text)) } else { Ok(()) }
}

fn url_refused(text: &str) -> TextProblem {
    TextProblem {
        rule: &rules::EXECUTABLE_URL,
        message: format!("must be a local path, not a URL (`{text}`)"),
        help: None,
    }
}

impl std::fmt::Display for ExecutablePath {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(formatter)
    }
}

written_as_text!(ExecutablePath, "path", LOCAL_PATTERN);

/// A provider: the bare name of one defined under `providers/`, or a file or URL that defines it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderSource {
    /// A name to look up.
    Name(BareName),
    /// A definition file.
    Definition(Resource),
}

impl FromText for ProviderSource {
    fn from_text(text: &str) -> Result<Self, TextProblem> {
        let is_path = text.contains('/') || text.ends_with(".yaml") || text.ends_with(".yml");
        if is_path {
            Resource::from_text(text).map(Self::Definition)
        } else {
            BareName::from_text(text).map(Self::Name)
        }
    }
}

impl std::fmt::Display for ProviderSource {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ProviderSource::Name(name) => name.fmt(formatter),
            ProviderSource::Definition(resource) => resource.fmt(formatter),
        }
    }
}

written_as_text!(ProviderSource, "name, path or pinned URL", RESOURCE_PATTERN);
