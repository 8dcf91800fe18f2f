//! Many streams over one pair of pipes, as pure bookkeeping: bytes go in, bytes come out, nothing is waited for.
//!
//! Each direction of each stream has a window. A sender sends only what the receiver has said it has room for, so
//! a stream that nobody reads fills its own window and holds up nothing else, and memory is bounded by the number
//! of streams.

use std::collections::{BTreeMap, VecDeque};

use super::frame::{self, BadFrame, Frame, Kind};

/// Room for each direction of a stream that the other side may fill without asking.
pub const WINDOW: usize = 256 * 1024;
/// Bytes that a stream holds until they are sent; more is not accepted.
const OUTGOING: usize = 64 * 1024;
/// Consumed bytes are given back in portions of this size, not one by one.
const PORTION: usize = 64 * 1024;
/// Streams that the other side may have open at a time; further ones are reset.
const STREAMS: usize = 1024;
/// Frames without data that may wait to be sent. They answer what the other side sends, so one that asks and
/// never reads would otherwise fill our memory.
const BACKLOG: usize = 16 * 1024 * 1024;

/// Which end of the link this is. The two ends number their streams apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Outside the container: even numbers.
    Host,
    /// Inside: odd numbers.
    Guest,
}

/// What received bytes mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A message.
    Message(Vec<u8>),
    /// The other side has opened a stream.
    Opened {
        /// Its number.
        stream: u32,
        /// What it is, in the words of the other side.
        header: Vec<u8>,
    },
    /// There is something to read: bytes, or that no more come.
    Readable(u32),
    /// The other side has ended the stream in both directions.
    Reset(u32),
}

/// What reading a stream gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// So many bytes.
    Bytes(usize),
    /// Nothing yet.
    Nothing,
    /// No more will come.
    End,
    /// The stream was cut; what was under way is lost.
    Cut,
}

/// What has been received, and what waits to be sent.
#[derive(Debug)]
pub struct Link {
    side: Side,
    next: u32,
    /// The largest number that the other side has used.
    seen: u32,
    theirs: usize,
    streams: BTreeMap<u32, Stream>,
    /// Bytes of a frame that is not complete.
    partial: Vec<u8>,
    control: VecDeque<u8>,
    /// Where the next turn among the streams begins.
    turn: u32,
}

#[derive(Debug)]
struct Stream {
    incoming: VecDeque<u8>,
    /// What the other side may still send.
    room: usize,
    /// Read by us, but not yet given back to the other side.
    consumed: usize,
    ended: bool,
    /// The other side has ended both directions.
    cut: bool,
    outgoing: VecDeque<u8>,
    /// What we may still send.
    credit: usize,
    finish: Finish,
    /// Our side has closed it and only what is outgoing is still to be sent.
    closing: bool,
}

/// Where our direction of a stream is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finish {
    Open,
    /// Once everything outgoing is sent.
    Wanted,
    Sent,
}

impl Stream {
    fn new() -> Self {
        Self {
            incoming: VecDeque::new(),
            room: WINDOW,
            consumed: 0,
            ended: false,
            cut: false,
            outgoing: VecDeque::new(),
            credit: WINDOW,
            finish: Finish::Open,
            closing: false,
        }
    }

    fn has_something_to_send(&self) -> bool {
        let data = !self.outgoing.is_empty() && self.credit > 0;
        let finish = self.outgoing.is_empty() && self.finish == Finish::Wanted;
        !self.cut && (data || finish)
    }
}

impl Link {
    /// A link on which nothing has happened.
    pub fn new(side: Side) -> Self {
        let next = match side {
            Side::Host => 2,
            Side::Guest => 1,
        };
        Self {
            side,
            next,
            seen: 0,
            theirs: 0,
            streams: BTreeMap::new(),
            partial: Vec::new(),
            control: VecDeque::new(),
            turn: 0,
        }
    }

    /// Sends a message.
    pub fn message(&mut self, bytes: &[u8]) -> Result<(), BadFrame> {
        if bytes.len() > frame::MESSAGE {
            return Err(BadFrame("a message that is too long"));
        }
        self.queue(0, Kind::Message, bytes);
        Ok(())
    }

