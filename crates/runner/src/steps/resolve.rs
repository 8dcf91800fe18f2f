//! Turns every remote reference of a harness into a verified local path, as the lock file says.

use std::path::Path;

use fullsend_origin::Sha256Digest;
use fullsend_resolve::locking::{agrees, locked_digests};
use fullsend_resolve::{Resolution, Resolver};

use crate::plan::Plan;
use crate::report::{Dependency, HarnessSource};
use crate::request::Request;
use crate::stop::Stop;
use crate::teller::{Made, Teller};

/// The name under which a harness is locked: its file name without extension.
pub(crate) fn lock_name(harness: &Path) -> String {
    harness.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The harness with local paths, and what it depends on.
async fn resolve(
    request: &mut Request,
    resolver: Resolver,
    harness: &Path,
    name: &str,
) -> Result<Resolution, Stop> {
    let Request { library, configuration, lock, platform, .. } = request;
    let resolver = resolver.with_locked(locked_digests(lock, name, *platform));
    let resolution = resolver.resolve(library, configuration, harness, *platform).await.map_err(Box::new)?;
    if lock.harnesses.contains_key(name) {
        agrees(lock, name, *platform, &resolution.dependencies)
            .map_err(|problem| Stop::Lock { message: problem.to_string(), help: problem.help() })?;
    }
    Ok(resolution)
}

/// What the harness comes to, once everything it names is here.
pub(crate) async fn plan(
    request: &mut Request,
    resolver: Resolver,
    harness: &Path,
    name: &str,
    teller: &Teller<'_>,
) -> Result<Made<Plan>, Stop> {
    let resolution = resolve(request, resolver, harness, name).await?;
    for warning in &resolution.warnings {
        teller.warn(warning.clone());
    }
    let remote = resolution.dependencies.len();
    teller.with_records(|records| {
        records.update(|report| {
            report.harness = resolution.chain.iter().map(|path| source(path)).collect();
            report.dependencies = resolution.dependencies.iter().map(depends).collect();
        });
    });
    let (environment, options) = (&request.environment, &request.options);
    let runtime = request.runtime.as_ref();
    let dependencies = &resolution.dependencies;
    let plan = Plan::make(
        resolution.harness,
        &mut request.library,
        name,
        environment,
        options,
        runtime,
        dependencies,
    )?;
    let detail = match remote {
        0 => "nothing remote".to_owned(),
        1 => "1 remote resource".to_owned(),
        many => format!("{many} remote resources"),
    };
    Ok(Made::done(plan, detail))
}

/// A file of the harness as it is on record.
fn source(path: &Path) -> HarnessSource {
    let sha256 = std::fs::read(path).map(|bytes| Sha256Digest::of(&bytes).to_string()).unwrap_or_default();
    HarnessSource { source: path.display().to_string(), sha256 }
}

/// A remote resource as it is on record.
fn depends(dependency: &fullsend_resolve::Dependency) -> Dependency {
    let fullsend_resolve::Dependency { field, url, sha256, .. } = dependency;
    Dependency { place: field.clone(), source: url.clone(), sha256: sha256.to_string() }
}
