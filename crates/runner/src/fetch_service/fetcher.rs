//! One request of an agent, from a text to a delivered skill.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use fullsend_fetch::audit::Source;
use fullsend_guard::{Checks, FindingsLog, Policy};
use fullsend_harness::schema::HarnessFile;
use fullsend_origin::{AllowList, EffectiveAllowList, PinnedUrl};
use fullsend_resolve::{SkillFault, Store, skill_dependencies};
use fullsend_runtimes::{FetchedDirs, SkillFetcher, Stage};
use fullsend_sandbox::FilesystemMount;
use tokio::task::JoinError;

use super::admission::{self, Admitted};
use super::delivery::{Delivery, Draft, destination};
use super::inspect::{self, Inspection};
use super::keyed::Turns;
use super::quota::{Quota, Slot};
use super::record::{Known, Record, Told};
use super::refusal::FetchRefusal;

/// How many skills an agent may fetch when the harness does not say.
const DEFAULT_FETCHES: usize = 10;
/// The file that makes a directory a skill.
const SKILL_FILE: &str = "SKILL.md";

/// How long one skill may take to come. Whoever asks waits for two minutes.
const PATIENCE: Duration = Duration::from_secs(100);

/// What a fetcher works with.
#[derive(Debug)]
pub struct RuntimeFetcherConfig<'a> {
    /// The harness as it is run; it says whether, from where and how many.
    pub harness: &'a HarnessFile,
    /// The organisation's allow-list, which has to permit a URL too.
    pub org: &'a AllowList,
    /// The way to verified content. Its audit log is that of the run; whether the network may be used is its affair.
    pub store: Arc<Store>,
    /// Where the files of the run are.
    pub stage: &'a Stage,
    /// Where the runtime has its skills on the host; what is there, the agent sees as `skills` in `config_dir`.
    pub skills_dir: PathBuf,
    /// The runtime's own directory in the sandbox.
    pub config_dir: &'a str,
    /// What is looked for in a skill.
    pub checks: Checks,
    /// What follows from what is found.
    pub policy: Policy,
    /// Where findings go.
    pub log: FindingsLog,
    /// Who is told of each request, besides the audit log.
    pub told: Option<Told>,
}

/// A skill that is in the sandbox now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedSkill {
    /// Its directory, as the agent sees it.
    pub path: String,
    /// The directories of the skills that it depends on and that came with it, likewise.
    pub dependencies: Vec<String>,
}

/// Fetches skills for an agent that runs.
///
/// A skill that depends on others comes with them or not at all: each of them is held to the same rules, is scanned, and
/// takes a place of the quota.
#[derive(Debug, Clone)]
pub struct RuntimeFetcher {
    desk: Arc<Desk>,
}

/// What all requests share.
#[derive(Debug)]
struct Desk {
    store: Arc<Store>,
    lists: EffectiveAllowList,
    quota: Quota,
    turns: Turns,
    inspection: Arc<Inspection>,
    delivery: Arc<Delivery>,
    record: Record,
}

/// A skill that may be delivered.
#[derive(Debug)]
struct Ready {
    admitted: Admitted,
    slot: Slot,
    source: Source,
    /// None when it was delivered before.
    draft: Option<Draft>,
}

impl RuntimeFetcher {
    /// A fetcher for a harness that asks for one; none for any other.
    ///
    /// # Errors
    /// When the directory for skills cannot be made.
    pub fn for_harness(config: RuntimeFetcherConfig<'_>) -> io::Result<Option<Self>> {
        let harness = config.harness;
        if !harness.allow_runtime_fetch.as_ref().is_some_and(|allow| allow.value) {
            return Ok(None);
        }
        let most =
            harness.max_runtime_fetches.as_ref().and_then(|most| usize::try_from(most.value.get()).ok());
        let desk = Desk {
            lists: admission::lists(harness, config.org),
            quota: Quota::new(most.unwrap_or(DEFAULT_FETCHES)),
            turns: Turns::default(),
            inspection: Arc::new(Inspection::new(config.checks, config.policy, config.log)),
            delivery: Arc::new(Delivery::new(config.stage, config.skills_dir, config.config_dir)?),
            record: Record::new(Arc::clone(&config.store), config.told),
            store: config.store,
        };
        Ok(Some(Self { desk: Arc::new(desk) }))
    }