    /// Opens a stream; the header says what it is.
    pub fn open(&mut self, header: &[u8]) -> Result<u32, BadFrame> {
        if header.len() > frame::DATA {
            return Err(BadFrame("a header that is too long"));
        }
        let stream = self.next;
        self.next = stream.checked_add(2).ok_or(BadFrame("all stream numbers are used up"))?;
        self.streams.insert(stream, Stream::new());
        self.queue(stream, Kind::Open, header);
        Ok(stream)
    }

    /// How many bytes of a stream have arrived and are not read.
    pub fn available(&self, number: u32) -> usize {
        self.streams.get(&number).map_or(0, |stream| stream.incoming.len())
    }

    /// Takes received bytes of a stream.
    pub fn read(&mut self, number: u32, into: &mut [u8]) -> Input {
        let Some(stream) = self.streams.get_mut(&number) else { return Input::Cut };
        let count = drain(&mut stream.incoming, into);
        if count == 0 && !into.is_empty() {
            return match (stream.ended, stream.cut) {
                (true, _) => Input::End,
                (false, true) => Input::Cut,
                (false, false) => Input::Nothing,
            };
        }
        stream.consumed += count;
        if stream.consumed >= PORTION && !stream.ended && !stream.cut {
            let portion = std::mem::take(&mut stream.consumed);
            stream.room += portion;
            let portion = u32::try_from(portion).unwrap_or(u32::MAX);
            self.queue(number, Kind::Window, &portion.to_be_bytes());
        }
        Input::Bytes(count)
    }

    /// How many bytes [`Self::write`] would accept now; none when the stream is cut or finished.
    pub fn room(&self, number: u32) -> Option<usize> {
        let stream = self.streams.get(&number)?;
        let open = stream.finish == Finish::Open && !stream.cut;
        open.then(|| OUTGOING.saturating_sub(stream.outgoing.len()))
    }

    /// Accepts bytes to be sent and says how many; 0 while there is no room, none when the stream is cut or
    /// finished.
    pub fn write(&mut self, number: u32, bytes: &[u8]) -> Option<usize> {
        let count = self.room(number)?.min(bytes.len());
        self.streams.get_mut(&number)?.outgoing.extend(bytes.get(..count)?);
        Some(count)
    }

    /// Says that no more bytes will be written.
    pub fn finish(&mut self, number: u32) {
        if let Some(stream) = self.streams.get_mut(&number)
            && stream.finish == Finish::Open
        {
            stream.finish = Finish::Wanted;
        }
    }

    /// Lets go of a stream. What was written before [`Self::finish`] is still sent; without that, the stream is cut.
    pub fn close(&mut self, number: u32) {
        let Some(stream) = self.streams.get_mut(&number) else { return };
        if stream.finish == Finish::Wanted && !stream.cut {
            stream.closing = true;
            stream.incoming.clear();
        } else {
            self.forget(number);
        }
    }

