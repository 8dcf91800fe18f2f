//! GitHub and GitHub Enterprise Server.
//!
//! A directory is listed with one request: the trees API takes `{commit}:{path}` for the name of a tree. Files of
//! public repositories on github.com come from `raw.githubusercontent.com`, which does not count against the small
//! quota (60 an hour) that the API has for strangers; with a token, which that host must never see, and on other
//! servers, they come from the blobs API.

use fullsend_fetch::Fetcher;
use fullsend_fetch::cache::TreeFile;
use fullsend_origin::{ApiUrl, ForgeUrl, TreePath};
use serde::Deserialize;

use super::api::{Api, Call};
use super::hosts::{GITHUB, GITHUB_API, GITHUB_RAW};
use super::listing::{Checked, Entry, Listing};
use super::verify::verify;
use super::{
    Answer, CommitId, Forge, ForgeError, ForgeOptions, ForgeToken, ListedFile, Place, Repository, TokenUse,
    TreeLimits,
};

/// The media type of ordinary answers.
const JSON: &str = "application/vnd.github+json";
/// The media type that turns a blob into its bytes.
const RAW: &str = "application/vnd.github.raw+json";
/// The media type that turns a commit into its id.
const SHA: &str = "application/vnd.github.sha";

/// A client of one GitHub.
#[derive(Debug)]
pub struct GitHub {
    host: String,
    api_host: String,
    /// The first segments of every path of the API.
    base: &'static [&'static str],
    api: Api,
}

/// An answer of the trees API.
#[derive(Debug, Deserialize)]
struct Tree {
    tree: Vec<Entry>,
    #[serde(default)]
    truncated: bool,
}

/// How deep a listing goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Depth {
    /// Only what is directly in the tree.
    One,
    /// Everything below it.
    All,
}

/// A tree still to be listed.
#[derive(Debug)]
struct Branch {
    /// The segments that name it in the API.
    name: Vec<String>,
    /// What its paths start with, below the directory.
    prefix: String,
}

impl GitHub {
    /// A client for `host`: `github.com`, or a server with the API at `/api/v3`.
    pub fn new(
        host: &str,
        fetcher: Fetcher,
        token: Option<&ForgeToken>,
        options: ForgeOptions,
    ) -> Result<Self, ForgeError> {
        let (api_host, base): (_, &[&str]) = match host {
            GITHUB => (GITHUB_API, &[]),
            other => (other, &["api", "v3"]),
        };
        if let Some(token) = token.filter(|token| token.host() != host) {
            return Err(ForgeError::OtherHost { host: token.host().to_owned() });
        }
        let token = token.map(|token| token.bearer(api_host)).transpose()?;
        let (host, api_host) = (host.to_owned(), api_host.to_owned());
        Ok(Self { host, api_host, base, api: Api::new(fetcher, token, options) })
    }

    /// Refuses what is on another forge.
    fn check_host(&self, host: &str) -> Result<(), ForgeError> {
        if host == self.host { Ok(()) } else { Err(ForgeError::OtherHost { host: host.to_owned() }) }
    }

    /// A URL of the API about a repository.
    fn url(&self, repo: &Repository, tail: &[&str], query: &[(&str, &str)]) -> Result<ApiUrl, ForgeError> {
        let segments = [self.base, &["repos", repo.owner(), repo.name()], tail].concat();
        Ok(ApiUrl::compose(&self.api_host, self.api.port(), &segments, query)?)
    }

    /// Asks which commit a ref names.
    async fn commit(&self, url: &ForgeUrl) -> Result<CommitId, ForgeError> {
        self.check_host(url.host())?;
        if let Ok(commit) = CommitId::parse(url.reference()) {
            return Ok(commit);
        }
        let place = Place::of(url);
        let target = self.url(&place.repo, &["commits", url.reference()], &[])?;
        let fetched = self.api.get(Call { url: &target, accept: Some(SHA), place: &place }).await?;
        let text = String::from_utf8_lossy(&fetched.bytes);
        CommitId::parse(text.trim()).map_err(|_| ForgeError::Answer { place: Box::new(place), source: None })
    }

    /// Asks for one tree.
    async fn tree(&self, place: &Place, name: &[String], depth: Depth) -> Result<Tree, ForgeError> {
        let mut tail = vec!["git", "trees"];
        tail.extend(name.iter().map(String::as_str));
        let query: &[(&str, &str)] = match depth {
            Depth::One => &[],
            Depth::All => &[("recursive", "1")],
        };
        let target = self.url(&place.repo, &tail, query)?;
        let fetched = self.api.get(Call { url: &target, accept: Some(JSON), place }).await?;
        serde_json::from_slice(&fetched.bytes)
            .map_err(|error| ForgeError::Answer { place: Box::new(place.clone()), source: Some(error) })
    }

