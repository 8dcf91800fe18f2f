//! What an agent may ask for.

use fullsend_harness::schema::HarnessFile;
use fullsend_origin::{AllowList, EffectiveAllowList, ForgeUrlError, PinnedUrl, PinnedUrlError, Verdict};
use fullsend_resolve::{DependencyError, SkillUrl, Store};

use super::refusal::FetchRefusal;

/// The lists that both have to permit a URL.
pub(super) fn lists(harness: &HarnessFile, org: &AllowList) -> EffectiveAllowList {
    let own = harness.allowed_remote_resources.iter().flatten().map(|prefix| prefix.entry().clone());
    EffectiveAllowList::new(own.collect(), org.clone())
}

/// A skill that may be fetched.
#[derive(Debug, Clone)]
pub(super) struct Admitted {
    pub(super) skill: SkillUrl,
    /// The entry of the harness's list that permits it.
    pub(super) allowed_by: String,
}

/// Reads what was asked for. The order of the checks is part of the protocol.
pub(super) fn read(text: &str) -> Result<PinnedUrl, FetchRefusal> {
    if text.is_empty() {
        return Err(FetchRefusal::new(400, "url-missing", "url is required"));
    }
    PinnedUrl::parse(text).map_err(|error| match &error {
        PinnedUrlError::Pin(pin) => {
            FetchRefusal::new(400, "pin", "url must include #sha256=... integrity hash")
                .because(pin.code(), pin.to_string())
        }
        PinnedUrlError::Url(_) | _ => FetchRefusal::new(400, "url", "url must be a valid HTTPS URL")
            .because(error.code(), error.to_string()),
    })
}

/// The entry of the harness's list that permits a URL, which the organisation's list has to permit too.
pub(super) fn permit(lists: &EffectiveAllowList, url: &PinnedUrl) -> Result<String, FetchRefusal> {
    match lists.permits(url.url().as_https()) {
        Verdict::Allowed { harness, .. } => Ok(harness.as_str().to_owned()),
        Verdict::Denied { .. } => {
            let message = format!("url \"{}\" is not in allowed_remote_resources", url.url().as_str());
            Err(FetchRefusal::new(403, "not-allowed", message))
        }
    }
}

/// The skill that a URL names.
pub(super) fn skill(store: &Store, url: &PinnedUrl) -> Result<SkillUrl, FetchRefusal> {
    let skill =
        store.skill_url(url).map_err(|error| no_skill(&error).because(error.code(), error.to_string()))?;
    if !is_plain(skill.name()) {
        let message = "the directory of a skill must have a plain name";
        return Err(FetchRefusal::new(400, "skill-name", message));
    }
    Ok(skill)
}

/// Why a URL names no skill.
fn no_skill(error: &DependencyError) -> FetchRefusal {
    let message = if matches!(error, DependencyError::Forge(ForgeUrlError::RepositoryRoot)) {
        "skill URL must include a path to a directory"
    } else if matches!(error, DependencyError::Forge(ForgeUrlError::NotADirectory)) {
        "skill URL must name a directory, not a file"
    } else {
        "skill URLs must be hosted on a supported forge"
    };
    FetchRefusal::new(400, "url", message)
}

/// Whether a name can be the name of a directory that agents and shells handle without surprises.
fn is_plain(name: &str) -> bool {
    let letter =
        |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.' | '+' | '@' | ' ');
    !name.is_empty() && name.len() <= 200 && !name.starts_with('.') && name.chars().all(letter)
}
