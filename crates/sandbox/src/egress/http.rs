//! HTTP/1 between a session and a server: every request is read, judged and written anew.

mod body;
mod exchange;
mod head;
mod route;
mod serve;

pub(super) use exchange::still_open;
pub(super) use serve::{Door, Kept, serve};
