//! The token that hooks look for, and where a harness wants it planted.

use std::path::PathBuf;

use fullsend_guard::canary::CanaryToken;
use fullsend_harness::schema::{Canary, Security};
use uuid::Uuid;

use super::is_on;
use crate::host_files::HostFileContent;

/// Where tokens are looked for and planted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CanaryPlan {
    /// Whether tool calls are searched.
    pub pre: bool,
    /// Whether tool output is searched.
    pub post: bool,
    /// Whether a token is to be planted.
    pub wanted: bool,
    /// The variable in the sandbox that holds it.
    pub env: Option<String>,
    /// The files in the sandbox that hold it.
    pub files: Vec<String>,
}

impl CanaryPlan {
    /// Whether anything looks for tokens.
    pub fn is_searched(&self) -> bool {
        self.pre || self.post
    }

    /// A new token, if one is to be planted and looked for. One that was seen elsewhere would prove nothing about this run.
    pub fn generate(&self) -> Option<CanaryToken> {
        (self.wanted && self.is_searched()).then(generate)
    }

    /// The files that hold the token, for [`crate::host_files::place`].
    pub fn contents(&self, token: &CanaryToken) -> Vec<HostFileContent> {
        let content = |dest: &String| HostFileContent {
            src: PathBuf::from("security.canary"),
            dest: dest.clone(),
            bytes: format!("{}\n", token.reveal()).into_bytes(),
            executable: false,
        };
        self.files.iter().map(content).collect()
    }
}

/// What a `security` block says about canary tokens.
pub fn canary_plan(security: &Security) -> CanaryPlan {
    let Canary { enabled, env, files } = security.canary.clone().unwrap_or_default();
    let hooks = security.sandbox_hooks.as_ref();
    let on = is_on(security.enabled.as_ref()) && is_on(enabled.as_ref());
    let env = env.map(|name| name.value.as_str().to_owned());
    let files: Vec<String> = files.into_iter().flatten().map(|path| path.value.as_str().to_owned()).collect();
    CanaryPlan {
        pre: on && is_on(hooks.and_then(|hooks| hooks.canary_pretool.as_ref())),
        post: on && is_on(hooks.and_then(|hooks| hooks.canary_posttool.as_ref())),
        wanted: enabled.map_or(env.is_some() || !files.is_empty(), |enabled| enabled.value),
        env,
        files,
    }
}

fn generate() -> CanaryToken {
    let (first, second) = (Uuid::new_v4(), Uuid::new_v4());
    // The bytes that say which kind of UUID this is are not random.
    let random = |id: Uuid| id.into_bytes().into_iter().enumerate().filter(|(at, _)| ![6, 8].contains(at));
    let mut bytes = [0; 20];
    for (byte, (_, random)) in bytes.iter_mut().zip(random(first).chain(random(second))) {
        *byte = random;
    }
    CanaryToken::from_random(bytes)
}
