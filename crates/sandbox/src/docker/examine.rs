//! What an engine has to offer, for people who choose one.

use std::path::Path;

use super::arguments::ContainerUser;
use super::client::Client;
use super::engine::Engine;
use crate::layer::Layer;

/// Asks the engine of a client what there is. One layer if there is no engine.
pub(super) async fn examine(program: &Path) -> Vec<Layer> {
    let client = Client::of(program);
    match Engine::detect(&client).await {
        Ok(engine) => {
            vec![
                Layer::available("engine", format!("{} {}", client.name(), engine.version)),
                runc(&engine),
                runsc(&engine),
                rootless(&engine),
                user_mapping(&engine, ContainerUser::of_caller()),
            ]
        }
        Err(error) => vec![Layer::missing("engine", error.to_string(), no_engine_fix(&client))],
    }
}

fn no_engine_fix(client: &Client) -> String {
    let name = client.name();
    if client.is_podman() {
        return format!("install podman, so that `{name} info` answers; other sandboxes do not need it");
    }
    format!(
        "install docker (Debian: `docker.io`) and start its daemon, or set `DOCKER_HOST`, so that `{name} info` answers; \
         other sandboxes do not need it"
    )
}

/// The usual runtimes, which share this machine's kernel.
fn runc(engine: &Engine) -> Layer {
    let name = "runtime runc";
    let shared = ["runc", "crun"].into_iter().find(|runtime| engine.has_runtime(runtime));
    match shared {
        Some(runtime) => Layer::available(name, format!("{runtime}, on the kernel of the engine's machine")),
        None => Layer::missing(name, only(engine), "install `runc`"),
    }
}

fn runsc(engine: &Engine) -> Layer {
    let name = "runtime runsc";
    if engine.has_runtime("runsc") {
        return Layer::available(name, "gVisor, whose kernel stands between commands and the machine's");
    }
    let fix = if engine.podman {
        "install `runsc`, and set `runtime = \"runsc\"` in the section `[engine]` of `containers.conf`"
    } else {
        "install `runsc`, then run `runsc install` as root and start the daemon again"
    };
    Layer::missing(name, only(engine), fix)
}

fn only(engine: &Engine) -> String {
    format!("the engine has only {}", engine.runtimes.join(", "))
}

fn rootless(engine: &Engine) -> Layer {
    if engine.rootless {
        return Layer::available(
            "rootless engine",
            "containers have no more rights than who started the engine",
        );
    }
    Layer::missing(
        "rootless engine",
        "the engine runs as root, and so can everybody who may use it",
        "set up one for this user: `dockerd-rootless-setuptool.sh install`, or use podman",
    )
}

fn user_mapping(engine: &Engine, caller: ContainerUser) -> Layer {
    let name = "user mapping";
    let ContainerUser { uid, gid } = engine.user(caller).user;
    if engine.remaps_users {
        return Layer::missing(
            name,
            format!(
                "the engine gives containers other user numbers, so {uid}:{gid} inside is not that outside"
            ),
            "take `userns-remap` out of the daemon's configuration, or make granted files writable for others",
        );
    }
    let who = match (uid, caller.uid) {
        (0, _) => "number 0 inside is the caller outside, as with every rootless engine",
        (inside, outside) if inside == outside => "the caller, so that files have the right owner",
        _ => "nobody's number, because the caller is root and commands never are",
    };
    Layer::available(name, format!("commands run as {uid}:{gid}: {who}"))
}

#[cfg(test)]
mod tests {
    use super::{ContainerUser, Engine, rootless, runc, runsc, user_mapping};

    fn engine() -> Engine {
        Engine {
            version: "1".to_owned(),
            runtimes: vec!["runc".to_owned()],
            default_runtime: "runc".to_owned(),
            cpus: 1,
            rootless: false,
            remaps_users: false,
            podman: false,
        }
    }

    #[test]
    fn what_is_missing_is_told_apart_from_what_is_there() {
        let plain = engine();
        assert!(
            runc(&plain).is_available() && !runsc(&plain).is_available() && !rootless(&plain).is_available()
        );
        let other = Engine { runtimes: vec!["runsc".to_owned()], rootless: true, ..engine() };
        assert!(
            !runc(&other).is_available() && runsc(&other).is_available() && rootless(&other).is_available()
        );
    }

    #[test]
    fn the_user_of_commands_is_told() {
        let (caller, root) = (ContainerUser { uid: 1000, gid: 100 }, ContainerUser { uid: 0, gid: 0 });
        let told = |engine: &Engine, who| format!("{:?}", user_mapping(engine, who).status);
        assert!(told(&engine(), caller).contains("1000:100: the caller"));
        assert!(told(&engine(), root).contains("because the caller is root"));
        assert!(told(&Engine { rootless: true, ..engine() }, caller).contains("0:0: number 0 inside"));
        assert!(!user_mapping(&Engine { remaps_users: true, ..engine() }, caller).is_available());
    }
}
