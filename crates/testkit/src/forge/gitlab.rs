//! GitLab's endpoints.

use serde_json::{Value, json};

use super::object::Entry;
use super::request::Asked;
use super::{Paging, State, TestRepo, file, refusal};
use crate::{Recorded, Reply};

/// Answers a request about a project.
pub(super) fn api(state: &State, request: &Recorded, asked: &Asked, segments: &[&str]) -> Reply {
    let [project, "repository", segments @ ..] = segments else {
        return refusal(404, "404 Not Found");
    };
    let repo = match state.open(project, request.header("private-token")) {
        Ok(repo) => repo,
        Err(reply) => return reply,
    };
    match segments {
        ["tree"] => list(state, repo, asked),
        ["blobs", id, "raw"] => file(state.content(repo, id)),
        ["commits", reference] => match repo.resolve(reference) {
            Some(id) => Reply::ok(json!({ "id": id, "title": "a commit" }).to_string()),
            None => refusal(404, "404 Commit Not Found"),
        },
        _ => refusal(404, "404 Not Found"),
    }
}

/// One page of a listing.
fn list(state: &State, repo: &TestRepo, asked: &Asked) -> Reply {
    let path = asked.get("path").unwrap_or_default();
    let root = asked.get("ref").and_then(|reference| repo.root(reference));
    let Some(tree) = root.and_then(|root| repo.objects.tree_at(root, path)) else {
        return refusal(404, "404 Tree Not Found");
    };
    let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
    let mut listed = repo.objects.list(&tree, &prefix, asked.get("recursive") == Some("true"));
    listed.extend(state.also.iter().map(|(path, entry)| (format!("{prefix}{path}"), entry.clone())));
    listed.extend(state.astray.iter().cloned());
    let number =
        |name: &str, otherwise| asked.get(name).and_then(|text| text.parse().ok()).unwrap_or(otherwise);
    let size: usize = number("per_page", 20).min(100);
    let at = asked.get("page_token").and_then(|token| token.strip_prefix("after/")?.parse().ok());
    let start: usize = at.unwrap_or_else(|| (number("page", 1) - 1) * size);
    let page: Vec<Value> =
        listed.iter().skip(start).take(size).map(|(path, entry)| line(path, entry)).collect();
    let reply = Reply::ok(Value::from(page).to_string());
    let end = start + size;
    match (state.paging, end < listed.len()) {
        (Paging::Numbers, true) => reply.header("X-Next-Page", &(end / size + 1).to_string()),
        (Paging::Numbers, false) => reply.header("X-Next-Page", ""),
        // Where a link points is none of the client's business: only the token in it is.
        (Paging::Keyset, true) => {
            let next =
                format!("<https://evil.example/x?a=1&page_token=after%2F{end}&per_page=9>; rel=\"next\"");
            reply.header("Link", &format!("<https://evil.example/y>; rel=\"first\", {next}"))
        }
        (Paging::Keyset, false) => reply.header("Link", "<https://evil.example/y>; rel=\"first\""),
    }
}

/// One entry of a listing.
fn line(path: &str, entry: &Entry) -> Value {
    let name = path.rsplit('/').next().unwrap_or(path);
    json!({ "id": entry.id, "name": name, "type": entry.kind(), "path": path, "mode": entry.mode })
}
