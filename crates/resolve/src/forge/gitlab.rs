//! GitLab, the public one and self-managed ones.
//!
//! Directories are listed in pages of 100 entries. Files come by their blob ids: the endpoint for files by path
//! answers for links as well, with the text of the link.

use fullsend_fetch::cache::TreeFile;
use fullsend_fetch::{Fetched, Fetcher};
use fullsend_origin::{ApiUrl, ForgeUrl, TreePath};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::api::{Api, Call};
use super::listing::{Checked, Entry, Listing};
use super::page::{self, Page};
use super::verify::verify;
use super::{
    Answer, CommitId, Forge, ForgeError, ForgeOptions, ForgeToken, ListedFile, ListingFault, Place,
    Repository, TreeLimits,
};

/// The most entries that GitLab puts into one answer.
const PAGE: &str = "100";

/// A client of one GitLab.
#[derive(Debug)]
pub struct GitLab {
    host: String,
    api: Api,
}

/// The part of a commit that matters.
#[derive(Debug, Deserialize)]
struct Commit {
    id: String,
}

/// The pages of one listing.
struct Pages<'a> {
    forge: &'a GitLab,
    place: &'a Place,
    commit: &'a CommitId,
    /// The directory, from the top of the repository.
    directory: &'a str,
    /// `true` for everything below the directory.
    recursive: &'static str,
    /// How many more may be asked for, and how many there were at first.
    requests: (usize, usize),
    next: Option<Option<Page>>,
}

impl Pages<'_> {
    /// The next page; `None` after the last one.
    async fn next(&mut self) -> Result<Option<Vec<Entry>>, ForgeError> {
        let Some(page) = self.next.take() else {
            return Ok(None);
        };
        let (left, limit) = self.requests;
        let left = left.checked_sub(1).ok_or(ForgeError::TooManyRequests { limit })?;
        self.requests = (left, limit);
        let mut query = vec![
            ("ref", self.commit.as_str()),
            ("recursive", self.recursive),
            ("per_page", PAGE),
            ("pagination", "keyset"),
        ];
        if !self.directory.is_empty() {
            query.push(("path", self.directory));
        }
        if let Some((name, value)) = &page {
            query.push((name, value));
        }
        let fetched = self.forge.get(self.place, &["tree"], &query).await?;
        self.next = page::next(&fetched.headers).map(Some);
        read(self.place, &fetched).map(Some)
    }
}

impl GitLab {
    /// A client for `host`, with the API at `/api/v4`.
    pub fn new(
        host: &str,
        fetcher: Fetcher,
        token: Option<&ForgeToken>,
        options: ForgeOptions,
    ) -> Result<Self, ForgeError> {
        if let Some(token) = token.filter(|token| token.host() != host) {
            return Err(ForgeError::OtherHost { host: token.host().to_owned() });
        }
        let token = token.map(|token| token.private(host)).transpose()?;
        Ok(Self { host: host.to_owned(), api: Api::new(fetcher, token, options) })
    }

    /// Refuses what is on another forge.
    fn check_host(&self, host: &str) -> Result<(), ForgeError> {
        if host == self.host { Ok(()) } else { Err(ForgeError::OtherHost { host: host.to_owned() }) }
    }

    /// Asks the API about the repository of `place`.
    async fn get(&self, place: &Place, tail: &[&str], query: &[(&str, &str)]) -> Result<Fetched, ForgeError> {
        let project = place.repo.full_name();
        let segments = [&["api", "v4", "projects", &project, "repository"], tail].concat();
        let target = ApiUrl::compose(&self.host, self.api.port(), &segments, query)?;
        self.api.get(Call { url: &target, accept: None, place }).await
    }

    /// Asks which commit a ref names.
    async fn commit(&self, url: &ForgeUrl) -> Result<CommitId, ForgeError> {
        self.check_host(url.host())?;
        if let Ok(commit) = CommitId::parse(url.reference()) {
            return Ok(commit);
        }
        let place = Place::of(url);
        let fetched = self.get(&place, &["commits", url.reference()], &[]).await?;
        let commit: Commit = read(&place, &fetched)?;
        CommitId::parse(&commit.id).map_err(|_| ForgeError::Answer { place: Box::new(place), source: None })
    }

