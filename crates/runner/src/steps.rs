//! The steps of a run, one module each.

pub(crate) mod agent;
pub(crate) mod check;
pub(crate) mod deliver;
pub(crate) mod image;
pub(crate) mod introduce;
pub(crate) mod load;
pub(crate) mod pre_script;
pub(crate) mod provision;
pub(crate) mod resolve;
pub(crate) mod scan;
pub(crate) mod upload;
