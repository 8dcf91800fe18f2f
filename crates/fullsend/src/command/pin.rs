//! `fullsend pin`.

use std::path::Path;

use anyhow::{Context, Error, Result, bail};
use fullsend_origin::{HostPattern, RemoteUrl, Sha256Digest, has_scheme};
use fullsend_resolve::pin_edit::{set_pin, write_file};
use fullsend_resolve::{PinPathError, pin_path};

use crate::cli::{NetworkArgs, PinArgs};
use crate::command::remote::{Session, advise};
use crate::exit::Exit;
use crate::output::{Advice, Output};

pub(super) fn run(args: &PinArgs, output: &mut Output) -> Result<Exit> {
    if !has_scheme(&args.target) {
        if args.write.is_some() {
            bail!(Advice::new(
                "a local path has no pin",
                "leave out `--write`; local files are trusted as they are"
            ));
        }
        let digest = pin_path(Path::new(&args.target)).map_err(explain)?;
        output.text(&format!("{digest}\n"))?;
        return Ok(Exit::Done);
    }
    let clean = args.target.split_once('#').map_or(args.target.as_str(), |(clean, _)| clean);
    let url = RemoteUrl::parse(clean).map_err(|error| advise(&error.to_string(), error.help()))?;
    let digest = fetch(args, &url, output)?;
    match &args.write {
        None => output.text(&format!("{url}#sha256={digest}\n"))?,
        Some(file) => write(file, clean, digest, output)?,
    }
    Ok(Exit::Done)
}

/// The person names the URL, so its host may be asked; the rules about addresses hold all the same.
fn fetch(args: &PinArgs, url: &RemoteUrl, output: &mut Output) -> Result<Sha256Digest> {
    let network = NetworkArgs { offline: false, max_depth: 0, max_resources: 1 };
    let session = Session::open_anywhere(&args.directory, &network, output)?;
    let host = HostPattern::parse(url.as_https().host())
        .map_err(|error| advise(&error.to_string(), error.help()))?;
    let (fetcher, forges) = session.fetcher(&[host])?;
    let pinning = fullsend_resolve::pin_url(&fetcher, &forges, &session.configuration.forges, url);
    let pinned = session.wait(pinning).map_err(|error| {
        let help = error.help();
        match help {
            Some(help) => Error::new(error).context(Advice::new(format!("cannot pin `{url}`"), help)),
            None => Error::new(error).context(format!("cannot pin `{url}`")),
        }
    })?;
    Ok(pinned.digest())
}

fn write(file: &Path, url: &str, digest: Sha256Digest, output: &mut Output) -> Result<()> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read `{}`", file.display()))?;
    let edited = set_pin(&text, url, digest).map_err(|error| {
        let help = error.help();
        let help = help.unwrap_or_else(|| "correct the file by hand".to_owned());
        Error::new(error).context(Advice::new(format!("cannot edit `{}`", file.display()), help))
    })?;
    write_file(file, &edited).map_err(|error| {
        let help = error.help();
        Error::new(error).context(Advice::new(format!("cannot write `{}`", file.display()), help))
    })?;
    for change in &edited.changes {
        let line = format!("{}:{}: {} → {}", file.display(), change.line, change.before, change.after);
        output.text(&format!("{}\n", fullsend_yaml::printable(line)))?;
    }
    if edited.changes.is_empty() {
        output.note("the pin is right already");
    }
    Ok(())
}

fn explain(error: PinPathError) -> Error {
    let help = match &error {
        PinPathError::Io { .. } => "name a file or a directory that can be read",
        PinPathError::Special { .. } => "replace it by a regular file; links are not followed",
        PinPathError::Name { .. } => "rename it",
        PinPathError::Empty { .. } | _ => "put files into it",
    };
    let help = help.to_owned();
    Error::new(error).context(Advice::new("cannot compute the digest", help))
}