    /// The directory that skills are delivered to, read-only: what was scanned must be what is read.
    pub fn mount(&self) -> FilesystemMount {
        self.desk.delivery.mount()
    }

    /// A warning for the operator, if anything so far could not be put into the audit log.
    pub fn unrecorded(&self) -> Option<String> {
        self.desk.record.unrecorded()
    }

    /// Fetches the skill at a pinned URL, unless it is there already.
    ///
    /// Once a place of the quota is taken, the work goes on even if nobody waits for it any more: an agent that hangs up at
    /// the right moment would otherwise have a skill that nobody counted.
    ///
    /// # Errors
    /// What the agent may know about why there is no skill. The audit log has the rest.
    pub async fn fetch(&self, url: &str) -> Result<FetchedSkill, FetchRefusal> {
        let desk = Arc::clone(&self.desk);
        let pinned = admission::read(url).inspect_err(|refusal| {
            desk.record.refused(Known { url, ..Known::default() }, refusal);
        })?;
        let root = desk.admit(&pinned)?;
        let slot = desk.slot(&root)?;
        let done = tokio::spawn(async move { desk.complete(root, slot).await }).await;
        done.unwrap_or_else(|error| Err(broken(&error)))
    }
}

impl Desk {
    /// Fetches and delivers a skill and what it needs.
    async fn complete(&self, root: Admitted, slot: Slot) -> Result<FetchedSkill, FetchRefusal> {
        // Who asks for the same meanwhile waits, and then finds it done.
        let _turn = self.turns.wait(&destination(&root.skill)).await;
        let ready = self.gather(root, slot).await?;
        let mut paths = self.deliver(ready).await?;
        let path = paths.pop().unwrap_or_default();
        Ok(FetchedSkill { path, dependencies: paths })
    }

    /// Everything that a skill needs, the skill itself last.
    async fn gather(&self, root: Admitted, slot: Slot) -> Result<Vec<Ready>, FetchRefusal> {
        let mut seen = HashSet::from([root.skill.url().to_string()]);
        let mut waiting = vec![(root, slot)];
        let mut ready = Vec::new();
        while let Some((admitted, slot)) = waiting.pop() {
            let is_root = ready.is_empty();
            let prepared = self.prepare(&admitted).await.map_err(|refusal| {
                self.record.refused(Known::from(&admitted), &refusal);
                of(&admitted, is_root, refusal)
            });
            let (source, draft, needs) = prepared?;
            for url in needs {
                if seen.insert(url.to_string()) {
                    let named = |refusal: FetchRefusal| refusal.of_dependency(url.url().as_str());
                    let admitted = self.admit(&url).map_err(named)?;
                    let slot = self.slot(&admitted).map_err(named)?;
                    waiting.push((admitted, slot));
                }
            }
            ready.push(Ready { admitted, slot, source, draft });
        }
        ready.reverse();
        Ok(ready)
    }

    /// Gets one skill ready: fetched, verified, scanned. Also says what it needs.
    async fn prepare(
        &self,
        admitted: &Admitted,
    ) -> Result<(Source, Option<Draft>, Vec<PinnedUrl>), FetchRefusal> {
        let (skill, name) = (&admitted.skill, destination(&admitted.skill));
        let digest = skill.digest();
        if self.inspection.has_blocked(digest) {
            return Err(inspect::blocked());
        }
        let had = tokio::time::timeout(PATIENCE, self.store.skill(skill)).await;
        let cached = had.map_err(|_| too_slow())?.map_err(|fault| not_had(&fault))?;
        if self.delivery.has(&name, digest) {
            return Ok((cached.source, None, Vec::new()));
        }
        if !cached.files.iter().any(|path| path.as_str() == SKILL_FILE) {
            return Err(FetchRefusal::new(422, "no-skill-file", "skill directory contains no SKILL.md"));
        }
        let draft = self.delivery.draft().map_err(|error| not_delivered(&error))?;
        self.store.copy_skill(skill, &draft.path()).await.map_err(|fault| not_copied(&fault))?;
        let inspection = Arc::clone(&self.inspection);
        let skill = skill.clone();
        in_background(move || {
            inspection.look(&draft.path(), &name, digest)?;
            let needs = skill_dependencies(&skill, &draft.path()).map_err(|error| {
                FetchRefusal::new(
                    422,
                    "skill-file",
                    "SKILL.md declares dependencies that are not pinned URLs",
                )
                .because(error.code(), error.to_string())
            })?;
            Ok((cached.source, Some(draft), needs))
        })
        .await
    }