    /// Lists a directory: with one request, or subtree by subtree if that is too much for one answer.
    async fn list(
        &self,
        url: &ForgeUrl,
        commit: &CommitId,
        limits: &TreeLimits,
    ) -> Result<Vec<ListedFile>, ForgeError> {
        self.check_host(url.host())?;
        let place = Place::at(&Repository::of(url), commit, &url.path_text());
        let mut listing = Listing::new(limits);
        let mut requests = 0..limits.max_requests;
        let mut ask = || requests.next().ok_or(ForgeError::TooManyRequests { limit: limits.max_requests });
        let mut pending = vec![Branch { name: tree_name(commit, url.path()), prefix: String::new() }];
        while let Some(branch) = pending.pop() {
            ask()?;
            let mut tree = self.tree(&place, &branch.name, Depth::All).await?;
            let whole = !tree.truncated;
            if !whole {
                ask()?;
                tree = self.tree(&place, &branch.name, Depth::One).await?;
                if tree.truncated {
                    return Err(ForgeError::Truncated { place: Box::new(place) });
                }
            }
            for entry in tree.tree {
                let path = format!("{}{}", branch.prefix, entry.path);
                match entry.check(path)? {
                    Checked::File(file) => listing.add(file)?,
                    Checked::Directory(path, id) => {
                        if !whole {
                            pending.push(Branch { name: vec![id], prefix: format!("{path}/") });
                        }
                        listing.add_directory(path);
                    }
                }
            }
        }
        let files = listing.finish()?;
        if files.is_empty() { Err(ForgeError::Empty { place: Box::new(place) }) } else { Ok(files) }
    }

    /// Asks for the bytes of a file; `place` has its path from the top of the repository.
    async fn bytes(&self, place: &Place, file: &ListedFile) -> Result<Vec<u8>, ForgeError> {
        let fetched = if self.host == GITHUB && self.api.token_use(place) == TokenUse::None {
            let repo = &place.repo;
            let mut segments = vec![repo.owner(), repo.name(), &place.reference];
            segments.extend(place.path.split('/'));
            let target = ApiUrl::compose(GITHUB_RAW, self.api.port(), &segments, &[])?;
            self.api.get_anonymously(Call { url: &target, accept: None, place }).await?
        } else {
            let target = self.url(&place.repo, &["git", "blobs", file.blob.as_str()], &[])?;
            self.api.get(Call { url: &target, accept: Some(RAW), place }).await?
        };
        verify(file, &fetched.bytes)?;
        Ok(fetched.bytes)
    }

    /// Looks a file up in the tree around it, which tells what it is, and asks for its bytes.
    async fn file(
        &self,
        repo: &Repository,
        commit: &CommitId,
        path: &TreePath,
    ) -> Result<TreeFile, ForgeError> {
        self.check_host(repo.host())?;
        let place = Place::at(repo, commit, path.as_str());
        let mut directory: Vec<String> = path.segments().map(str::to_owned).collect();
        let name = directory.pop().unwrap_or_default();
        let tree = self.tree(&place, &tree_name(commit, &directory), Depth::One).await?;
        match tree.tree.into_iter().find(|entry| entry.path == name) {
            Some(entry) => match entry.check(path.to_string())? {
                Checked::File(file) => {
                    let bytes = self.bytes(&place, &file).await?;
                    Ok(TreeFile { path: file.path, bytes, mode: file.mode })
                }
                Checked::Directory(..) => Err(not_found(&self.api, place)),
            },
            None if tree.truncated => Err(ForgeError::Truncated { place: Box::new(place) }),
            None => Err(not_found(&self.api, place)),
        }
    }
}

/// There is no such file.
fn not_found(api: &Api, place: Place) -> ForgeError {
    let token = api.token_use(&place);
    ForgeError::NotFound { place: Box::new(place), token }
}

/// The segments that name the tree at `path`: `{commit}`, or `{commit}:{path}`.
fn tree_name(commit: &CommitId, path: &[String]) -> Vec<String> {
    match path.split_first() {
        None => vec![commit.to_string()],
        Some((first, rest)) => {
            std::iter::once(format!("{commit}:{first}")).chain(rest.iter().cloned()).collect()
        }
    }
}

impl Forge for GitHub {
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
