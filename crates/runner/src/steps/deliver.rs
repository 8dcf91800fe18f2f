//! The last look at what is delivered, and the harness's own delivery on the host.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use serde::Deserialize;

use crate::environment::PostScript;
use crate::event::{AccessKind, Event, Step};
use crate::pipeline::{Known, Scene};
use crate::run_dir::RunDir;
use crate::sanitise::{self, SanitiseError, Sanitiser};
use crate::script::Program;
use crate::steps::agent::Delivered;
use crate::steps::pre_script::{host_script, how, variables, with_cause};
use crate::stop::Stop;
use crate::teller::Made;

/// One line of the egress log, as far as it is told.
#[derive(Deserialize)]
struct Connection {
    event: String,
    host: String,
    port: u16,
    #[serde(default)]
    decision: Option<String>,
    reason: String,
}

/// Tells which connections were asked for. The log was written by the host.
pub(crate) fn connections(scene: &Scene<'_, '_>, egress_log: &Path) {
    let Ok(file) = File::open(egress_log) else { return };
    let lines = BufReader::new(file).lines().map_while(Result::ok);
    for line in lines.filter_map(|line| serde_json::from_str::<Connection>(&line).ok()) {
        if line.event == "decision" {
            scene.teller.tell(Event::Access {
                kind: AccessKind::Network,
                target: format!("{}:{}", line.host, line.port),
                allowed: line.decision.as_deref() == Some("allow"),
                detail: line.reason,
            });
        }
    }
}

/// Masks secrets in what is kept and not delivered: streams, transcripts, logs. Says how much was found.
pub(crate) fn mask_records(scene: &Scene<'_, '_>, dir: &RunDir) -> Result<usize, Stop> {
    let failed = |error: SanitiseError| Stop::Failed { message: with_cause(&error) };
    let sanitiser = Sanitiser {
        checks: &scene.plan.security.checks,
        policy: scene.plan.security.policy,
        log: Some(scene.log),
        largest: sanitise::LARGEST,
        // Also for a run that is to end: what it leaves is read by others.
        is_over: &|| false,
    };
    let mut found = 0;
    let debug_log = scene.request.runtime.debug_log_name();
    for number in 1..=scene.plan.iterations {
        let place = dir.iteration(number);
        if !place.path().is_dir() {
            break;
        }
        for file in [place.stream(), place.debug_log(debug_log)] {
            if let Some(name) = file.file_name() {
                found += sanitiser.record_file(place.path(), Path::new(name)).map_err(failed)?;
            }
        }
        if place.transcripts().is_dir() {
            found += sanitiser.run(&place.transcripts()).map_err(failed)?.found.len();
        }
    }
    if dir.logs().is_dir() {
        found += sanitiser.run(&dir.logs()).map_err(failed)?.found.len();
    }
    Ok(found)
}

/// Makes sure that what was checked is what is there, and runs the post-script. `masked` is what was found in records.
pub(crate) async fn post_script(
    scene: &Scene<'_, '_>,
    delivered: &Delivered,
    masked: usize,
    known: &Known,
) -> Result<(), Stop> {
    let Some(dir) = &known.dir else { return Ok(()) };
    let place = dir.iteration(delivered.iteration);
    scene
        .teller
        .step(Step::ScanOutput, None, async {
            delivered.frozen.verify(&place.output()).map_err(|changed| Stop::Blocked {
                message: format!("what was checked is not what is there: {changed}"),
                help: "find out which process of this machine writes to run directories".to_owned(),
            })?;
            let mut detail = match delivered.frozen.files().len() {
                1 => "1 file, as it was checked".to_owned(),
                many => format!("{many} files, as they were checked"),
            };
            if masked > 0 {
                detail.push_str(&format!("; {masked} findings masked in records"));
            }
            Ok(Made::done((), detail))
        })
        .await?;
    let plan = scene.plan;
    let delivering = async {
        let Some(script) = plan.scripts.post.as_deref().filter(|_| scene.request.options.post_script) else {
            let why = if plan.scripts.post.is_some() { "left out by `--no-post-script`" } else { "none" };
            return Ok(Made::nothing((), why));
        };
        let mut env = variables(scene);
        let validated = place.path();
        PostScript {
            schema: plan.result.as_ref().map(|result| result.path.as_path()),
            repo: delivered.repo.as_deref(),
            validated: delivered.validated.then_some(validated),
        }
        .add_to(&mut env);
        let ran = host_script(scene, Program::File(script), dir.path(), env, plan.timeout, Step::PostScript)
            .await?;
        if !ran.succeeded() {
            return Err(Stop::Failed { message: format!("the post-script {}", how(ran.end)) });
        }
        Ok(Made::done((), "done"))
    };
    scene.teller.unhurried(Step::PostScript, None, delivering).await
}
