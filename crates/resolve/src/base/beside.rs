//! A file or directory beside a remote base.

use std::path::PathBuf;

use fullsend_fetch::audit::FetchType;
use fullsend_harness::resources::{ResourceKind, ResourceUse};
use fullsend_origin::{AllowList, ForgeUrl, HttpsUrl, PinnedUrl, RawGitHubUrl, RemoteUrl, Sha256Digest};

use crate::dependency::{Dependency, DependencyKind};
use crate::error::{DependencyError, ResolveError};
use crate::permission::organisation;
use crate::resolver::{Resolver, dependency};
use crate::store::{Shape, Want};

/// Fetches what lies beside one base.
pub(super) struct Beside<'b> {
    pub(super) resolver: &'b Resolver,
    pub(super) base: &'b PinnedUrl,
    pub(super) org: &'b AllowList,
}

/// What was found beside a base.
pub(super) struct Found {
    pub(super) path: PathBuf,
    pub(super) dependency: Dependency,
}

impl Beside<'_> {
    /// Fetches the resource that the base names by a path; `None` for what a remote base cannot give.
    pub(super) async fn fetch(
        &self,
        resource: &ResourceUse<'_>,
        written: &str,
    ) -> Result<Option<Found>, ResolveError> {
        let script =
            if resource.kind == ResourceKind::Script { self.script_directory(written) } else { None };
        let (shape, kind, fetch_type) = match resource.kind {
            ResourceKind::Script if script.is_some() => {
                (Shape::Directory, DependencyKind::Directory, FetchType::BaseScript)
            }
            ResourceKind::Skill => (Shape::Directory, DependencyKind::Directory, FetchType::BaseSkill),
            ResourceKind::Plugin => (Shape::Directory, DependencyKind::Directory, FetchType::BasePlugin),
            ResourceKind::Script => (Shape::File, DependencyKind::Script, FetchType::BaseScript),
            ResourceKind::Directory => return Ok(None),
            ResourceKind::Agent | ResourceKind::File | ResourceKind::Profile | ResourceKind::OptionalFile => {
                (Shape::File, DependencyKind::Resource, FetchType::BaseResource)
            }
        };
        let label = resource.label();
        let failed = |error: DependencyError| ResolveError::Dependency {
            field: label.clone(),
            url: written.to_owned(),
            source: Box::new(error),
        };
        let (directory, file) = script.unwrap_or((written, ""));
        let url = self.address(directory, shape).map_err(failed)?;
        let allowed_by = organisation(self.org, url.as_https()).map_err(failed)?;
        let digest = self.digest(&label, &url, shape, fetch_type, &allowed_by).await?;
        let want = Want { field: label, url: PinnedUrl::new(url, digest), shape, allowed_by, fetch_type };
        let got = self.resolver.store.get(&want).await?;
        let dependency = Dependency { kind, ..dependency(&want, &got) };
        let path = if file.is_empty() { got.path } else { got.path.join(file) };
        Ok(Some(Found { path, dependency }))
    }

    /// The directory of a script and its name in it: scripts call others that lie beside them. Only a forge can list a
    /// directory; elsewhere, and for a script that lies in none, the script is fetched alone.
    fn script_directory<'w>(&self, written: &'w str) -> Option<(&'w str, &'w str)> {
        let (directory, file) = written.rsplit_once('/').filter(|(directory, _)| !directory.is_empty())?;
        let on_forge = RawGitHubUrl::parse(self.base.url().as_https()).is_ok();
        on_forge.then_some((directory, file))
    }

    /// The digest that the content must have: the locked one, else the one seen when it was fetched first.
    async fn digest(
        &self,
        label: &str,
        url: &RemoteUrl,
        shape: Shape,
        fetch_type: FetchType,
        allowed_by: &str,
    ) -> Result<Sha256Digest, ResolveError> {
        if let Some(digest) = self.resolver.locked(url.as_str()) {
            return Ok(digest);
        }
        if !self.resolver.accepts_first_use() && !names_commit(self.base.url().as_https(), self.resolver) {
            return Err(ResolveError::Dependency {
                field: label.to_owned(),
                url: url.as_str().to_owned(),
                source: Box::new(DependencyError::MutableBase),
            });
        }
        self.resolver.store.first_use(label, url, shape, fetch_type, allowed_by).await
    }

    /// Where the file lies: beside the directory that holds the base.
    fn address(&self, written: &str, shape: Shape) -> Result<RemoteUrl, DependencyError> {
        check_relative(written)?;
        let root = root_url(self.base.url().as_str());
        let text = match shape {
            Shape::File => format!("{root}{written}"),
            Shape::Directory => self.tree_address(&root, written)?,
        };
        RemoteUrl::parse(&text).map_err(|error| DependencyError::Reference {
            message: format!("`{written}` beside the base is not a usable URL: {error}"),
            help: error.help(),
        })
    }

    /// Directories can only be listed by a forge.
    fn tree_address(&self, root: &str, written: &str) -> Result<String, DependencyError> {
        let raw = HttpsUrl::parse(root).ok().and_then(|url| RawGitHubUrl::parse(&url).ok());
        let raw = raw.ok_or_else(|| DependencyError::Reference {
            message: format!("`{written}` is a directory beside a base that does not lie on a forge"),
            help: Some("name it by its own pinned URL in the base".to_owned()),
        })?;
        let prefix = if raw.path().is_empty() { String::new() } else { format!("{}/", raw.path().join("/")) };
        let (owner, repo, reference) = (raw.owner(), raw.repo(), raw.reference());
        Ok(format!(
            "https://github.com/{owner}/{repo}/tree/{reference}/{prefix}{}",
            written.trim_end_matches('/')
        ))
    }
}

/// A base's files stay beside it: no way up, no query, no other host.
fn check_relative(written: &str) -> Result<(), DependencyError> {
    let leaves = written.starts_with('/') || written.split('/').any(|segment| segment == "..");
    if leaves || written.contains(['?', '#', '\\', '\0']) {
        return Err(DependencyError::Reference {
            message: format!("`{written}` is not a path beside the remote base"),
            help: Some("in the base, use a relative path without `..`, or a pinned URL".to_owned()),
        });
    }
    Ok(())
}

/// The URL of the base without its last two path elements: harness files lie in `harness/`, what they name beside it.
fn root_url(base: &str) -> String {
    let (scheme, rest) = base.split_once("://").unwrap_or(("https", base));
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let segments: Vec<&str> = path.split('/').collect();
    let kept = segments.get(..segments.len().saturating_sub(2)).unwrap_or_default();
    let directory = if kept.is_empty() { String::new() } else { format!("{}/", kept.join("/")) };
    format!("{scheme}://{host}/{directory}")
}

/// Whether the base's URL names a commit, so that what lies beside it cannot change.
fn names_commit(url: &HttpsUrl, resolver: &Resolver) -> bool {
    let raw = RawGitHubUrl::parse(url).is_ok_and(|url| url.names_commit());
    raw || ForgeUrl::parse(url, resolver.store.hosts()).is_ok_and(|url| url.names_commit())
}

#[cfg(test)]
mod tests {
    use super::root_url;

    #[test]
    fn the_root_is_two_elements_up() {
        for (base, root) in [
            (
                "https://raw.githubusercontent.com/o/r/sha/harness/triage.yaml",
                "https://raw.githubusercontent.com/o/r/sha/",
            ),
            ("https://example.com/path/to/file.yaml", "https://example.com/path/"),
            ("https://example.com/harness/file.yaml", "https://example.com/"),
            ("https://example.com/file.yaml", "https://example.com/"),
        ] {
            assert_eq!(root_url(base), root);
        }
    }
}
