//! GitHub's endpoints.

use serde_json::{Value, json};

use super::object::{DIRECTORY, Entry};
use super::request::Asked;
use super::{State, TestRepo, file, refusal};
use crate::{Recorded, Reply};

/// Answers a request to the API.
pub(super) fn api(state: &State, request: &Recorded, asked: &Asked, segments: &[&str]) -> Reply {
    // The real one refuses clients that do not say who they are.
    if request.header("user-agent").is_none_or(str::is_empty) {
        return refusal(403, "Request forbidden by administrative rules");
    }
    let ["repos", owner, name, segments @ ..] = segments else {
        return refusal(404, "Not Found");
    };
    let repo = match state.open(&format!("{owner}/{name}"), token(request)) {
        Ok(repo) => repo,
        Err(reply) => return reply,
    };
    match (segments, request.header("accept")) {
        (["git", "trees", tree @ ..], Some("application/vnd.github+json")) => {
            list(state, repo, &tree.join("/"), asked.get("recursive").is_some())
        }
        (["git", "blobs", id], Some("application/vnd.github.raw+json")) => file(state.content(repo, id)),
        (["commits", reference], Some("application/vnd.github.sha")) => match repo.resolve(reference) {
            Some(id) => Reply::ok(id),
            None => refusal(422, "No commit found"),
        },
        _ => refusal(415, "the test forge knows no such request"),
    }
}

/// Answers a request for a file by its path. Tokens are not taken here.
pub(super) fn raw(state: &State, request: &Recorded, segments: &[&str]) -> Reply {
    let [owner, name, reference, path @ ..] = segments else {
        return refusal(404, "Not Found");
    };
    let repo = match state.open(&format!("{owner}/{name}"), token(request)) {
        Ok(repo) => repo,
        Err(reply) => return reply,
    };
    let blob = repo.root(reference).and_then(|root| repo.objects.blob_at(root, &path.join("/")));
    file(blob.and_then(|id| state.content(repo, &id)))
}

/// The token of a request.
fn token(request: &Recorded) -> Option<&str> {
    request.header("authorization").map(|value| value.strip_prefix("Bearer ").unwrap_or(value))
}

/// Lists a tree, named by its id, by a commit, or by a commit and a path.
fn list(state: &State, repo: &TestRepo, name: &str, recursive: bool) -> Reply {
    let (reference, path) = name.split_once(':').unwrap_or((name, ""));
    let by_id = repo.objects.trees.contains_key(name).then(|| name.to_owned());
    let found = by_id.or_else(|| repo.objects.tree_at(repo.root(reference)?, path));
    let Some(id) = found else {
        return refusal(404, "Not Found");
    };
    let mut listed = repo.objects.list(&id, "", recursive);
    listed.extend(state.also.iter().cloned());
    let truncated = state.cut.is_some_and(|most| listed.len() > most);
    listed.truncate(state.cut.unwrap_or(usize::MAX));
    let tree: Vec<Value> = listed.iter().map(|(path, entry)| line(path, entry)).collect();
    Reply::ok(json!({ "sha": id, "tree": tree, "truncated": truncated }).to_string())
}

/// One entry of a listing.
fn line(path: &str, entry: &Entry) -> Value {
    let mut line = json!({ "path": path, "mode": entry.mode, "type": entry.kind(), "sha": entry.id });
    if let (Some(size), Some(fields)) = (entry.size.filter(|_| entry.mode != DIRECTORY), line.as_object_mut())
    {
        fields.insert("size".to_owned(), json!(size));
    }
    line
}
