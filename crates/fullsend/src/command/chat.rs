//! `fullsend chat`.

mod terminal;
