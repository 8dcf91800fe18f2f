//! A file or directory beside a remote base.

use std::path::PathBuf;

use fullsend_fetch::audit::{FetchType, Source as AuditSource};
use fullsend_harness::resources::{ResourceKind, ResourceUse, Source};
use fullsend_origin::{
    AllowList, ForgeHosts, ForgeKind, ForgeUrl, HttpsUrl, PinnedUrl, RawGitHubUrl, RemoteUrl, Sha256Digest,
};

use crate::dependency::Dependency;
use crate::error::{DependencyError, ResolveError};
use crate::lock::LockedKind;
use crate::permission::organisation;
use crate::resolver::{Resolver, dependency};
use crate::store::{Place, Refused, Shape, Want};

/// Fetches what lies beside one base.
pub(super) struct Beside<'b> {
    pub(super) resolver: &'b Resolver,
    pub(super) base: &'b PinnedUrl,
    pub(super) org: &'b AllowList,
}

/// How a resource beside a base is fetched and recorded.
struct Sort {
    shape: Shape,
    kind: LockedKind,
    fetch_type: FetchType,
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
        label: &str,
        resource: &ResourceUse<'_>,
    ) -> Result<Option<Found>, ResolveError> {
        let Some(sort) = self.sort(resource) else { return Ok(None) };
        let written = match resource.source {
            Source::Local(written) => written,
            // Known only once its variables are; an absolute path would be one of this machine whatever they are.
            Source::Template(written) if written.starts_with('/') => written,
            Source::Template(_) | Source::Remote(_) => return Ok(None),
        };
        let (directory, file) = match sort.shape {
            Shape::Directory if resource.kind == ResourceKind::Script => {
                written.rsplit_once('/').unwrap_or((written, ""))
            }
            Shape::Directory | Shape::File => (written, ""),
        };
        let (want, source) = self.want(label, directory, &sort).await?;
        let got = self.resolver.store.get_from(&want, source).await?;
        let dependency = Dependency { kind: sort.kind, ..dependency(&want, &got) };
        let path = if file.is_empty() { got.path } else { got.path.join(file) };
        Ok(Some(Found { path, dependency }))
    }

    /// How a resource is fetched and recorded.
    fn sort(&self, resource: &ResourceUse<'_>) -> Option<Sort> {
        let directory =
            |fetch_type| Sort { shape: Shape::Directory, kind: LockedKind::Directory, fetch_type };
        let file = |kind, fetch_type| Sort { shape: Shape::File, kind, fetch_type };
        Some(match (resource.kind, resource.source) {
            (ResourceKind::Script, Source::Local(written)) if self.script_directory(written).is_some() => {
                directory(FetchType::BaseScript)
            }
            (ResourceKind::Script, _) => file(LockedKind::Script, FetchType::BaseScript),
            (ResourceKind::Skill, _) => directory(FetchType::BaseSkill),
            (ResourceKind::Plugin, _) => directory(FetchType::BasePlugin),
            (ResourceKind::Directory, _) => return None,
            (
                ResourceKind::Agent | ResourceKind::File | ResourceKind::Profile | ResourceKind::OptionalFile,
                _,
            ) => file(LockedKind::Resource, FetchType::BaseResource),
        })
    }

    /// What the path stands for, and where its digest is from.
    async fn want(
        &self,
        label: &str,
        written: &str,
        sort: &Sort,
    ) -> Result<(Want, AuditSource), ResolveError> {
        let store = &self.resolver.store;
        let text = format!("{}{written}", root_url(self.base.url().as_str()));
        let refused =
            Refused { field: label, url: &text, digest: None, fetch_type: sort.fetch_type, allowed_by: None };
        let url =
            self.address(written, sort.shape).map_err(|error| store.refuse_unpinned(&refused, error))?;
        let refused = Refused { url: url.as_str(), ..refused };
        let allowed_by =
            organisation(self.org, url.as_https()).map_err(|error| store.refuse_unpinned(&refused, error))?;
        let refused = Refused { allowed_by: Some(&allowed_by), ..refused };
        let digest = self.digest(&url, sort.shape).await;
        let (digest, source) = digest.map_err(|error| store.refuse_unpinned(&refused, error))?;
        let url = PinnedUrl::new(url, digest);
        let (shape, fetch_type) = (sort.shape, sort.fetch_type);
        Ok((Want { field: label.to_owned(), url, shape, allowed_by, fetch_type }, source))
    }

    /// The directory of a script and its name in it: scripts call others that lie beside them. Only a forge can list a
    /// directory; elsewhere, and for a script that lies in none, the script is fetched alone.
    fn script_directory<'w>(&self, written: &'w str) -> Option<(&'w str, &'w str)> {
        let (directory, file) = written.rsplit_once('/').filter(|(directory, _)| !directory.is_empty())?;
        self.tree_root().map(|_| (directory, file))
    }

    /// The digest that the content must have: the locked one, else the one seen when it was fetched first.
    async fn digest(
        &self,
        url: &RemoteUrl,
        shape: Shape,
    ) -> Result<(Sha256Digest, AuditSource), DependencyError> {
        if let Some(digest) = self.resolver.locked(url.as_str()) {
            return Ok((digest, AuditSource::Cache));
        }
        let fixed = names_commit(self.base.url().as_https(), self.resolver.store.hosts());
        if !fixed && !self.resolver.accepts_first_use() {
            return Err(DependencyError::MutableBase);
        }
        let place = if fixed { Place::Fixed } else { Place::Mutable };
        self.resolver.store.first_use(url, shape, place).await
    }

    /// Where the file lies: beside the directory that holds the base.
    fn address(&self, written: &str, shape: Shape) -> Result<RemoteUrl, DependencyError> {
        check_relative(written)?;
        let root = root_url(self.base.url().as_str());
        let text = match shape {
            Shape::File => format!("{root}{written}"),
            Shape::Directory => self.tree_address(written)?,
        };
        RemoteUrl::parse(&text).map_err(|error| DependencyError::Reference {
            message: format!("`{written}` beside the base is not a usable URL: {error}"),
            help: error.help(),
        })
    }

    /// Directories can only be listed by a forge.
    fn tree_address(&self, written: &str) -> Result<String, DependencyError> {
        let root = self.tree_root().ok_or_else(|| DependencyError::Reference {
            message: format!("`{written}` is a directory beside a base whose URL is not a file on a forge"),
            help: Some(
                "name the base by its `/blob/` or raw GitHub URL, or the directory by its own pinned URL"
                    .to_owned(),
            ),
        })?;
        Ok(format!("{root}{}", written.trim_end_matches('/')))
    }

    /// The URL of the directory above the base's own, as the forge lists it; `None` when the base lies on no forge.
    fn tree_root(&self) -> Option<String> {
        let url = self.base.url().as_https();
        let above = |path: &[String]| {
            let kept = path.get(..path.len().saturating_sub(2)).unwrap_or_default();
            kept.iter().map(|segment| format!("{segment}/")).collect::<String>()
        };
        if let Ok(raw) = RawGitHubUrl::parse(url) {
            let (owner, repo, reference) = (raw.owner(), raw.repo(), raw.reference());
            return Some(format!("https://github.com/{owner}/{repo}/tree/{reference}/{}", above(raw.path())));
        }
        let page = ForgeUrl::parse(url, self.resolver.store.hosts()).ok()?;
        let separator = match page.kind() {
            ForgeKind::GitLab => "/-",
            ForgeKind::GitHub | _ => "",
        };
        let (host, owner, repo, reference) = (page.host(), page.owner(), page.repo(), page.reference());
        Some(format!("https://{host}/{owner}/{repo}{separator}/tree/{reference}/{}", above(page.path())))
    }
}

/// A base's files stay beside it: no way up, no query, no other host, no variable of this machine.
fn check_relative(written: &str) -> Result<(), DependencyError> {
    let leaves = written.starts_with('/') || written.split('/').any(|segment| segment == "..");
    if leaves || written.contains("${") || written.contains(['?', '#', '\\', '\0']) {
        // What follows may be a secret, and messages end up in logs.
        let shown = written.split(['?', '#']).next().unwrap_or_default();
        return Err(DependencyError::Reference {
            message: format!("what starts with `{shown}` is not a path beside the remote base"),
            help: Some(
                "in the base, use a relative path without `..` and variables, or a pinned URL".to_owned(),
            ),
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

/// Whether a URL names a commit, so that what lies there cannot change.
pub(crate) fn names_commit(url: &HttpsUrl, hosts: &ForgeHosts) -> bool {
    let raw = RawGitHubUrl::parse(url).is_ok_and(|url| url.names_commit());
    raw || ForgeUrl::parse(url, hosts).is_ok_and(|url| url.names_commit())
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
