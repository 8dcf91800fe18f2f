//! The token that hooks look for, and where a harness wants it planted.

use std::path::Path;

use anyhow::Result;
use fullsend_guard::canary::CanaryToken;
use fullsend_harness::schema::Canary;
use uuid::Uuid;

use crate::command::scan::canaries;
use crate::output::Output;

/// The tokens to look for: those in `file`, or a new one where the harness asks for one. Says where they are to be planted.
pub(super) fn tokens(canary: &Canary, file: Option<&Path>, output: &mut Output) -> Result<Vec<String>> {
    let Canary { enabled, env, files } = canary;
    let mut places: Vec<String> =
        env.iter().map(|name| format!("the variable `{}`", name.value.as_str())).collect();
    places.extend(files.iter().flatten().map(|path| format!("the file `{}`", path.value.as_str())));
    let wanted = enabled.as_ref().map_or(!places.is_empty(), |enabled| enabled.value);
    let tokens = match file {
        Some(file) => canaries(file)?.iter().map(|token| token.reveal().to_owned()).collect(),
        None if wanted => vec![generate()],
        None => return Ok(Vec::new()),
    };
    if places.is_empty() {
        output.note("note: nothing in the harness says where the canary token is planted; name `security.canary.env` or `files`, or plant it yourself");
    } else {
        output.note(&format!(
            "note: plant the canary token (`checks.canary.tokens`) in the sandbox, in {}",
            places.join(" and ")
        ));
    }
    Ok(tokens)
}

/// A new token for every configuration: one that was seen elsewhere would prove nothing about this run.
fn generate() -> String {
    let (first, second) = (Uuid::new_v4(), Uuid::new_v4());
    // The bytes that say which kind of UUID this is are not random.
    let random = |id: Uuid| id.into_bytes().into_iter().enumerate().filter(|(at, _)| ![6, 8].contains(at));
    let mut bytes = [0; 20];
    for (byte, (_, random)) in bytes.iter_mut().zip(random(first).chain(random(second))) {
        *byte = random;
    }
    CanaryToken::from_random(bytes).reveal().to_owned()
}
