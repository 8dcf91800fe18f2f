//! A user namespace for somebody else to take hold of: it says which owner of files appears as which.

use std::io::{self, Read as _, Write as _};

use crate::kernel::clone::{self, Cloned};

/// Makes the namespace and prints the number of a process in it. Both processes last until standard input ends.
pub fn run() -> io::Result<()> {
    match clone::clone_into(libc::CLONE_NEWUSER as u64)? {
        Cloned::Child => {
            wait();
            clone::leave(0)
        }
        Cloned::Parent { pid, .. } => {
            let mut output = io::stdout();
            writeln!(output, "{pid}")?;
            output.flush()?;
            wait();
            Ok(())
        }
    }
}

fn wait() {
    // An error is an end as well.
    while matches!(io::stdin().read(&mut [0; 16]), Ok(1..)) {}
}
