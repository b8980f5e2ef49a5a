//! A server whose disk is full: changes are refused by name, searches go on, nothing is torn, and changes go on when
//! there is room again.
//!
//! The disk is full because files may not grow beyond a limit (RLIMIT_FSIZE), which is set from outside. On a small disk,
//! which `cli/tests/full-disk` makes, a file takes the room.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use tokapi::Index;

use crate::folder::{Folder, Random, TOKAPI, rounds};
use crate::server::{Connection, Server};

const ROUNDS: u64 = 24;

/// The room for files.
enum Disk {
    /// The limit of each file of a process.
    Limit(u32),
    /// A file on the disk, which takes the rest of it.
    Filler(PathBuf),
}

impl Disk {
    /// Leaves this number of bytes: for each file, or for all.
    fn leave(&self, bytes: u64) {
        match self {
            Disk::Limit(id) => limit(*id, &bytes.to_string()),
            Disk::Filler(path) => {
                let mut filler = fs::File::create(path).unwrap();
                let zeros = [0; 1 << 16];
                while filler.write_all(&zeros).is_ok() {}
                while filler.write_all(&zeros[..512]).is_ok() {}
                let length = filler.metadata().unwrap().len();
                filler.set_len(length.saturating_sub(bytes)).unwrap();
            }
        }
    }

    fn free(&self) {
        match self {
            Disk::Limit(id) => limit(*id, "unlimited"),
            Disk::Filler(path) => fs::remove_file(path).unwrap(),
        }
    }
}

fn limit(id: u32, bytes: &str) {
    let mut command = Command::new("prlimit");
    command.args([
        "--pid",
        &id.to_string(),
        &format!("--fsize={bytes}:unlimited"),
    ]);
    assert!(command.status().unwrap().success());
}

/// A client that knows what was acknowledged.
struct Client {
    connection: Connection,
    /// The versions of documents.
    versions: BTreeMap<String, u64>,
    next: u64,
    refused: u64,
}

impl Client {
    /// Sends a request; whether it was acknowledged, and not refused for lack of room.
    fn is_done(&mut self, method: &str, path: &str, body: &Value) -> bool {
        let (status, text) = self
            .connection
            .send(method, path, &body.to_string())
            .unwrap();
        if status != 507 {
            assert_eq!(status, 200, "{method} {path}: {text}");
            return true;
        }
        let problem: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(problem["type"], "urn:tokapi:problem:storage-full", "{text}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(
            detail.contains("free space") && !detail.contains("out/"),
            "{detail}"
        );
        self.refused += 1;
        false
    }

    /// Changes something at random; whether that was acknowledged.
    fn change(&mut self, random: &mut Random) -> bool {
        let version = self.next;
        self.next += 1;
        let id = format!("d{}", random.below(60));
        let document = format!("/v1/indexes/books/documents/{id}");
        match random.below(10) {
            0 if self.versions.contains_key(&id) => {
                let is_done = self.is_done("DELETE", &document, &Value::Null);
                if is_done {
                    self.versions.remove(&id);
                }
                is_done
            }
            1 => self.is_done("POST", "/v1/indexes/books/merge", &Value::Null),
            2 => self.is_done("PUT", &format!("/v1/indexes/new{version}"), &json!({})),
            3 => {
                let path = format!("/v1/snapshots/s{}", version % 3);
                let (status, _) = self.connection.send("DELETE", &path, "").unwrap();
                assert!([200, 404].contains(&status), "{status}");
                self.is_done("PUT", &path, &json!({"index": "books"}))
            }
            kind => {
                let words = [3, 500, 20_000][kind as usize % 3];
                let words = (0..words).map(|_| format!(" w{}", random.below(1 << 40)));
                let text = format!("all v{version}{}", words.collect::<String>());
                let body = json!({"text": text, "fields": {"version": version}});
                let is_done = self.is_done("PUT", &document, &body);
                if is_done {
                    self.versions.insert(id, version);
                }
                is_done
            }
        }
    }

    /// A search finds what was acknowledged.
    fn search(&mut self) {
        let path = "/v1/indexes/books/search?q=all&count=true&k=100&snippets=false";
        let (status, text) = self.connection.send("GET", path, "").unwrap();
        assert_eq!(status, 200, "{text}");
        let answer: Value = serde_json::from_str(&text).unwrap();
        let hits = answer["hits"].as_array().unwrap().iter().map(|hit| {
            let version = hit["fields"]["version"].as_u64().unwrap();
            (hit["id"].as_str().unwrap().to_owned(), version)
        });
        assert_eq!(hits.collect::<BTreeMap<_, _>>(), self.versions);
    }
}

#[test]
fn a_full_disk_refuses_changes_and_nothing_else() {
    let small = std::env::var_os("TOKAPI_SMALL_DISK");
    let folder = match &small {
        Some(disk) => Folder(tempfile::tempdir_in(disk).unwrap()),
        None => Folder(tempfile::tempdir().unwrap()),
    };
    fs::create_dir(folder.path("out")).unwrap();
    // A write beyond the limit is an error, and no signal.
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\"", TOKAPI]);
    let mut server = Server::start(command, &folder, &[]);
    let disk = match small {
        Some(_) => Disk::Filler(folder.path("filler")),
        None => Disk::Limit(server.child.id()),
    };
    let mut client = Client {
        connection: server.connect().unwrap(),
        versions: BTreeMap::new(),
        next: 0,
        refused: 0,
    };
    assert!(client.is_done("PUT", "/v1/indexes/books", &json!({"fields": ["version"]})));
    let mut random = Random(29);
    for round in 0..rounds(ROUNDS) {
        let bytes = [0, 1, 700, 4096, 9000, 40_000, 300_000][random.below(7) as usize];
        disk.leave(bytes);
        for _ in 0..6 {
            client.change(&mut random);
            client.search();
        }
        disk.free();
        let before = client.refused;
        for _ in 0..3 {
            assert!(client.change(&mut random), "round {round}");
        }
        client.search();
        // A merge in the background that has failed is no reason for a merge to fail.
        assert!(client.is_done("POST", "/v1/indexes/books/merge", &Value::Null));
        client.search();
        assert_eq!(client.refused, before);
    }
    assert!(client.refused > 0);
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    let index = Index::open(folder.path("out/data/books")).unwrap();
    assert_eq!(
        index.check().unwrap().documents,
        client.versions.len() as u64
    );
    for place in ["out/data", "out/kept"] {
        for name in folder.names(place) {
            assert!(!name.starts_with('.'), "{name} is left in {place}");
        }
    }
    // Snapshots are whole or not there.
    for name in folder.names("out/kept") {
        let path = folder.path(&format!("out/kept/{name}/books"));
        Index::open(path).unwrap().check().unwrap();
    }
}
