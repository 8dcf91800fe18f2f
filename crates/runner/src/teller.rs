//! Tells of everything that happens, to whoever watches and to the record of the run.

use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use fullsend_guard::canary::CanaryToken;
use fullsend_guard::{Checks, Pipeline};
use fullsend_runtimes::Cancel;

use crate::event::{Event, Outcome, Sink, Step};
use crate::records::Records;
use crate::stop::Stop;

/// Tells of everything that happens.
pub(crate) struct Teller<'s> {
    told: Mutex<Told<'s>>,
    cancel: Cancel,
}

struct Told<'s> {
    sink: Sink<'s>,
    masks: Masks,
    /// What happened before there was a record.
    early: Vec<Event>,
    records: Option<Records>,
}

/// Takes secrets out of what is told: what scripts and tools say goes to terminals, logs of CI and traces.
#[derive(Debug)]
struct Masks {
    tokens: Vec<CanaryToken>,
    pipeline: Pipeline,
}

impl Masks {
    fn new(tokens: Vec<CanaryToken>) -> Self {
        Self { pipeline: Checks::default().with_canaries(tokens.clone()).output(), tokens }
    }

    fn clean(&self, text: &mut String) {
        if let Some(clean) = self.pipeline.run(text).sanitized {
            *text = clean;
        }
    }
}

impl<'s> Teller<'s> {
    pub(crate) fn new(sink: Sink<'s>, cancel: Cancel) -> Self {
        let told = Told { sink, masks: Masks::new(Vec::new()), early: Vec::new(), records: None };
        Self { told: Mutex::new(told), cancel }
    }

    /// The wish to end the run.
    pub(crate) fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Puts everything on record from now on, and what happened before.
    pub(crate) fn record(&self, mut records: Records) {
        let mut told = self.lock();
        records.mask(&told.masks.tokens);
        for event in std::mem::take(&mut told.early) {
            records.note(&event);
        }
        told.records = Some(records);
    }

    /// Masks these tokens from now on, wherever they may turn up.
    pub(crate) fn mask(&self, more: &[CanaryToken]) {
        let mut told = self.lock();
        let mut tokens = std::mem::take(&mut told.masks.tokens);
        tokens.extend(more.iter().cloned());
        if let Some(records) = &mut told.records {
            records.mask(&tokens);
        }
        told.masks = Masks::new(tokens);
    }

    /// A text without secrets.
    pub(crate) fn masked(&self, mut text: String) -> String {
        self.lock().masks.clean(&mut text);
        text
    }

    /// The record, when nothing more is put on it.
    pub(crate) fn take_records(&self) -> Option<Records> {
        self.lock().records.take()
    }

    /// Changes the record, if there is one.
    pub(crate) fn with_records<T>(&self, change: impl FnOnce(&mut Records) -> T) -> Option<T> {
        self.lock().records.as_mut().map(change)
    }

    /// Tells of something.
    pub(crate) fn tell(&self, mut event: Event) {
        let mut told = self.lock();
        // What others say is checked where it is shown and written; tokens of the run are masked right here.
        let ours = matches!(event, Event::Script { .. } | Event::StepEnded { .. } | Event::Warning { .. });
        if ours || !told.masks.tokens.is_empty() {
            event.texts().into_iter().for_each(|text| told.masks.clean(text));
        }
        (told.sink)(&event);
        match &mut told.records {
            Some(records) => records.note(&event),
            None => told.early.push(event),
        }
    }

    /// Tells of something that a person should know.
    pub(crate) fn warn(&self, text: impl Into<String>) {
        self.tell(Event::Warning { text: text.into() });
    }

    /// Makes a step, which ends early when the run is to end. What it was doing is dropped then, and ends with it.
    pub(crate) async fn step<T>(
        &self,
        step: Step,
        iteration: Option<u32>,
        work: impl Future<Output = Result<Made<T>, Stop>>,
    ) -> Result<T, Stop> {
        let interrupted = async {
            tokio::select! {
                biased;
                signal = self.cancel.cancelled() => Err(Stop::Cancelled { signal }),
                result = work => result,
            }
        };
        self.unhurried(step, iteration, interrupted).await
    }

    /// Makes a step that ends by itself when the run is to end, in an orderly way.
    pub(crate) async fn unhurried<T>(
        &self,
        step: Step,
        iteration: Option<u32>,
        work: impl Future<Output = Result<Made<T>, Stop>>,
    ) -> Result<T, Stop> {
        self.tell(Event::StepBegan { step, iteration });
        let start = Instant::now();
        let result = match self.cancel.signal() {
            Some(signal) => Err(Stop::Cancelled { signal }),
            // What fails when the run is to end fails because of that: a terminal interrupts everything at once.
            None => work.await.map_err(|stop| match self.cancel.signal() {
                Some(signal) if stop.outcome() == Outcome::Failed => Stop::Cancelled { signal },
                Some(_) | None => stop,
            }),
        };
        let (outcome, detail) = match &result {
            Ok(made) => (made.outcome, made.detail.clone()),
            Err(stop) => (stop.outcome(), stop.reason()),
        };
        self.tell(Event::StepEnded { step, iteration, outcome, detail, took: start.elapsed() });
        result.map(|made| made.value)
    }

    /// What is behind the lock is whole after every statement, so a panic elsewhere does not matter.
    fn lock(&self) -> MutexGuard<'_, Told<'s>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a step made, and what is said about it.
#[derive(Debug)]
pub(crate) struct Made<T> {
    value: T,
    outcome: Outcome,
    detail: String,
}

impl<T> Made<T> {
    /// What it made.
    pub(crate) fn value(&self) -> &T {
        &self.value
    }

    /// Something was done.
    pub(crate) fn done(value: T, detail: impl Into<String>) -> Self {
        Self { value, outcome: Outcome::Done, detail: detail.into() }
    }

    /// There was nothing to do.
    pub(crate) fn nothing(value: T, detail: impl Into<String>) -> Self {
        Self { value, outcome: Outcome::Skipped, detail: detail.into() }
    }

    /// It was done, and its answer is no.
    pub(crate) fn failed(value: T, detail: impl Into<String>) -> Self {
        Self { value, outcome: Outcome::Failed, detail: detail.into() }
    }
}
