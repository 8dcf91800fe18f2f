//! Remote resources: from where they may come, and that skills and plugins are forge directories.

use fullsend_origin::{AllowList, EffectiveAllowList, ForgeUrl, ForgeUrlError, PinnedUrl, Verdict};
use fullsend_yaml::{Diagnostic, Located};

use crate::compose::Composition;
use crate::config::Configuration;
use crate::resources::{ResourceKind, ResourceUse, Source, resources};
use crate::rules;
use crate::schema::HarnessFile;
use crate::value::AllowPrefix;

pub(super) fn check(
    composition: &Composition,
    harness: &HarnessFile,
    configuration: &Configuration,
    problems: &mut Vec<Diagnostic>,
) {
    let own = harness.allowed_remote_resources.as_deref().unwrap_or_default();
    if !configuration.damaged {
        widened(own, &configuration.allow, problems);
        base(harness, configuration, problems);
    }
    let own_list_is_readable = !own_list_is_damaged(composition, harness, problems);
    let own: AllowList = own.iter().map(|prefix| prefix.entry().clone()).collect();
    let effective = EffectiveAllowList::new(own, configuration.allow.clone());
    for resource in resources(harness) {
        let Source::Remote(url) = resource.source else { continue };
        if own_list_is_readable {
            permitted(&resource, url, &effective, composition, problems);
        }
        if matches!(resource.kind, ResourceKind::Skill | ResourceKind::Plugin) {
            forge_directory(&resource, url, configuration, problems);
        }
    }
}

/// Whether what would permit a URL may merely be unreadable: an entry, or in a damaged file the list itself.
fn own_list_is_damaged(composition: &Composition, harness: &HarnessFile, problems: &[Diagnostic]) -> bool {
    let refused = |problem: &Diagnostic| {
        problem.rule.code == rules::ALLOW_ENTRY.code && problem.at.file == composition.file
    };
    composition.damaged && (harness.allowed_remote_resources.is_none() || problems.iter().any(refused))
}

/// A harness may narrow the organisation's list, not widen it.
fn widened(own: &[Located<AllowPrefix>], org: &AllowList, problems: &mut Vec<Diagnostic>) {
    for prefix in own {
        if !org.covers(prefix.entry()) {
            let message =
                format!("`{}` is not covered by the organisation's allow-list", prefix.entry().as_str());
            let help = if org.is_empty() {
                format!("add it to `config.yaml`: `allowed_remote_resources: [{}]`", prefix.entry().as_str())
            } else {
                rules::ALLOW_WIDENED.remedy.to_owned()
            };
            problems.push(Diagnostic::new(&rules::ALLOW_WIDENED, prefix.at, message).with_help(help));
        }
    }
}

/// Bases are governed by the organisation's list alone: the child's list is not in force while it is being composed.
fn base(harness: &HarnessFile, configuration: &Configuration, problems: &mut Vec<Diagnostic>) {
    let Some(base) = &harness.base else { return };
    if let fullsend_origin::Reference::Remote(url) = base.value.reference()
        && configuration.allow.matching(url.url().as_https()).is_none()
    {
        let message =
            format!("the base `{}` is not below any entry of the organisation's allow-list", url.url());
        let help = "add its prefix to `allowed_remote_resources` in `config.yaml`";
        problems.push(Diagnostic::new(&rules::NOT_ALLOWED, base.at, message).with_help(help));
    }
}

/// Only the harness's own list is reported here; an entry beyond the organisation's is reported where it stands.
fn permitted(
    resource: &ResourceUse<'_>,
    url: &PinnedUrl,
    effective: &EffectiveAllowList,
    composition: &Composition,
    problems: &mut Vec<Diagnostic>,
) {
    if effective.harness().matching(url.url().as_https()).is_some() {
        return;
    }
    let Verdict::Denied { .. } = effective.permits(url.url().as_https()) else { return };
    let message = format!(
        "`{}`: `{}` is not below any entry of `allowed_remote_resources`",
        resource.field.key(),
        url.url()
    );
    let prefix = parent_prefix(url);
    let help = if resource.at.file == composition.file {
        format!("add `{prefix}` to `allowed_remote_resources`")
    } else {
        format!(
            "add `{prefix}` to `allowed_remote_resources` of this harness; a base's list is not inherited"
        )
    };
    let problem = Diagnostic::new(&rules::NOT_ALLOWED, resource.at, message).with_help(help);
    problems.push(if resource.at.file == composition.file {
        problem
    } else {
        problem.with_related(composition.start(), "inherited by this harness")
    });
}

fn parent_prefix(url: &PinnedUrl) -> String {
    let text = url.url().as_str();
    text.rsplit_once('/').map_or_else(|| format!("{text}/"), |(parent, _)| format!("{parent}/"))
}

fn forge_directory(
    resource: &ResourceUse<'_>,
    url: &PinnedUrl,
    configuration: &Configuration,
    problems: &mut Vec<Diagnostic>,
) {
    let forge_url = ForgeUrl::parse(url.url().as_https(), &configuration.forges);
    if let Err(error) = forge_url.and_then(|url| url.require_tree_directory()) {
        // A broken configuration may be the one that names the host.
        if configuration.damaged && matches!(error, ForgeUrlError::UnknownHost { .. }) {
            return;
        }
        let message = format!("`{}` needs a forge directory: {error}", resource.field.key());
        problems.push(Diagnostic::new(&rules::FORGE_URL, resource.at, message).with_help_if(error.help()));
    }
}
