//! Profiles and providers that came from elsewhere: what they call themselves ends up on command lines and in file names,
//! so they are read as strictly as those of the fullsend directory before anything uses them.

use std::path::Path;

use fullsend_harness::schema::{Profile, ProviderDefinition};
use fullsend_yaml::{Diagnostic, FromNode, Limits, Reader, SourceMap, parse};

use crate::error::ResolveError;

/// What a file defines, by the key that names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Definition {
    Profile,
    Provider,
}

/// Checks the definition that the key `field` names, fetched from `url` to `path`; other keys name no definitions.
///
/// # Errors
/// What is wrong with it, at its place.
pub(crate) fn check(field: &str, url: &str, path: &Path) -> Result<(), ResolveError> {
    let definition = match field {
        field if field.starts_with("openshell.profiles") => Definition::Profile,
        field if field.starts_with("providers") => Definition::Provider,
        _ => return Ok(()),
    };
    let mut sources = SourceMap::new();
    // Bytes that are not UTF-8 show as what they are not: a problem of the document.
    let text =
        std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let file = sources.add(url, text);
    let parsed = parse(&sources, file, Limits::default());
    let mut problems = parsed.problems;
    if let Some(root) = &parsed.root {
        let mut reader = Reader::new(&mut problems);
        match definition {
            Definition::Profile => drop(Profile::from_node(root, &mut reader)),
            Definition::Provider => drop(ProviderDefinition::from_node(root, &mut reader)),
        }
    }
    if problems.iter().any(Diagnostic::is_error) {
        return Err(ResolveError::Broken { sources: Box::new(sources), problems });
    }
    Ok(())
}
