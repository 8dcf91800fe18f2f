//! Which list permits what.
//!
//! What the harness names is permitted by its own list within the organisation's; what composition itself needs (bases
//! and the files beside them) by the organisation's alone, because the harness's list is not in force before it is
//! composed.

use fullsend_harness::schema::HarnessFile;
use fullsend_origin::{AllowList, EffectiveAllowList, HttpsUrl, Verdict};

use crate::error::DependencyError;

/// The lists of one harness.
#[derive(Debug, Clone)]
pub(crate) struct Permissions {
    lists: EffectiveAllowList,
}

impl Permissions {
    pub(crate) fn new(harness: &HarnessFile, org: &AllowList) -> Self {
        let own: AllowList =
            harness.allowed_remote_resources.iter().flatten().map(|prefix| prefix.entry().clone()).collect();
        Self { lists: EffectiveAllowList::new(own, org.clone()) }
    }

    /// The entry that permits a URL which the harness names.
    pub(crate) fn harness(&self, url: &HttpsUrl) -> Result<String, DependencyError> {
        match self.lists.permits(url) {
            Verdict::Allowed { harness, .. } => Ok(harness.as_str().to_owned()),
            Verdict::Denied { .. } => {
                let in_own = self.lists.harness().matching(url).is_some();
                let list = if in_own { ORG_LIST } else { "`allowed_remote_resources` of the harness" };
                Err(DependencyError::NotAllowed { list })
            }
        }
    }
}

const ORG_LIST: &str = "`allowed_remote_resources` in `config.yaml`";

/// The entry of the organisation's list that permits a URL which composition needs.
pub(crate) fn organisation(org: &AllowList, url: &HttpsUrl) -> Result<String, DependencyError> {
    org.matching(url)
        .map(|entry| entry.as_str().to_owned())
        .ok_or(DependencyError::NotAllowed { list: ORG_LIST })
}
