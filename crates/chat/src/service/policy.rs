//! What a session and a turn may do: what is asked for, less what the context and the mode take away, and never more than
//! what was agreed on before.

use std::collections::BTreeSet;

use fullsend_agent::gate::{FlowMode, PromptRole};
use fullsend_agent::mode;
use fullsend_agent::scene::TOOLS;
use fullsend_agent::slot::PromptSlot;
use fullsend_agent::subagent::{self, Profile};
use serde_json::Value;

use super::reading::wrong;
use crate::protocol::{ChatContext, ChatError, ChatPolicy, ErrorCode, PolicyTag, ToolMode};

/// The tools that change nothing and leave nothing behind.
pub const READ_ONLY_TOOLS: [&str; 6] =
    ["read_file", "view_image", "list_files", "search_files", "load_skill", "read_skill_resource"];

/// What sessions may do at most, and what they do where nothing is said.
#[derive(Clone, Debug)]
pub struct Allowance {
    /// The tools that a session may ask for.
    pub tools: BTreeSet<String>,
    /// Those that it has where it asks for nothing.
    pub usual_tools: BTreeSet<String>,
    /// What subagents may be asked to be.
    pub profiles: BTreeSet<String>,
    /// What they may be where nothing is asked.
    pub usual_profiles: BTreeSet<String>,
    /// How strictly flows are judged where nothing is asked.
    pub usual_mode: FlowMode,
    /// The least strict mode that may be asked for.
    pub least_mode: FlowMode,
}

impl Default for Allowance {
    fn default() -> Self {
        let usual = TOOLS.into_iter().filter(|tool| !fullsend_agent::scene::NOT_BY_DEFAULT.contains(tool));
        Self {
            tools: TOOLS.into_iter().map(str::to_owned).collect(),
            usual_tools: usual.map(str::to_owned).collect(),
            profiles: Profile::ALL.into_iter().map(|profile| profile.as_str().to_owned()).collect(),
            usual_profiles: BTreeSet::from([Profile::Default.as_str().to_owned()]),
            usual_mode: FlowMode::default(),
            least_mode: FlowMode::Disabled,
        }
    }
}

impl Allowance {
    /// What a session may do that asks for this.
    pub(super) fn of_session(
        &self,
        context: Option<&ChatContext>,
        asked: Option<&ChatPolicy>,
    ) -> Result<ChatPolicy, ChatError> {
        let asked = match asked {
            Some(asked) => {
                known(asked)?;
                asked.clone()
            }
            None => self.usual(),
        };
        let mut policy = within_context(context, asked);
        if is_read_only(context, &policy) {
            // Nobody asked for these one by one.
            policy.allowed_tool_ids.retain(|tool| self.tools.contains(tool));
        }
        let mode = mode_of(&policy).unwrap_or(self.usual_mode);
        policy.cfc_enforcement_mode = Some(mode.as_str().to_owned());
        let mut more = Excess::new("the service");
        more.beyond("allowedToolIds", &policy.allowed_tool_ids, &self.tools);
        more.beyond("allowedSubagentProfiles", &policy.allowed_subagent_profiles, &self.profiles);
        more.laxer(mode, self.least_mode);
        more.none()?;
        Ok(policy)
    }

    fn usual(&self) -> ChatPolicy {
        ChatPolicy {
            tag: PolicyTag::Policy,
            tool_mode: ToolMode::WorkspaceWrite,
            allowed_tool_ids: self.usual_tools.clone(),
            allowed_subagent_profiles: self.usual_profiles.clone(),
            approval_tool_ids: BTreeSet::new(),
            ask_on_flow_denial: false,
            cfc_enforcement_mode: None,
            prompt_slot: None,
        }
    }
}

/// What a turn may do that asks for this, in a session that may do that: the same or less, for this turn.
pub(super) fn of_turn(
    session: &ChatPolicy,
    context: Option<&ChatContext>,
    asked: Option<&ChatPolicy>,
) -> Result<ChatPolicy, ChatError> {
    if let Some(asked) = asked {
        known(asked)?;
    }
    let chosen = asked.unwrap_or(session).clone();
    let mut policy = within_context(context, chosen);
    if is_read_only(context, &policy) {
        policy.allowed_tool_ids.retain(|tool| session.allowed_tool_ids.contains(tool));
    }
    let least = mode_of(session).unwrap_or_default();
    let mode = mode_of(&policy).unwrap_or(least);
    policy.cfc_enforcement_mode = Some(mode.as_str().to_owned());
    // A turn without evidence of its own is what its session is.
    policy.prompt_slot = policy.prompt_slot.or_else(|| session.prompt_slot.clone());
    // Who is asked about a tool in a session is asked about it in all of its turns.
    policy.approval_tool_ids.extend(session.approval_tool_ids.iter().cloned());
    let mut more = Excess::new("the session");
    more.beyond("allowedToolIds", &policy.allowed_tool_ids, &session.allowed_tool_ids);
    more.beyond(
        "allowedSubagentProfiles",
        &policy.allowed_subagent_profiles,
        &session.allowed_subagent_profiles,
    );
    more.laxer(mode, least);
    if policy.tool_mode == ToolMode::WorkspaceWrite && session.tool_mode == ToolMode::ReadOnly {
        more.0.push("toolMode: workspace-write".to_owned());
    }
    if policy.ask_on_flow_denial && !session.ask_on_flow_denial {
        more.0.push("askOnFlowDenial".to_owned());
    }
    if role(&policy) == PromptRole::DirectCommand && role(session) != PromptRole::DirectCommand {
        more.0.push("promptSlot.role".to_owned());
    }
    more.none()?;
    Ok(policy)
}

