//! A thread that sends requests over its connections and reads the answers.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use mio::event::Event;
use mio::{Events, Poll, Token};
use tokapi::Error;

use super::answer::Answer;
use super::connection::{Connection, Outcome, Sent};
use super::tally::Tally;
use super::target::Target;
use crate::arrivals::{Arrivals, SPIN};

/// How long answers are awaited at the end.
const PATIENCE: Duration = Duration::from_secs(15);

/// A load in time. Requests before `counted` are not counted.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    pub started: Instant,
    pub counted: Instant,
    pub end: Instant,
}

/// A thread that sends requests.
pub struct Source<'a> {
    target: &'a Target,
    poll: Poll,
    connections: Vec<Connection>,
    /// The connections without a request. They take turns.
    idle: VecDeque<usize>,
    buffer: Vec<u8>,
    tally: Tally,
    counted: Instant,
    /// The next query, and the number of sources.
    query: usize,
    step: usize,
}

impl<'a> Source<'a> {
    /// Connects. Of `sources` sources, this is that of a number.
    ///
    /// # Errors
    /// The server does not accept a connection.
    pub fn new(
        target: &'a Target,
        connections: usize,
        number: usize,
        sources: usize,
    ) -> Result<Self, Error> {
        let mut source = Source {
            target,
            poll: Poll::new().map_err(failed)?,
            connections: Vec::new(),
            idle: (0..connections).collect(),
            buffer: vec![0; 1 << 16],
            tally: Tally::default(),
            counted: Instant::now(),
            query: number,
            step: sources,
        };
        for number in 0..connections {
            let connection = source.connect(number)?;
            source.connections.push(connection);
        }
        Ok(source)
    }

    fn connect(&self, number: usize) -> Result<Connection, Error> {
        let registry = self.poll.registry();
        Connection::new(self.target.address, registry, Token(number)).map_err(failed)
    }

    /// Open loop: a request at each moment of `arrivals`.
    ///
    /// # Errors
    /// The server no longer accepts connections.
    pub fn open(mut self, mut arrivals: Arrivals, span: Span) -> Result<Tally, Error> {
        self.counted = span.counted;
        let mut events = Events::with_capacity(1024);
        let mut waiting: VecDeque<Instant> = VecDeque::new();
        let mut next = arrivals.next();
        loop {
            let now = Instant::now();
            while next <= now && next < span.end {
                waiting.push_back(next);
                next = arrivals.next();
            }
            while !waiting.is_empty()
                && let Some(number) = self.idle.pop_front()
                && let Some(due) = waiting.pop_front()
            {
                self.send(number, due)?;
            }
            let is_idle = self.idle.len() == self.connections.len();
            if next >= span.end && waiting.is_empty() && is_idle {
                return Ok(self.tally);
            }
            if now >= span.end + PATIENCE {
                let unsent = waiting.len() as u64;
                return Ok(self.give_up(unsent));
            }
            let rest = next.min(span.end).saturating_duration_since(now);
            if is_idle && rest > SPIN {
                std::thread::sleep(rest - SPIN);
            }
            self.hear(&mut events, Duration::ZERO)?;
        }
    }

    /// Closed loop: each connection sends a request when its last one is answered.
    ///
    /// # Errors
    /// The server no longer accepts connections.
    pub fn closed(mut self, span: Span) -> Result<Tally, Error> {
        self.counted = span.counted;
        let mut events = Events::with_capacity(1024);
        loop {
            let now = Instant::now();
            if now >= span.end {
                // Later answers do not count for the rate.
                return Ok(self.tally);
            }
            while let Some(number) = self.idle.pop_front() {
                self.send(number, Instant::now())?;
            }
            self.hear(&mut events, span.end - now)?;
        }
    }

    /// Sends the next request, which was due at `due`.
    fn send(&mut self, number: usize, due: Instant) -> Result<(), Error> {
        let query = self.query % self.target.requests.len();
        self.query += self.step;
        if due >= self.counted {
            self.tally.late.push(due.elapsed());
        }
        match self.connections[number].send(&self.target.requests, query, due) {
            Ok(()) => Ok(()),
            Err(why) => self.fail(number, why),
        }
    }

    /// Handles what has happened on the connections; waits for it at most for `longest`.
    fn hear(&mut self, events: &mut Events, longest: Duration) -> Result<(), Error> {
        if let Err(error) = self.poll.poll(events, Some(longest))
            && error.kind() != std::io::ErrorKind::Interrupted
        {
            return Err(failed(error));
        }
        for event in events.iter() {
            self.handle(event)?;
        }
        Ok(())
    }

    fn handle(&mut self, event: &Event) -> Result<(), Error> {
        let Token(number) = event.token();
        let connection = &mut self.connections[number];
        if event.is_writable()
            && let Err(why) = connection.write(&self.target.requests)
        {
            return self.fail(number, why);
        }
        if !event.is_readable() && !event.is_error() {
            return Ok(());
        }
        match connection.read(&mut self.buffer) {
            Ok(Outcome::Nothing) => Ok(()),
            Ok(Outcome::Answered(sent, answer)) => self.answer(number, &sent, &answer),
            Ok(Outcome::Closed) => self.reconnect(number),
            Err(why) => self.fail(number, why),
        }
    }

    fn answer(&mut self, number: usize, sent: &Sent, answer: &Answer) -> Result<(), Error> {
        if sent.due >= self.counted {
            let took = sent.due.elapsed();
            self.tally.answer(answer.status, answer.bytes, took);
        }
        if answer.closes {
            self.reconnect(number)?;
        }
        self.idle.push_back(number);
        Ok(())
    }

    /// Counts the request of a connection as failed, and connects anew.
    fn fail(&mut self, number: usize, why: String) -> Result<(), Error> {
        self.tally.fault(why);
        self.reconnect(number)?;
        self.idle.push_back(number);
        Ok(())
    }

    fn reconnect(&mut self, number: usize) -> Result<(), Error> {
        self.connections[number] = self.connect(number)?;
        Ok(())
    }

    /// Counts all requests without an answer.
    fn give_up(mut self, unsent: u64) -> Tally {
        let busy = self.connections.len() - self.idle.len();
        for (why, count) in [("no answer", busy as u64), ("not sent", unsent)] {
            if count > 0 {
                self.tally.faults.insert(why.to_owned(), count);
            }
        }
        self.tally
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::Limit(format!(
        "the server cannot be reached: {error}; is it running?"
    ))
}
