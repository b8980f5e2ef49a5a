//! A small HTTP client: one connection, one request at a time.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;

/// A connection to the server.
pub struct Client {
    stream: BufReader<Box<dyn Stream>>,
}

/// The bytes of a connection, encrypted or not.
pub trait Stream: Read + Write + Send {}

impl<S: Read + Write + Send> Stream for S {}

/// An answer of the server.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        let kind = self.header("content-type").unwrap_or_default();
        assert!(kind.ends_with("json"), "{self:?}");
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// The problem of this status and kind: its detail.
    #[track_caller]
    pub fn problem(&self, status: u16, kind: &str) -> String {
        let problem = self.json();
        assert_eq!(self.status, status, "{problem}");
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json")
        );
        assert_eq!(problem["status"], status, "{problem}");
        assert_eq!(
            problem["type"],
            format!("urn:tokapi:problem:{kind}"),
            "{problem}"
        );
        let detail = problem["detail"].as_str().unwrap();
        assert!(!detail.contains('\n') && !detail.is_empty());
        detail.to_owned()
    }
}

impl Client {
    pub fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        Client::over(stream)
    }

    /// A client over a connection of any kind.
    pub fn over(stream: impl Stream + 'static) -> Self {
        Client {
            stream: BufReader::new(Box::new(stream)),
        }
    }

    pub fn get(&mut self, path: &str) -> Answer {
        self.send(
            &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            b"",
        )
    }

    pub fn put(&mut self, path: &str, body: &Value) -> Answer {
        let kind = [("content-type", "application/json")];
        self.send_with("PUT", path, &kind, body.to_string().as_bytes())
    }

    pub fn delete(&mut self, path: &str) -> Answer {
        self.send_with("DELETE", path, &[], b"")
    }

    pub fn send_with(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n");
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("content-length: {}\r\n\r\n", body.len());
        self.send(&head, body)
    }

    pub fn post(&mut self, path: &str, body: &Value) -> Answer {
        self.post_text(path, "application/json", body.to_string().as_bytes())
    }

    pub fn post_text(&mut self, path: &str, kind: &str, body: &[u8]) -> Answer {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        self.send(&head, body)
    }

    /// Sends a head and a body as they are, and reads the answer.
    pub fn send(&mut self, head: &str, body: &[u8]) -> Answer {
        let stream = self.stream.get_mut();
        stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
        self.read().expect("an answer")
    }

    /// Writes bytes as they are.
    pub fn write(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).unwrap();
    }

    /// Reads an answer; none if the connection has ended.
    pub fn read(&mut self) -> Option<Answer> {
        let mut line = String::new();
        if self.stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let status = line.split(' ').nth(1)?.parse().ok()?;
        let mut headers = Vec::new();
        loop {
            line.clear();
            self.stream.read_line(&mut line).ok()?;
            match line.trim_end().split_once(": ") {
                Some((name, value)) => headers.push((name.to_lowercase(), value.to_owned())),
                None => break,
            }
        }
        let mut answer = Answer {
            status,
            headers,
            body: Vec::new(),
        };
        if answer.header("transfer-encoding") == Some("chunked") {
            loop {
                line.clear();
                self.stream.read_line(&mut line).ok()?;
                let length = usize::from_str_radix(line.trim_end(), 16).ok()?;
                let from = answer.body.len();
                answer.body.resize(from + length, 0);
                self.stream.read_exact(&mut answer.body[from..]).ok()?;
                line.clear();
                self.stream.read_line(&mut line).ok()?;
                if length == 0 {
                    return Some(answer);
                }
            }
        }
        let length: usize = answer
            .header("content-length")
            .map_or(0, |l| l.parse().unwrap());
        answer.body.resize(length, 0);
        self.stream.read_exact(&mut answer.body).ok()?;
        Some(answer)
    }
}

/// A text as a part of a URL.
pub fn encoded(text: &str) -> String {
    let bytes = text.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    });
    bytes.collect()
}
