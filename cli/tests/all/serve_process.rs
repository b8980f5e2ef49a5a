//! A server as a process of its own, and a small client.
#![cfg(unix)]

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use crate::folder::{Folder, TOKAPI};

/// A server; it is killed when dropped.
pub struct Server {
    pub child: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// A server with changes, whose indexes lie in `out/data`.
    pub fn start(folder: &Folder, options: &[&str]) -> Self {
        let mut command = Command::new(TOKAPI);
        command.args([
            "serve",
            "--data",
            "out/data",
            "--write",
            "--listen",
            "127.0.0.1:0",
        ]);
        command.args(options);
        command.current_dir(folder.0.path()).stdin(Stdio::null());
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut url = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut url).unwrap();
        let address = url
            .trim_end()
            .trim_end_matches('/')
            .trim_start_matches("http://");
        Server {
            child,
            address: address.to_owned(),
        }
    }

    pub fn connect(&self) -> io::Result<BufReader<TcpStream>> {
        TcpStream::connect(&self.address).map(BufReader::new)
    }
}

/// Sends a request and reads the answer: its status.
pub fn send(
    stream: &mut BufReader<TcpStream>,
    method: &str,
    path: &str,
    body: &str,
) -> io::Result<u16> {
    let kind = "Content-Type: application/json";
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\n{kind}\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.get_mut().write_all((head + body).as_bytes())?;
    read(stream)
}

/// Reads an answer: its status.
pub fn read(stream: &mut BufReader<TcpStream>) -> io::Result<u16> {
    let (mut status, mut length, mut line) = (0, 0, String::new());
    loop {
        line.clear();
        if stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let lower = line.trim_end().to_lowercase();
        if let Some(rest) = lower.strip_prefix("http/1.1 ") {
            status = rest[..3].parse().unwrap();
        } else if let Some(bytes) = lower.strip_prefix("content-length: ") {
            length = bytes.parse().unwrap();
        } else if lower.is_empty() {
            break;
        }
    }
    stream.read_exact(&mut vec![0; length])?;
    Ok(status)
}
