//! Puts the run of a turn together: a new one, or the one that the session has.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fullsend_agent::browser::{AccountAccess, Lease, LeaseError, ProfileMode};
use fullsend_agent::budget::Limits;
use fullsend_agent::mode::ModeSource;
use fullsend_agent::scene::{Prepared, Scene, Surroundings, Wanted};
use fullsend_agent::slot::PromptSlot;
use fullsend_agent::store::{Provenance, Recorded, RunStore, ToolAllowance};
use fullsend_agent::subagent::Profile;
use fullsend_agent::workspace::{Access, WORKSPACE_TARGET};
use fullsend_guard::{Clock as _, SystemClock};
use fullsend_model::Usage;
use serde_json::{Map, Value, json};

use super::super::desk::TurnDesk;
use super::super::{TurnEnd, TurnOrder};
use super::asking::{Asker, Calls};
use super::{SessionKit, ending, root};
use crate::protocol::{BrowserAccess, ChatError, ChatPolicy, ErrorCode, ToolMode, Workspace};
use crate::service::{mode_of, slot_of};

/// A turn that is about to be made.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) prepared: Prepared,
    /// What the session had used before.
    pub(super) before: Usage,
    /// What the turn may use.
    pub(super) limits: Limits,
    /// What those who tell of calls and those who ask about them share.
    pub(super) calls: Calls,
}

/// Puts a turn together.
pub(super) fn make(kit: &SessionKit, order: &TurnOrder, desk: &TurnDesk) -> Result<Made, TurnEnd> {
    let calls = Calls::default();
    let surroundings = surroundings(kit, &order.turn.policy, desk, &calls);
    let recorded = recorded(order)?;
    let wanted = wanted(kit, order, Whose::Turn).map_err(TurnEnd::Failed)?;
    let made = match recorded {
        Some((store, recorded)) => {
            let before = used(&recorded);
            let prepared = go_on(kit, order, wanted, surroundings, store, recorded)?;
            (prepared, before)
        }
        None => (begin(kit, order, wanted, surroundings)?, Usage::default()),
    };
    let (prepared, before) = made;
    Ok(Made { prepared, before, limits: kit.limits, calls })
}

/// The record of the session; none where it has none, or one in which nothing happened.
fn recorded(order: &TurnOrder) -> Result<Option<(RunStore, Recorded)>, TurnEnd> {
    let session = &order.session;
    let (Some(root_of), Some(run)) = (&session.artifact_root, &session.harness_run_id) else {
        return Ok(None);
    };
    if root::leads_elsewhere(Path::new(root_of)) {
        return Err(TurnEnd::Failed(moved(root_of)));
    }
    let opened = RunStore::reopen(&Path::new(root_of).join(run), Arc::new(SystemClock));
    match opened {
        Ok((_, recorded)) if !recorded.opened => Ok(None),
        Ok((store, mut recorded)) => {
            recorded.hold_to_beginning();
            recorded.abandon_calls();
            Ok(Some((store, recorded)))
        }
        Err(error) => ending::without_record(error),
    }
}

fn moved(root: &str) -> ChatError {
    let message =
        format!("the record of the session cannot be used now: `{root}` leads elsewhere than when it began");
    ChatError::new(ErrorCode::SessionUnusable, message)
}

fn used(recorded: &Recorded) -> Usage {
    Usage { cost_usd: recorded.spent_usd, ..recorded.usage }
}

/// Begins the run of a session. It is on record as what the session may do; the turn may do less.
fn begin(
    kit: &SessionKit,
    order: &TurnOrder,
    wanted: Wanted,
    surroundings: Surroundings,
) -> Result<Prepared, TurnEnd> {
    let chosen = || kit.model(order.session.model.as_deref()).map_err(TurnEnd::Failed);
    let limits = kit.limits;
    let of_session = self::wanted(kit, order, Whose::Session).map_err(TurnEnd::Failed)?;
    let agreed = Scene::new(of_session, chosen()?, &limits, &kit.current, kit.surroundings.clone());
    let agreed = agreed.map_err(ending::unmade)?;
    let scene = Scene::new(wanted, chosen()?, &limits, &kit.current, surroundings).map_err(ending::unmade)?;
    let (text, pictures) = said(order);
    Prepared::agreed(agreed.settings(), scene, limits, text, &pictures).map_err(ending::unmade)
}

fn go_on(
    kit: &SessionKit,
    order: &TurnOrder,
    wanted: Wanted,
    surroundings: Surroundings,
    store: RunStore,
    recorded: Recorded,
) -> Result<Prepared, TurnEnd> {
    let model = kit.model(order.session.model.as_deref()).map_err(TurnEnd::Failed)?;
    let limits = beyond(&recorded, &kit.limits);
    let wanted = Wanted { cwd: None, preload: Vec::new(), ..wanted };
    let scene = Scene::resumed(wanted, &recorded, model, &limits, &kit.current, surroundings);
    let scene = scene.map_err(ending::unmade)?;
    let (text, pictures) = said(order);
    let opening = scene.say_with(&store, text, &pictures).map_err(ending::unmade)?;
    Ok(Prepared::resumed(scene, limits, store, recorded, vec![opening]))
}

