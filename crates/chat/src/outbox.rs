//! What is on its way to the client: lines in order, of which only so many are held in memory.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, oneshot};

/// What is on its way to the client. Events beyond those that memory has room for are held as numbers, and read from the store
/// when their turn comes, so that a client that does not read costs nothing.
#[derive(Debug)]
pub(crate) struct Outbox {
    queue: Mutex<Queue>,
    changed: Notify,
    room: usize,
}

#[derive(Debug, Default)]
struct Queue {
    items: VecDeque<Item>,
    texts: usize,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Open,
    /// Nothing more comes.
    Finished,
    /// Nobody reads any more.
    Broken,
}

/// Something to be written.
#[derive(Debug)]
pub(crate) enum Item {
    /// An event.
    Event(Arc<str>),
    /// Events that the store has, from the first to the last.
    Kept {
        /// The first.
        first: u64,
        /// The last.
        last: u64,
    },
    /// An answer, and who waits until it is written.
    Answer(String, oneshot::Sender<()>),
}

impl Outbox {
    /// One that holds the texts of so many events.
    pub(crate) fn new(room: usize) -> Self {
        Self { queue: Mutex::default(), changed: Notify::new(), room }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an event. Whoever calls this does so in the order of the store.
    pub(crate) fn event(&self, sequence: u64, line: &Arc<str>) {
        let mut queue = self.lock();
        if queue.state == State::Broken {
            return;
        }
        if queue.texts < self.room {
            queue.texts += 1;
            queue.items.push_back(Item::Event(line.clone()));
        } else {
            match queue.items.back_mut() {
                Some(Item::Kept { last, .. }) if *last + 1 == sequence => *last = sequence,
                Some(Item::Kept { .. } | Item::Event(_) | Item::Answer(..)) | None => {
                    queue.items.push_back(Item::Kept { first: sequence, last: sequence });
                }
            }
        }
        drop(queue);
        self.changed.notify_waiters();
    }

    /// Takes an answer; ready when it is written, or when it never will be.
    pub(crate) fn answer(&self, line: String) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        let mut queue = self.lock();
        if queue.state != State::Broken {
            queue.items.push_back(Item::Answer(line, sender));
        }
        drop(queue);
        self.changed.notify_waiters();
        receiver
    }

    /// What there is now: the next, or that nothing more comes.
    fn take(&self) -> Option<Option<Item>> {
        let mut queue = self.lock();
        let item = queue.items.pop_front();
        if let Some(Item::Event(_)) = item {
            queue.texts -= 1;
        }
        (item.is_some() || queue.state != State::Open).then_some(item)
    }

    /// The next that is to be written; nothing when all is written and nothing more comes.
    pub(crate) async fn next(&self) -> Option<Item> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Whoever is not registered before looking may miss what happens in between.
            changed.as_mut().enable();
            if let Some(taken) = self.take() {
                return taken;
            }
            changed.await;
        }
    }

    /// Whether there is nothing to be written now.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().items.is_empty()
    }

    /// Nothing more comes.
    pub(crate) fn finish(&self) {
        let mut queue = self.lock();
        if queue.state == State::Open {
            queue.state = State::Finished;
        }
        drop(queue);
        self.changed.notify_waiters();
    }

    /// Nobody reads any more.
    pub(crate) fn give_up(&self) {
        let mut queue = self.lock();
        *queue = Queue { state: State::Broken, ..Queue::default() };
        drop(queue);
        self.changed.notify_waiters();
    }

    /// Ready when nobody reads any more.
    pub(crate) async fn broken(&self) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.lock().state == State::Broken {
                return;
            }
            changed.await;
        }
    }
}
