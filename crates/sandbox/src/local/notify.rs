//! Refused system calls, reported by the kernel while their callers wait.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use fullsend_sandbox_init::kernel::notifications::{self, Answer, Notification};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::unix::AsyncFd;
use tokio::task::JoinHandle;

use super::filter;
use super::watched::watch;
use crate::spec::{Denial, Denied};

/// How many different things are remembered between two commands.
const MOST: usize = 256;

/// Answers reported calls for one session, and remembers them.
#[derive(Debug)]
pub(crate) struct Refused {
    seen: Arc<Mutex<BTreeMap<String, u64>>>,
    task: JoinHandle<()>,
}

impl Refused {
    pub(crate) fn start(listener: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&listener, true)?;
        let listener = watch(listener)?;
        let seen = Arc::<Mutex<BTreeMap<String, u64>>>::default();
        let task = tokio::spawn(answer_all(listener, Arc::clone(&seen)));
        Ok(Self { seen, task })
    }

    /// What was refused since the last time.
    pub(crate) fn take(&self) -> Vec<Denial> {
        let seen = std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner));
        seen.into_iter().map(|(name, count)| denial(name, count)).collect()
    }
}

impl Drop for Refused {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn denial(name: String, count: u64) -> Denial {
    let reason = format!("the system call `{name}` is refused in every sandbox");
    Denial { what: Denied::Call { name }, reason, remedy: None, count }
}

async fn answer_all(listener: AsyncFd<OwnedFd>, seen: Arc<Mutex<BTreeMap<String, u64>>>) {
    let listener = Arc::new(listener);
    while let Ok(mut ready) = listener.readable().await {
        ready.clear_ready();
        match waiting(listener.get_ref()) {
            Waiting::Calls => {}
            Waiting::Nothing => continue,
            Waiting::End => return,
        }
        let (listener, seen) = (Arc::clone(&listener), Arc::clone(&seen));
        // Taking a call waits when its caller has just been killed, so it must not happen on a thread of the runtime.
        let goes_on = tokio::task::spawn_blocking(move || answer_waiting(listener.get_ref(), &seen)).await;
        if !goes_on.unwrap_or(false) {
            return;
        }
    }
}

/// What can be heard of the filter.
enum Waiting {
    Calls,
    Nothing,
    /// No process is left that the filter holds for.
    End,
}

fn waiting(listener: &OwnedFd) -> Waiting {
    let mut polled = [PollFd::new(listener, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let happened = match poll(&mut polled, Some(&now)) {
        Ok(_) => polled.first().map_or_else(PollFlags::empty, PollFd::revents),
        Err(_) => return Waiting::End,
    };
    if happened.contains(PollFlags::IN) {
        Waiting::Calls
    } else if happened.contains(PollFlags::HUP) {
        Waiting::End
    } else {
        Waiting::Nothing
    }
}

/// Answers every call that waits now; says whether there can be more.
fn answer_waiting(listener: &OwnedFd, seen: &Mutex<BTreeMap<String, u64>>) -> bool {
    loop {
        match waiting(listener) {
            Waiting::Calls => {}
            Waiting::Nothing => return true,
            Waiting::End => return false,
        }
        let Ok(notification) = notifications::receive(listener.as_fd()) else { continue };
        remember(&notification, seen);
        // The caller may have been killed meanwhile.
        drop(notifications::answer(listener.as_fd(), notification.id, Answer::Refuse(libc::EPERM)));
    }
}

fn remember(notification: &Notification, seen: &Mutex<BTreeMap<String, u64>>) {
    let name =
        filter::name(notification.call).map_or_else(|| format!("#{}", notification.call), str::to_owned);
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    if seen.len() < MOST || seen.contains_key(&name) {
        *seen.entry(name).or_default() += 1;
    }
}