    /// Takes in received bytes.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<Vec<Event>, BadFrame> {
        let mut buffer = std::mem::take(&mut self.partial);
        buffer.extend_from_slice(bytes);
        let mut events = Vec::new();
        let mut rest = buffer.as_slice();
        while let Some((frame, length)) = frame::take(rest)? {
            events.extend(self.accept(frame)?);
            rest = rest.get(length..).unwrap_or_default();
        }
        self.partial = rest.to_vec();
        if self.control.len() > BACKLOG {
            return Err(BadFrame("it asks and does not read the answers"));
        }
        Ok(events)
    }

    /// Whether [`Self::transmit`] has anything to hand out.
    pub fn has_something_to_send(&self) -> bool {
        !self.control.is_empty() || self.streams.values().any(Stream::has_something_to_send)
    }

    /// Appends bytes to be sent to `out`, about as many as `limit` says; streams take turns. Returns the streams
    /// that have room again.
    pub fn transmit(&mut self, out: &mut Vec<u8>, limit: usize) -> Vec<u32> {
        let end = out.len() + limit;
        out.extend(self.control.drain(..));
        let mut relieved = Vec::new();
        while out.len() < end {
            let Some(number) = self.next_turn() else { break };
            self.turn = number;
            self.send_portion(number, out);
            relieved.push(number);
        }
        relieved
    }

    fn next_turn(&self) -> Option<u32> {
        let after = self.streams.range(self.turn.saturating_add(1)..);
        let upto = self.streams.range(..=self.turn);
        after.chain(upto).find(|(_, stream)| stream.has_something_to_send()).map(|(number, _)| *number)
    }

    fn send_portion(&mut self, number: u32, out: &mut Vec<u8>) {
        let Some(stream) = self.streams.get_mut(&number) else { return };
        let count = stream.outgoing.len().min(stream.credit).min(frame::DATA);
        if count > 0 {
            stream.credit -= count;
            let mut portion = vec![0; count];
            drain(&mut stream.outgoing, &mut portion);
            frame::put(out, number, Kind::Data, &portion);
        }
        if stream.outgoing.is_empty() && stream.finish == Finish::Wanted {
            stream.finish = Finish::Sent;
            frame::put(out, number, Kind::Finish, &[]);
            if stream.closing {
                self.forget(number);
            }
        }
    }

    fn accept(&mut self, frame: Frame<'_>) -> Result<Option<Event>, BadFrame> {
        let number = frame.stream;
        match (frame.kind, number) {
            (Kind::Message, 0) => return Ok(Some(Event::Message(frame.payload.to_vec()))),
            (Kind::Message, _) | (_, 0) => return Err(BadFrame("a frame with the wrong stream number")),
            (Kind::Open, _) => return self.accept_open(number, frame.payload),
            (Kind::Data | Kind::Window | Kind::Finish | Kind::Reset, _) => {}
        }
        let Some(stream) = self.streams.get_mut(&number) else {
            // We have let go of it, and the other side did not know when it sent this.
            return if self.was_known(number) { Ok(None) } else { Err(BadFrame("an unknown stream")) };
        };
        match frame.kind {
            Kind::Data => {
                if stream.ended || frame.payload.len() > stream.room {
                    return Err(BadFrame("more data than there is room for"));
                }
                stream.room -= frame.payload.len();
                if !stream.closing {
                    stream.incoming.extend(frame.payload);
                }
            }
            Kind::Finish => stream.ended = true,
            Kind::Window => {
                let more = frame.payload.try_into().map(u32::from_be_bytes);
                let more = more.map_err(|_| BadFrame("a window without a number"))?;
                stream.credit += usize::try_from(more).unwrap_or(usize::MAX);
                if stream.credit > WINDOW {
                    return Err(BadFrame("a window that is too large"));
                }
                return Ok(None);
            }
            Kind::Message | Kind::Open | Kind::Reset => {
                stream.cut = true;
                stream.outgoing.clear();
                if stream.closing {
                    self.forget(number);
                }
                return Ok(Some(Event::Reset(number)));
            }
        }
        Ok(Some(Event::Readable(number)))
    }

    fn accept_open(&mut self, number: u32, header: &[u8]) -> Result<Option<Event>, BadFrame> {
        if self.is_ours(number) || number <= self.seen {
            return Err(BadFrame("a stream number that is not the next"));
        }
        self.seen = number;
        if self.theirs >= STREAMS {
            self.queue(number, Kind::Reset, &[]);
            return Ok(None);
        }
        self.theirs += 1;
        self.streams.insert(number, Stream::new());
        Ok(Some(Event::Opened { stream: number, header: header.to_vec() }))
    }

    fn is_ours(&self, number: u32) -> bool {
        number.is_multiple_of(2) == (self.side == Side::Host)
    }

    fn was_known(&self, number: u32) -> bool {
        if self.is_ours(number) { number < self.next } else { number <= self.seen }
    }

    fn queue(&mut self, stream: u32, kind: Kind, payload: &[u8]) {
        let mut bytes = Vec::with_capacity(frame::HEADER + payload.len());
        frame::put(&mut bytes, stream, kind, payload);
        self.control.extend(bytes);
    }

    /// Removes a stream and cuts it, unless both directions have come to their end already.
    fn forget(&mut self, number: u32) {
        let Some(stream) = self.streams.remove(&number) else { return };
        if !self.is_ours(number) {
            self.theirs -= 1;
        }
        let over = stream.ended && stream.finish == Finish::Sent;
        if !over && !stream.cut {
            self.queue(number, Kind::Reset, &[]);
        }
    }
}

fn drain(from: &mut VecDeque<u8>, into: &mut [u8]) -> usize {
    let count = from.len().min(into.len());
    let (front, back) = from.as_slices();
    let first = front.len().min(count);
    for (place, bytes) in [(0..first, front), (first..count, back)] {
        let length = place.len();
        if let (Some(place), Some(bytes)) = (into.get_mut(place), bytes.get(..length)) {
            place.copy_from_slice(bytes);
        }
    }
    from.drain(..count);
    count
}

#[cfg(test)]
mod tests;
