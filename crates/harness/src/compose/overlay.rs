//! The overlay of the active platform laid over the harness.

use crate::compose::merge::{
    append, both, merge_env, merge_host_files, merge_openshell, merge_skills, per_key,
};
use crate::schema::{ForgeOverlay, HarnessFile};
use crate::value::Platform;

/// Applies the overlay for `platform`. `None` when the harness has overlays but none for this platform; a harness
/// without any is returned as it is, and so is one whose overlay was disabled with an explicit null.
#[must_use]
pub fn overlay(mut harness: HarnessFile, platform: Platform) -> Option<HarnessFile> {
    let Some(mut forge) = harness.forge.take().filter(|forge| !forge.platforms.is_empty()) else {
        return Some(harness);
    };
    match forge.platforms.shift_remove(&platform)? {
        Some(overlay) => Some(apply(harness, overlay)),
        None => Some(harness),
    }
}

/// Lays one overlay over a harness.
pub(crate) fn apply(harness: HarnessFile, overlay: ForgeOverlay) -> HarnessFile {
    let ForgeOverlay {
        pre_script,
        post_script,
        policy,
        skills,
        providers,
        openshell,
        host_files,
        validation_loop,
        runner_env,
        env,
    } = overlay;
    HarnessFile {
        pre_script: pre_script.or(harness.pre_script),
        post_script: post_script.or(harness.post_script),
        policy: policy.or(harness.policy),
        skills: both(harness.skills, skills, merge_skills),
        providers: both(harness.providers, providers, append),
        openshell: both(harness.openshell, openshell, merge_openshell),
        host_files: both(harness.host_files, host_files, merge_host_files),
        validation_loop: validation_loop.or(harness.validation_loop),
        runner_env: both(harness.runner_env, runner_env, per_key),
        env: both(harness.env, env, merge_env),
        ..harness
    }
}
