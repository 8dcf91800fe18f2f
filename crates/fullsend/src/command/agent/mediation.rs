//! The directories of a runtime that follows labels itself.

use std::path::{Component, Path, PathBuf};

use anyhow::{Result, bail, ensure};
use fullsend_agent::gate::FlowMode;

use super::absolute;
use crate::cli::PlaceArgs;
use crate::environment;
use crate::output::Advice;

/// The directories; none of both is the usual case, in which the harness judges on its own.
#[derive(Clone, Debug, Default)]
pub(super) struct SidecarDirs {
    pub(super) contexts: Option<PathBuf>,
    pub(super) results: Option<PathBuf>,
}

impl SidecarDirs {
    /// What the command line and the environment ask for.
    pub(super) fn of(place: &PlaceArgs, mode: FlowMode, image: Option<&str>, current: &Path) -> Result<Self> {
        let asked = [&place.cfc_invocation_context_dir, &place.cfc_result_dir].into_iter().flatten();
        if image.is_none() {
            ensure!(
                asked.count() == 0,
                Advice::new(
                    "`--cfc-invocation-context-dir` and `--cfc-result-dir` need a runtime of containers",
                    "name an image with `--sandbox-image`, or leave them out"
                )
            );
            return Ok(Self::default());
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
            (None, None) | (Some(_), Some(_)) => return Ok(Self { contexts, results }),
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
        Ok(Self { contexts, results })
    }

    /// Whether there is any.
    pub(super) fn is_wired(&self) -> bool {
        self.contexts.is_some() || self.results.is_some()
    }

    /// Refuses directories that commands could write to: they would say themselves what they have become.
    pub(super) fn keep_out_of<'a>(&self, reachable: impl Iterator<Item = &'a Path> + Clone) -> Result<()> {
        for path in [&self.contexts, &self.results].into_iter().flatten() {
            if let Some(within) = reachable.clone().find(|within| path.starts_with(within)) {
                bail!(Advice::new(
                    format!("`{}` is in `{}`, where commands reach it", path.display(), within.display()),
                    "use a directory that the agent does not see"
                ));
            }
        }
        Ok(())
    }
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
