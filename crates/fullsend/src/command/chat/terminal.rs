//! The person's chat: on a terminal, with the service in this process.

mod editor;
mod history;
mod markdown;
mod plain;
mod screen;
mod state;
mod text;
mod transcript;