    /// The pages of a listing.
    fn pages<'a>(
        &'a self,
        place: &'a Place,
        commit: &'a CommitId,
        directory: &'a str,
        limits: &TreeLimits,
    ) -> Pages<'a> {
        let requests = (limits.max_requests, limits.max_requests);
        Pages { forge: self, place, commit, directory, recursive: "true", requests, next: Some(None) }
    }

    /// Lists a directory.
    async fn list(
        &self,
        url: &ForgeUrl,
        commit: &CommitId,
        limits: &TreeLimits,
    ) -> Result<Vec<ListedFile>, ForgeError> {
        self.check_host(url.host())?;
        let directory = url.path_text();
        let place = Place::at(&Repository::of(url), commit, &directory);
        let mut listing = Listing::new(limits);
        let mut pages = self.pages(&place, commit, &directory, limits);
        while let Some(page) = pages.next().await? {
            for entry in page {
                let path = below(&directory, &entry.path)?;
                match entry.check(path)? {
                    Checked::File(file) => listing.add(file)?,
                    Checked::Directory(path, _) => listing.add_directory(path),
                }
            }
        }
        let files = listing.finish()?;
        if files.is_empty() { Err(ForgeError::Empty { place: Box::new(place) }) } else { Ok(files) }
    }

    /// Asks for the bytes of a file.
    async fn bytes(&self, place: &Place, file: &ListedFile) -> Result<Vec<u8>, ForgeError> {
        let fetched = self.get(place, &["blobs", file.blob.as_str(), "raw"], &[]).await?;
        verify(file, &fetched.bytes)?;
        Ok(fetched.bytes)
    }

    /// Looks a file up in the directory around it, which tells what it is, and asks for its bytes.
    async fn file(
        &self,
        repo: &Repository,
        commit: &CommitId,
        path: &TreePath,
    ) -> Result<TreeFile, ForgeError> {
        self.check_host(repo.host())?;
        let place = Place::at(repo, commit, path.as_str());
        let (directory, _) = path.as_str().rsplit_once('/').unwrap_or_default();
        let limits = TreeLimits::default();
        let mut pages = Pages { recursive: "false", ..self.pages(&place, commit, directory, &limits) };
        while let Some(page) = pages.next().await? {
            let Some(entry) = page.into_iter().find(|entry| entry.path == path.as_str()) else {
                continue;
            };
            let Checked::File(file) = entry.check(path.to_string())? else {
                break;
            };
            let bytes = self.bytes(&place, &file).await?;
            return Ok(TreeFile { path: file.path, bytes, mode: file.mode });
        }
        let token = self.api.token_use(&place);
        Err(ForgeError::NotFound { place: Box::new(place), token })
    }
}

/// The path below `directory` of something that must be there.
fn below(directory: &str, path: &str) -> Result<String, ForgeError> {
    let rest = if directory.is_empty() {
        Some(path)
    } else {
        path.strip_prefix(directory).and_then(|rest| rest.strip_prefix('/'))
    };
    let outside = || ForgeError::Listing { path: path.to_owned(), source: ListingFault::Outside };
    rest.map(str::to_owned).ok_or_else(outside)
}

/// Reads an answer.
fn read<T: DeserializeOwned>(place: &Place, fetched: &Fetched) -> Result<T, ForgeError> {
    serde_json::from_slice(&fetched.bytes)
        .map_err(|error| ForgeError::Answer { place: Box::new(place.clone()), source: Some(error) })
}

impl Forge for GitLab {
    fn resolve_commit<'a>(&'a self, url: &'a ForgeUrl) -> Answer<'a, CommitId> {
        Box::pin(self.commit(url))
    }

    fn list_directory<'a>(
        &'a self,
        url: &'a ForgeUrl,
        commit: &'a CommitId,
        limits: &'a TreeLimits,
    ) -> Answer<'a, Vec<ListedFile>> {
        Box::pin(self.list(url, commit, limits))
    }

    fn get_listed_file<'a>(
        &'a self,
        url: &'a ForgeUrl,
        commit: &'a CommitId,
        file: &'a ListedFile,
    ) -> Answer<'a, Vec<u8>> {
        Box::pin(async move {
            self.check_host(url.host())?;
            self.bytes(&Place::of_listed(url, commit, file), file).await
        })
    }

    fn get_file_at_ref<'a>(
        &'a self,
        repo: &'a Repository,
        commit: &'a CommitId,
        path: &'a TreePath,
    ) -> Answer<'a, TreeFile> {
        Box::pin(self.file(repo, commit, path))
    }
}

#[cfg(test)]
mod tests {
    use super::below;

    #[test]
    fn only_what_is_below_is_inside() {
        assert_eq!(below("a/b", "a/b/c/d").unwrap(), "c/d");
        assert_eq!(below("", "a/b").unwrap(), "a/b");
        for path in ["a/b", "a/bc/d", "a", "x/a/b/c", "/a/b/c"] {
            assert_eq!(below("a/b", path).unwrap_err().code(), "forge-bad-listing", "{path}");
        }
    }
}
