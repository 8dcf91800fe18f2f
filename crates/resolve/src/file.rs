//! One file by its URL.
//!
//! A forge shows a file as a page around it; the file itself lies elsewhere. For public repositories that place answers
//! anyone. What it hides, the forge's API delivers to those who have a token.

use fullsend_fetch::{FetchError, Fetcher, Request};
use fullsend_origin::{ForgeHosts, ForgeUrl, PathKind, RemoteUrl, TreePath};

use crate::error::DependencyError;
use crate::forge::{Forges, Repository};

/// Downloads the file that a URL names.
pub(crate) async fn download_file(
    fetcher: &Fetcher,
    forges: &Forges,
    hosts: &ForgeHosts,
    url: &RemoteUrl,
) -> Result<Vec<u8>, DependencyError> {
    let Ok(on_forge) = ForgeUrl::parse(url.as_https(), hosts) else {
        return Ok(fetcher.get(&Request::new(url)).await?.bytes);
    };
    if on_forge.path_kind() == PathKind::Tree {
        return Err(invalid(
            "the URL names a directory, a file is needed",
            "use the URL of the file, with `/blob/`",
        ));
    }
    if let Some(raw) = on_forge.raw_file_url() {
        let raw = RemoteUrl::parse(&raw)
            .map_err(|error| invalid(&error.to_string(), "write the URL of the raw file"))?;
        match fetcher.get(&Request::new(&raw)).await {
            Ok(fetched) => return Ok(fetched.bytes),
            Err(error) if !may_be_hidden(&error) => return Err(error.into()),
            Err(error) => tracing::debug!(%error, "asking the API instead"),
        }
    }
    from_api(forges, &on_forge).await
}

async fn from_api(forges: &Forges, url: &ForgeUrl) -> Result<Vec<u8>, DependencyError> {
    let forge = forges.at(url.host())?;
    let path = TreePath::parse(&url.path_text()).map_err(|error| {
        invalid(&error.to_string(), "write the path of the file as the repository has it")
    })?;
    let commit = forge.resolve_commit(url).await?;
    Ok(forge.get_file_at_ref(&Repository::of(url), &commit, &path).await?.bytes)
}

/// Forges say "not found" of what a stranger may not see, or lead to a page for signing in.
fn may_be_hidden(error: &FetchError) -> bool {
    let refused = error.refusal().is_some_and(|refusal| matches!(refusal.status, 401 | 403 | 404));
    refused || error.code() == "fetch-redirect"
}

fn invalid(message: &str, help: &str) -> DependencyError {
    DependencyError::Reference { message: message.to_owned(), help: Some(help.to_owned()) }
}
