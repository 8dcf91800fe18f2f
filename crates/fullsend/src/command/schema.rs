//! `fullsend harness schema`.

use anyhow::Result;
use fullsend_harness::reference::{DocumentKind, json_schema, markdown};

use crate::cli::{SchemaArgs, SchemaFormat, SchemaKind};
use crate::exit::Exit;
use crate::output::Output;

pub(super) fn run(args: &SchemaArgs, output: &mut Output) -> Result<Exit> {
    let kind = match args.kind {
        SchemaKind::Harness => DocumentKind::Harness,
        SchemaKind::Config => DocumentKind::Config,
        SchemaKind::Agent => DocumentKind::Agent,
        SchemaKind::Provider => DocumentKind::Provider,
        SchemaKind::SandboxPolicy => DocumentKind::SandboxPolicy,
        SchemaKind::FlowPolicy => DocumentKind::FlowPolicy,
    };
    match args.format {
        SchemaFormat::Json => output.json(&json_schema(kind))?,
        SchemaFormat::Markdown => output.text(&markdown(kind))?,
    }
    Ok(Exit::Done)
}
