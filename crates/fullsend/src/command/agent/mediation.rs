//! The directories of a runtime that follows labels itself.

use std::path::{Component, Path, PathBuf};

use anyhow::{Result, bail, ensure};
use fullsend_agent::gate::FlowMode;
use fullsend_agent::scene::SidecarDirs;

use super::absolute;
use crate::cli::PlaceArgs;
use crate::environment;
use crate::output::Advice;

/// What the command line and the environment ask for.
pub(super) fn dirs(
    place: &PlaceArgs,
    mode: FlowMode,
    image: Option<&str>,
    current: &Path,
) -> Result<SidecarDirs> {
    let asked = [&place.cfc_invocation_context_dir, &place.cfc_result_dir].into_iter().flatten();
    if image.is_none() {
        ensure!(
            asked.count() == 0,
            Advice::new(
                "`--cfc-invocation-context-dir` and `--cfc-result-dir` need a runtime of containers",
                "name an image with `--sandbox-image`, or leave them out"
            )
        );
        return Ok(SidecarDirs::default());
    }
    let path = |given: &Option<PathBuf>, name: &str| {
        let of_environment = || environment::agent_option(name).map(|(_, path)| path.into());
        given.clone().or_else(of_environment).map(|path| resolved(&absolute(&path, current))).transpose()
    };
    let contexts = path(&place.cfc_invocation_context_dir, "RUNSC_CFC_INVOCATION_CONTEXT_DIR")?;
    let results = path(&place.cfc_result_dir, "RUNSC_CFC_RESULT_DIR")?;
    let missing = match (&contexts, &results) {
        (None, Some(_)) => {
            "CFC invocation-context transport (set --cfc-invocation-context-dir or \
             FULLSEND_RUNSC_CFC_INVOCATION_CONTEXT_DIR)"
        }
        (Some(_), None) => "CFC result transport (set --cfc-result-dir or FULLSEND_RUNSC_CFC_RESULT_DIR)",
        (None, None) | (Some(_), Some(_)) => return Ok(SidecarDirs { contexts, results }),
    };
    // A runtime that is half connected looks like one that judges, and does not.
    if mode >= FlowMode::EnforceExplicit {
        bail!(Advice::new(
            format!(
                "cfc enforcement mode '{}' requires the runsc sandbox to wire {missing}; refusing to start a run \
                 that would silently degrade enforcement",
                mode.as_str()
            ),
            "set both directories, or none"
        ));
    }
    Ok(SidecarDirs { contexts, results })
}

/// A directory without links and steps back, also one that is still to be made.
fn resolved(path: &Path) -> Result<PathBuf> {
    let there = path.ancestors().find_map(|ancestor| Some((ancestor, ancestor.canonicalize().ok()?)));
    let rest = there.as_ref().and_then(|(ancestor, _)| path.strip_prefix(ancestor).ok());
    let plain = |rest: &&Path| rest.components().all(|part| matches!(part, Component::Normal(_)));
    match (there, rest.filter(plain)) {
        (Some((_, there)), Some(rest)) => Ok(there.join(rest)),
        _ => bail!(Advice::new(
            format!("`{}` is no place for labels", path.display()),
            "make the directory first, or name it without `..`"
        )),
    }
}