    /// Delivers skills in this order, and gives their paths.
    async fn deliver(&self, ready: Vec<Ready>) -> Result<Vec<String>, FetchRefusal> {
        let mut paths = Vec::new();
        let mut slots = Vec::new();
        for Ready { admitted, slot, source, draft } in ready {
            self.record.fetched(&admitted, source)?;
            let (delivery, name) = (Arc::clone(&self.delivery), destination(&admitted.skill));
            paths.push(delivery.path_inside(&name));
            if let Some(draft) = draft {
                let digest = admitted.skill.digest();
                let moved = in_background(move || {
                    delivery.deliver(&name, digest, &draft).map_err(|error| not_delivered(&error))
                });
                moved.await.inspect_err(|refusal| self.record.refused(Known::from(&admitted), refusal))?;
            }
            slots.push(slot);
        }
        slots.into_iter().for_each(Slot::keep);
        Ok(paths)
    }

    fn admit(&self, url: &PinnedUrl) -> Result<Admitted, FetchRefusal> {
        let known = Known { url: url.url().as_str(), digest: Some(url.digest()), allowed_by: None };
        let allowed_by =
            admission::permit(&self.lists, url).inspect_err(|refusal| self.record.refused(known, refusal))?;
        let skill = admission::skill(&self.store, url).inspect_err(|refusal| {
            self.record.refused(Known { allowed_by: Some(&allowed_by), ..known }, refusal);
        })?;
        Ok(Admitted { skill, allowed_by })
    }

    fn slot(&self, admitted: &Admitted) -> Result<Slot, FetchRefusal> {
        self.quota.take().ok_or_else(|| {
            let refusal = FetchRefusal::new(429, "quota", "runtime fetch rate limit exceeded");
            self.record.refused(Known::from(admitted), &refusal);
            refusal
        })
    }
}

/// A refusal says which skill it is about when that is not the one that was asked for.
fn of(admitted: &Admitted, is_root: bool, refusal: FetchRefusal) -> FetchRefusal {
    if is_root { refusal } else { refusal.of_dependency(admitted.skill.url().url().as_str()) }
}

/// What the agent is told about a skill that could not be had.
fn not_had(fault: &SkillFault) -> FetchRefusal {
    let (status, message) = match fault {
        SkillFault::Offline => (503, "skill not in cache and offline mode is enabled"),
        SkillFault::Fetch(_) => (502, "failed to fetch skill directory"),
        SkillFault::Empty => (422, "skill directory contains no files"),
        SkillFault::Mismatch { .. } => (422, "integrity check failed"),
        SkillFault::Keep(_) => (500, "failed to cache skill directory"),
        SkillFault::Lookup(_) | _ => (500, "internal error during cache lookup"),
    };
    FetchRefusal::new(status, "fetch", message).because(fault.code(), fault.reason())
}

fn too_slow() -> FetchRefusal {
    let cause = format!("it took longer than {} seconds", PATIENCE.as_secs());
    FetchRefusal::new(502, "too-slow", "failed to fetch skill directory").because("too-slow", cause)
}

fn not_copied(fault: &SkillFault) -> FetchRefusal {
    FetchRefusal::new(500, "copy", "internal error computing cache path")
        .because(fault.code(), fault.reason())
}

fn not_delivered(error: &io::Error) -> FetchRefusal {
    FetchRefusal::new(500, "delivery", "failed to upload skill to sandbox")
        .because("delivery", error.to_string())
}

/// Runs what blocks without holding up others.
async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, FetchRefusal> + Send + 'static,
) -> Result<T, FetchRefusal> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(broken(&error)))
}

/// A defect of ours, or the end of the program.
fn broken(error: &JoinError) -> FetchRefusal {
    FetchRefusal::new(500, "internal", "internal error").because("internal", error.to_string())
}

impl SkillFetcher for RuntimeFetcher {
    fn fetch<'a>(
        &'a self,
        url: &'a str,
    ) -> Pin<Box<dyn Future<Output = Result<FetchedDirs, String>> + Send + 'a>> {
        Box::pin(async move {
            let FetchedSkill { path, dependencies } =
                RuntimeFetcher::fetch(self, url).await.map_err(|refusal| refusal.message)?;
            Ok(FetchedDirs { skill: path, dependencies })
        })
    }
}
