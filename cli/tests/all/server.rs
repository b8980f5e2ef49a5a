//! A server whose indexes clients change, in a process of its own.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, Command, Stdio};

use crate::folder::Folder;

/// A server of the folders `out/data` and `out/kept`; it is killed when dropped.
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
    /// Starts `command`, which ends in the name of the program, with further options.
    pub fn start(mut command: Command, folder: &Folder, options: &[&str]) -> Self {
        let args = "serve --data out/data --snapshots out/kept --write --listen 127.0.0.1:0";
        command.args(args.split(' ')).args(options);
        command.current_dir(folder.0.path());
        command.stdin(Stdio::null()).stderr(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut url).unwrap();
        let address = url.trim_end().trim_end_matches('/');
        let address = address.trim_start_matches("http://").to_owned();
        Server { child, address }
    }

    pub fn connect(&self) -> io::Result<Connection> {
        TcpStream::connect(&self.address).map(|stream| Connection(BufReader::new(stream)))
    }
}

/// A connection to a server.
pub struct Connection(BufReader<TcpStream>);

impl Connection {
    /// Sends a request and reads the answer: its status and its body.
    pub fn send(&mut self, method: &str, path: &str, body: &str) -> io::Result<(u16, String)> {
        let kind = "Content-Type: application/json";
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\n{kind}\r\nContent-Length: {length}\r\n\r\n"
        );
        self.write((head + body).as_bytes())?;
        self.read()
    }

    /// Sends bytes as they are.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.get_mut().write_all(bytes)
    }

    /// Reads an answer: its status and its body.
    pub fn read(&mut self) -> io::Result<(u16, String)> {
        let (mut status, mut length, mut line) = (0, 0, String::new());
        loop {
            line.clear();
            if self.0.read_line(&mut line)? == 0 {
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
        let mut body = vec![0; length];
        self.0.read_exact(&mut body)?;
        Ok((status, String::from_utf8(body).unwrap()))
    }

    pub fn close(&self) {
        // The server may have closed it.
        let _ = self.0.get_ref().shutdown(Shutdown::Both);
    }
}
