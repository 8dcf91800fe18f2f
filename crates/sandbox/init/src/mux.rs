//! Many streams and messages over one pair of pipes, the part that both ends share.
//!
//! A container engine offers one channel into a container: the standard input and output of its first process.

pub mod frame;
pub mod link;
