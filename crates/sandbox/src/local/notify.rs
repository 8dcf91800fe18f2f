//! Refused system calls, reported by the kernel while their callers wait.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use fullsend_sandbox_init::kernel::notifications::{self, Answer, Notification};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::unix::AsyncFd;
use tokio::task::JoinHandle;

use super::filter;
use super::paths::PathRules;
use super::watched::watch;
use crate::spec::{Denial, Denied};

/// How many different things are remembered between two commands.
const MOST: usize = 256;

/// Answers reported calls for one session, and remembers them.
#[derive(Debug)]
pub(crate) struct Refused {
    seen: Seen,
    task: JoinHandle<()>,
}

type Seen = Arc<Mutex<HashMap<Denied, Denial>>>;

impl Refused {
    /// `paths` are the rules for calls that are reported although they are allowed.
    pub(crate) fn start(listener: OwnedFd, paths: Option<PathRules>) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&listener, true)?;
        let listener = watch(listener)?;
        let seen = Seen::default();
        let task = tokio::spawn(answer_all(listener, Arc::new(paths), Arc::clone(&seen)));
        Ok(Self { seen, task })
    }

    /// What was refused since the last time.
    pub(crate) fn take(&self) -> Vec<Denial> {
        let seen = std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner));
        let mut denials: Vec<Denial> = seen.into_values().collect();
        denials.sort_by(|one, other| one.reason.cmp(&other.reason));
        denials
    }
}

impl Drop for Refused {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn refused_call(name: &str) -> Denial {
    let reason = format!("the system call `{name}` is refused in every sandbox");
    Denial { what: Denied::Call { name: name.to_owned() }, reason, remedy: None, count: 1 }
}

async fn answer_all(listener: AsyncFd<OwnedFd>, paths: Arc<Option<PathRules>>, seen: Seen) {
    let listener = Arc::new(listener);
    while let Ok(mut ready) = listener.readable().await {
        ready.clear_ready();
        let (listener, paths, seen) = (Arc::clone(&listener), Arc::clone(&paths), Arc::clone(&seen));
        // Taking a call waits when its caller has just been killed, so it must not happen on a thread of the runtime.
        let goes_on = tokio::task::spawn_blocking(move || {
            answer_waiting(listener.get_ref(), paths.as_ref().as_ref(), &seen)
        })
        .await;
        if !goes_on.unwrap_or(false) {
            return;
        }
    }
}

/// Answers every call that waits now; says whether there can be more.
fn answer_waiting(listener: &OwnedFd, paths: Option<&PathRules>, seen: &Seen) -> bool {
    loop {
        let mut polled = [PollFd::new(listener, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let happened = match poll(&mut polled, Some(&now)) {
            Ok(_) => polled.first().map_or_else(PollFlags::empty, PollFd::revents),
            Err(_) => return false,
        };
        if !happened.contains(PollFlags::IN) {
            // Hung up: no process is left that the filter holds for.
            return !happened.contains(PollFlags::HUP);
        }
        let Ok(notification) = notifications::receive(listener.as_fd()) else { continue };
        let (denied, answer) = decide(&notification, paths);
        // What was read from a process that is gone may have been another's.
        if let Some(denied) = denied.filter(|_| notifications::is_waiting(listener.as_fd(), notification.id))
        {
            remember(denied, seen);
        }
        // The caller may have been killed meanwhile.
        drop(notifications::answer(listener.as_fd(), notification.id, answer));
    }
}

/// Calls that the filter knows by name are refused; others are reported for their paths and carried out.
fn decide(notification: &Notification, paths: Option<&PathRules>) -> (Option<Denial>, Answer) {
    match filter::name(notification.call) {
        Some(name) => (Some(refused_call(name)), Answer::Refuse(libc::EPERM)),
        None => match paths {
            Some(paths) => (paths.judge(notification), Answer::Continue),
            None => (None, Answer::Refuse(libc::EPERM)),
        },
    }
}

fn remember(denial: Denial, seen: &Seen) {
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = seen.get_mut(&denial.what) {
        known.count += 1;
    } else if seen.len() < MOST {
        seen.insert(denial.what.clone(), denial);
    }
}
