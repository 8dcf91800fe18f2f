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
        SchemaKind::ChatProtocol => return chat_protocol(args.format, output),
    };
    match args.format {
        SchemaFormat::Json => output.json(&json_schema(kind))?,
        SchemaFormat::Markdown => output.text(&markdown(kind))?,
    }
    Ok(Exit::Done)
}

fn chat_protocol(format: SchemaFormat, output: &mut Output) -> Result<Exit> {
    match format {
        SchemaFormat::Json => output.json(&fullsend_chat::reference::json_schema())?,
        SchemaFormat::Markdown => output.text(&fullsend_chat::reference::markdown())?,
    }
    Ok(Exit::Done)
}
