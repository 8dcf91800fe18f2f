//! The environment of commands: nothing of the host's.

use std::collections::BTreeMap;

use fullsend_sandbox_init::wire::Blob;

use crate::error::SandboxError;
use crate::spec::{MEMORY_MOUNT, MEMORY_VARIABLE, OUTPUTS_MOUNT, OUTPUTS_VARIABLE};

/// The home directory of commands.
pub(crate) const HOME: &str = "/home/agent";
/// Where programs are looked for.
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What every command of a session gets.
pub(crate) fn base() -> BTreeMap<String, String> {
    [
        ("PATH", PATH),
        ("HOME", HOME),
        ("USER", "agent"),
        ("LOGNAME", "agent"),
        ("SHELL", "/bin/sh"),
        ("LANG", "C.UTF-8"),
        ("TMPDIR", "/tmp"),
        (MEMORY_VARIABLE, MEMORY_MOUNT),
        (OUTPUTS_VARIABLE, OUTPUTS_MOUNT),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .collect()
}

/// Variables that lead ordinary programs to the egress proxy.
pub(crate) fn proxy(port: u16) -> BTreeMap<String, String> {
    let http = format!("http://127.0.0.1:{port}");
    let socks = format!("socks5h://127.0.0.1:{port}");
    let local = "localhost,127.0.0.1,::1".to_owned();
    let pairs =
        [("HTTP_PROXY", http.clone()), ("HTTPS_PROXY", http), ("ALL_PROXY", socks), ("NO_PROXY", local)];
    let both = pairs
        .into_iter()
        .flat_map(|(name, value)| [(name.to_lowercase(), value.clone()), (name.to_owned(), value)]);
    both.chain([("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned())]).collect()
}

/// The variables of a command in the form that programs are started with.
pub(crate) fn lines(
    session: &BTreeMap<String, String>,
    request: &BTreeMap<String, String>,
) -> Result<Vec<Blob>, SandboxError> {
    for (name, value) in request {
        let valid = !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0');
        if !valid {
            let shown = name.escape_debug();
            return Err(SandboxError::InvalidRequest(format!(
                "environment variable `{shown}` cannot be set: a name must not be empty or contain `=`, and neither name nor value may contain a NUL character"
            )));
        }
    }
    let kept = session.iter().filter(|(name, _)| !request.contains_key(*name));
    Ok(kept.chain(request).map(|(name, value)| Blob::from(&format!("{name}={value}"))).collect())
}
