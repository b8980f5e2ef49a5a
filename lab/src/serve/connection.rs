//! A connection that is kept: one request after the other.

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::Instant;

use mio::net::TcpStream;
use mio::{Interest, Registry, Token};

use super::answer::{self, Answer};

/// A request under way.
pub struct Sent {
    /// The moment from which its time runs.
    pub due: Instant,
    /// The number of its query.
    query: usize,
    /// The bytes that are written.
    written: usize,
}

/// The state of a connection after bytes were read.
pub enum Outcome {
    /// Nothing new for the caller.
    Nothing,
    /// The server has closed the connection, and no request was under way.
    Closed,
    /// The answer to the request.
    Answered(Sent, Answer),
}

/// A connection that is kept.
pub struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
    sent: Option<Sent>,
}

impl Connection {
    /// Connects, and is told of by events with `token`.
    pub fn new(address: SocketAddr, registry: &Registry, token: Token) -> std::io::Result<Self> {
        let stream = std::net::TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let mut stream = TcpStream::from_std(stream);
        registry.register(&mut stream, token, Interest::READABLE | Interest::WRITABLE)?;
        Ok(Connection {
            stream,
            received: Vec::new(),
            sent: None,
        })
    }

    /// Sends the request of a query.
    pub fn send(&mut self, requests: &[Vec<u8>], query: usize, due: Instant) -> Result<(), String> {
        self.sent = Some(Sent {
            due,
            query,
            written: 0,
        });
        self.write(requests)
    }

    /// Writes more of the request.
    pub fn write(&mut self, requests: &[Vec<u8>]) -> Result<(), String> {
        let Some(sent) = &mut self.sent else {
            return Ok(());
        };
        let request = &requests[sent.query];
        while sent.written < request.len() {
            match self.stream.write(&request[sent.written..]) {
                Ok(count) => sent.written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(format!("writing: {}", error.kind())),
            }
        }
        Ok(())
    }

    /// Reads all that has arrived.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<Outcome, String> {
        let mut is_end = false;
        loop {
            match self.stream.read(buffer) {
                Ok(0) => is_end = true,
                Ok(count) => {
                    self.received.extend_from_slice(&buffer[..count]);
                    if count == buffer.len() {
                        continue;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(format!("reading: {}", error.kind())),
            }
            break;
        }
        let parsed = match self.received.is_empty() {
            true => None,
            false => answer::parse(&self.received, is_end)?,
        };
        match (parsed, self.sent.take()) {
            (Some(answer), Some(sent)) if answer.bytes == self.received.len() => {
                self.received.clear();
                Ok(Outcome::Answered(sent, answer))
            }
            (Some(_), _) => Err("the server has sent more than an answer".into()),
            (None, Some(_)) if is_end => {
                Err("the server closed the connection before the answer".into())
            }
            (None, None) if is_end => Ok(Outcome::Closed),
            (None, sent) => {
                self.sent = sent;
                Ok(Outcome::Nothing)
            }
        }
    }
}
