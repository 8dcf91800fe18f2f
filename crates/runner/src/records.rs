//! The record of a run: its report, its events and its trace, all made from what is told.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use fullsend_guard::canary::CanaryToken;
use fullsend_guard::{Checks, Clock, TraceId};
use serde_json::Value;

use crate::environment::Environment;
use crate::event::Event;
use crate::event_log::EventLog;
use crate::report::{Report, ReportFile, State, write_metrics};
use crate::reserve::Reserve;
use crate::run_dir::RunDir;
use crate::stop::Stop;
use crate::trace::{TraceEnd, TraceParent, TraceSettings, Tracer, work_item};

/// The record of a run under way.
#[derive(Debug)]
pub(crate) struct Records {
    dir: RunDir,
    report: ReportFile,
    log: EventLog,
    tracer: Option<Tracer>,
    reserve: Reserve,
    /// The first thing that could not be written, and why. Said once: a disk that is full stays full.
    failed: Option<String>,
}

/// What a record begins with.
#[derive(Debug)]
pub(crate) struct Beginning<'a> {
    pub(crate) dir: &'a RunDir,
    pub(crate) name: &'a str,
    pub(crate) agent: &'a str,
    pub(crate) system: &'a str,
    pub(crate) trace_id: &'a TraceId,
    pub(crate) environment: &'a Environment,
    pub(crate) clock: Arc<dyn Clock>,
    /// Whether the spans are kept for a collector too.
    pub(crate) collect: bool,
}

/// A record that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The report as it is.
    pub(crate) report: Report,
    /// What could not be written.
    pub(crate) failed: Option<String>,
    /// The whole trace, if a collector is to have it.
    pub(crate) batch: Option<Value>,
}

impl Records {
    /// Begins the record.
    pub(crate) fn begin(beginning: &Beginning<'_>) -> Result<Self, Stop> {
        let Beginning { dir, name, agent, system, trace_id, environment, clock, collect } = beginning;
        let env: BTreeMap<String, String> =
            environment.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let env = &env;
        let item = work_item(env);
        let checks = Checks::default();
        let failed = |what: &'static str| Stop::io(format!("begin the {what} in `{}`", dir.path().display()));
        let reserve = Reserve::make(dir.path()).map_err(failed("record"))?;
        let report = Report::new(name, agent, trace_id.as_str(), &item);
        let report =
            ReportFile::create(&dir.report(), report, &checks, clock.clone()).map_err(failed("report"))?;
        let log = EventLog::create(&dir.events(), &checks, clock.clone()).map_err(failed("events"))?;
        let settings = TraceSettings {
            agent: (*agent).to_owned(),
            work_item: item,
            security_trace_id: (*trace_id).clone(),
            system: (*system).to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            resource: TraceSettings::resource(env),
            parent: TraceParent::adopt(
                env.get("TRACEPARENT").map(String::as_str),
                env.get("TRACESTATE").map(String::as_str),
            ),
            longest_attribute: TraceSettings::longest_attribute(env),
        };
        let tracer = (!TraceSettings::disabled(env))
            .then(|| Tracer::start(&dir.telemetry(), settings, clock.clone()))
            .transpose()
            .map_err(failed("trace"))?
            .map(|tracer| if *collect { tracer.collecting() } else { tracer });
        Ok(Self { dir: (*dir).clone(), report, log, tracer, reserve, failed: None })
    }

    /// Puts an event on record. A record that cannot be written does not end the run, which would lose more: its end says so.
    pub(crate) fn note(&mut self, event: &Event) {
        let written = self.report.observe(event);
        self.remember("report", written);
        let written = self.log.write(event);
        self.remember("events", written);
        if let Some(tracer) = &mut self.tracer {
            tracer.observe(event);
        }
    }

    /// Masks these tokens from now on, wherever they may turn up.
    pub(crate) fn mask(&mut self, tokens: &[CanaryToken]) {
        let checks = Checks::default().with_canaries(tokens.to_vec());
        self.report.mask(&checks);
        self.log.mask(&checks);
    }

    /// Changes what the report says beside events.
    pub(crate) fn update(&mut self, change: impl FnOnce(&mut Report)) {
        self.report.update(change);
    }

    fn remember(&mut self, what: &str, written: io::Result<()>) {
        if let (Err(error), None) = (written, &self.failed) {
            self.failed = Some(format!("the {what} in `{}`: {error}", self.dir.path().display()));
        }
    }

    /// From now on the room is used that was kept for the end.
    pub(crate) fn use_reserve(&mut self) {
        self.reserve.give();
    }

    /// The span of the run, for programs that it starts.
    pub(crate) fn traceparent(&self) -> Option<String> {
        self.tracer.as_ref().map(Tracer::traceparent)
    }

    /// Ends the record.
    pub(crate) fn finish(
        mut self,
        state: State,
        exit_code: i32,
        reason: Option<String>,
        skipped: Option<(bool, Option<String>)>,
    ) -> Ended {
        let iterations = self.report.report().iterations.len();
        let iterations = u32::try_from(iterations).unwrap_or(u32::MAX);
        let metrics = self.report.report().metrics.clone();
        if iterations > 0 {
            let written = write_metrics(&self.dir.metrics(), &metrics, iterations);
            self.remember("metrics", written);
        }
        let written = self.report.finish(state, exit_code, reason.clone());
        self.remember("report", written);
        let validated = self.report.report().validated_iteration.is_some();
        let mut batch = None;
        if let Some(mut tracer) = self.tracer.take() {
            let error = reason.filter(|_| !matches!(state, State::Success | State::Skipped));
            let end = TraceEnd { exit_code, error, validated, skipped, iterations, metrics };
            let written = tracer.finish(&end);
            self.remember("trace", written);
            batch = tracer.batch();
        }
        Ended { report: self.report.report().clone(), failed: self.failed, batch }
    }
}