/// What a turn may use, on top of what the session has used.
fn beyond(recorded: &Recorded, limits: &Limits) -> Limits {
    let turns = u32::try_from(recorded.turns).unwrap_or(u32::MAX);
    Limits {
        turns: limits.turns.saturating_add(turns),
        tokens: limits.tokens.saturating_add(recorded.usage.total_tokens.unwrap_or_default()),
        cost_usd: limits.cost_usd + recorded.spent_usd.unwrap_or_default(),
        time: limits.time.checked_add(recorded.active).unwrap_or(Duration::MAX),
        output_bytes: limits.output_bytes.saturating_add(recorded.output_bytes),
        ..*limits
    }
}

fn said(order: &TurnOrder) -> (String, Vec<PathBuf>) {
    let input = &order.turn.input;
    let pictures = input.image_attachments.iter().map(|picture| PathBuf::from(&picture.path));
    (input.text.clone(), pictures.collect())
}

/// Who is asked about calls; nobody where no person is to be asked.
fn surroundings(kit: &SessionKit, policy: &ChatPolicy, desk: &TurnDesk, calls: &Calls) -> Surroundings {
    let mut surroundings = kit.surroundings.clone();
    if !policy.approval_tool_ids.is_empty() || policy.ask_on_flow_denial {
        surroundings.hooks = Some(Arc::new(Asker::new(policy, desk.clone(), calls.clone())));
    }
    surroundings
}

/// Whose policy counts.
#[derive(Clone, Copy, Debug)]
enum Whose {
    Session,
    Turn,
}

/// What a run is asked to be, by the policy of the turn or of its session.
fn wanted(kit: &SessionKit, order: &TurnOrder, whose: Whose) -> Result<Wanted, ChatError> {
    let (session, turn) = (&order.session, &order.turn);
    let workspace = kit.workspace(&session.workspace.host_path)?;
    let slot = slot_of(&session.policy).unwrap_or_else(|| made_here(&workspace, &session.session_id));
    let (policy, role) = match whose {
        Whose::Session => (&session.policy, slot.role),
        // Evidence that is about another prompt says nothing about this one; a turn may bring its own.
        Whose::Turn => {
            let own = slot_of(&turn.policy);
            (&turn.policy, own.as_ref().unwrap_or(&slot).role_of(&turn.input.text))
        }
    };
    let lease = order.browser.as_ref().map(lease).transpose().map_err(|error| {
        ChatError::new(
            ErrorCode::BrowserAccessRequired,
            format!("the browser that is lent cannot be used: {error}"),
        )
    })?;
    let profiles = policy.allowed_subagent_profiles.iter().filter_map(|name| Profile::named(name));
    let mut profiles: Vec<Profile> =
        profiles.filter(|profile| *profile != Profile::Browser || lease.is_some()).collect();
    profiles.sort_unstable();
    let root = session.artifact_root.as_ref().map(PathBuf::from);
    Ok(Wanted {
        target: WORKSPACE_TARGET.to_owned(),
        access: match policy.tool_mode {
            ToolMode::WorkspaceWrite => Access::Writable,
            ToolMode::ReadOnly => Access::ReadOnly,
        },
        cwd: start_of(&session.workspace),
        artifact_root: root.unwrap_or_else(|| workspace.join(super::ARTIFACTS)),
        tools: policy.allowed_tool_ids.clone(),
        profiles,
        lease,
        mode: mode_of(policy).unwrap_or(kit.wanted.mode),
        role,
        provenance: Provenance {
            mode_source: ModeSource::Override,
            tool_allowance: ToolAllowance::Restricted,
            prompt_slot: Some(slot),
            run_manifest: None,
        },
        skills_roots: kit.skills_roots.iter().map(|root| workspace.join(root)).collect(),
        workspace,
        ..kit.wanted.clone()
    })
}

fn made_here(workspace: &Path, session_id: &str) -> PromptSlot {
    let source = json!({"type": "fullsend.chat-input", "surface": "chat", "subject": session_id});
    let source = if let Value::Object(source) = source { source } else { Map::new() };
    PromptSlot::made_here("chat", Default::default(), &workspace.display().to_string(), source)
}

/// Where in the workspace the agent begins: as it is named there, or as the sandbox names it.
pub(super) fn start_of(workspace: &Workspace) -> Option<PathBuf> {
    let cwd = workspace.cwd.as_deref().filter(|cwd| !cwd.is_empty())?;
    let inside = Path::new(cwd).strip_prefix(WORKSPACE_TARGET).unwrap_or(Path::new(cwd));
    (!inside.as_os_str().is_empty()).then(|| inside.to_owned())
}

fn lease(lent: &BrowserAccess) -> Result<Lease, LeaseError> {
    let mut lease = Lease::new(&lent.cdp_url)?.until(lent.expires_at.as_deref().unwrap_or_default())?;
    if lent.profile_mode.as_deref() == Some("persistent") {
        lease = lease.with_mode(ProfileMode::Persistent);
    }
    if lent.account_access.as_deref() == Some("available") {
        lease = lease.with_account(AccountAccess::Available);
    }
    lease.check(SystemClock.now())?;
    Ok(lease)
}