/// The evidence of a policy about its prompt, if it has some.
pub(crate) fn slot_of(policy: &ChatPolicy) -> Option<PromptSlot> {
    let slot = policy.prompt_slot.clone()?;
    PromptSlot::parse(&Value::Object(slot)).ok()
}

fn role(policy: &ChatPolicy) -> PromptRole {
    slot_of(policy).map_or_else(PromptRole::default, |slot| slot.role)
}

/// How strictly a policy wants flows to be judged, if it says so.
pub(crate) fn mode_of(policy: &ChatPolicy) -> Option<FlowMode> {
    mode::parse(policy.cfc_enforcement_mode.as_deref()?)
}

/// Whether a policy lets subagents drive a browser.
pub(super) fn wants_browser(policy: &ChatPolicy) -> bool {
    policy.allowed_subagent_profiles.contains(Profile::Browser.as_str())
        && policy.allowed_tool_ids.contains(subagent::NAME)
}

/// Whether all names in a policy are names of something.
fn known(policy: &ChatPolicy) -> Result<(), ChatError> {
    let lists =
        [("allowedToolIds", &policy.allowed_tool_ids), ("approvalToolIds", &policy.approval_tool_ids)];
    for (key, names) in lists {
        if let Some(name) = names.iter().find(|name| !TOOLS.contains(&name.as_str())) {
            let problem = format!("`{name}` is no tool; tools are {}", TOOLS.join(", "));
            return Err(wrong(&format!("params.policy.{key}"), &problem));
        }
    }
    let profiles = &policy.allowed_subagent_profiles;
    if let Some(name) = profiles.iter().find(|name| Profile::named(name).is_none()) {
        let known: Vec<&str> = Profile::ALL.into_iter().map(Profile::as_str).collect();
        let problem = format!("`{name}` is no profile; profiles are {}", known.join(", "));
        return Err(wrong("params.policy.allowedSubagentProfiles", &problem));
    }
    if let Some(name) = policy.cfc_enforcement_mode.as_deref().filter(|name| mode::parse(name).is_none()) {
        let known: Vec<&str> = FlowMode::ALL.into_iter().map(FlowMode::as_str).collect();
        let problem = format!("`{name}` is no mode; modes are {}", known.join(", "));
        return Err(wrong("params.policy.cfcEnforcementMode", &problem));
    }
    match policy.prompt_slot.clone().map(|slot| PromptSlot::parse(&Value::Object(slot))) {
        Some(Err(error)) => Err(wrong("params.policy.promptSlot", &error.to_string())),
        Some(Ok(_)) | None => Ok(()),
    }
}

fn is_read_only(context: Option<&ChatContext>, policy: &ChatPolicy) -> bool {
    policy.tool_mode == ToolMode::ReadOnly || matches!(context, Some(ChatContext::CommentThread { .. }))
}

/// What is left of a policy in its context.
fn within_context(context: Option<&ChatContext>, mut policy: ChatPolicy) -> ChatPolicy {
    let in_thread = matches!(context, Some(ChatContext::CommentThread { .. }));
    if in_thread {
        policy.allowed_tool_ids = READ_ONLY_TOOLS.into_iter().map(str::to_owned).collect();
    }
    if is_read_only(context, &policy) {
        policy.tool_mode = ToolMode::ReadOnly;
        policy.allowed_tool_ids.retain(|tool| READ_ONLY_TOOLS.contains(&tool.as_str()));
        policy.allowed_subagent_profiles.clear();
    }
    policy
}

/// What goes beyond something.
struct Excess(Vec<String>, &'static str);

impl Excess {
    fn new(bound: &'static str) -> Self {
        Self(Vec::new(), bound)
    }

    fn beyond(&mut self, key: &str, asked: &BTreeSet<String>, allowed: &BTreeSet<String>) {
        self.0.extend(asked.difference(allowed).map(|name| format!("{key}: {name}")));
    }

    fn laxer(&mut self, asked: FlowMode, least: FlowMode) {
        if asked < least {
            self.0.push(format!("cfcEnforcementMode: {} (at least {})", asked.as_str(), least.as_str()));
        }
    }

    fn none(self) -> Result<(), ChatError> {
        let Self(beyond, bound) = self;
        if beyond.is_empty() {
            return Ok(());
        }
        let message = format!("the policy asks for more than {bound} allows: {}", beyond.join("; "));
        Err(ChatError::new(ErrorCode::PolicyDenied, message).with("beyond", beyond))
    }
}
