//! A server that is killed while clients change an index, read it, and take and restore snapshots: all that was
//! acknowledged is there, and nothing is torn.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use tokapi::Index;

use crate::folder::{Folder, Random, TOKAPI, rounds};
use crate::server::Server;

/// Kills, each after a random number of acknowledged changes.
const KILLS: u64 = 6;
const WRITERS: u64 = 3;

/// The versions of documents; none for a deleted one.
type Versions = BTreeMap<String, Option<u64>>;

/// A writer of its own documents: what was acknowledged, and the last change, which may have happened.
#[derive(Default)]
struct Writer {
    acknowledged: Versions,
    last: Option<(String, Option<u64>)>,
    next: u64,
}

impl Writer {
    /// Changes documents until the server is gone.
    fn run(&mut self, writer: u64, server: &Server, count: &AtomicU64, random: &mut Random) {
        let Ok(mut stream) = server.connect() else {
            return;
        };
        loop {
            let id = format!("w{writer}-{}", random.below(40));
            let path = format!("/v1/indexes/books/documents/{id}");
            let there = self.acknowledged.get(&id).copied().flatten();
            let next = match there.is_some() && random.below(4) == 0 {
                true => None,
                false => Some(self.next),
            };
            self.next += 1;
            self.last = Some((id.clone(), next));
            let sent = match next {
                Some(version) => {
                    let body = format!(
                        "{{\"text\": \"all v{version}\", \"fields\": {{\"version\": {version}}}}}"
                    );
                    stream.send("PUT", &path, &body)
                }
                None => stream.send("DELETE", &path, ""),
            };
            match sent {
                Ok((status, body)) => assert_eq!(status, 200, "{id}: {body}"),
                Err(_) => return,
            }
            self.acknowledged.insert(id, next);
            self.last = None;
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Compares the index with the changes, and takes over whether the last one has happened.
    fn check(&mut self, index: &Index) {
        let found = |id: &str| {
            let document = index.find(id).unwrap()?;
            let stored = index.document(document).unwrap();
            let version = stored.fields[0].1[0].text.parse().unwrap();
            assert_eq!(stored.text, Some(format!("all v{version}")));
            Some(version)
        };
        if let Some((id, next)) = self.last.take() {
            let now: Option<u64> = found(&id);
            let before = self.acknowledged.get(&id).copied().flatten();
            assert!(
                now == next || now == before,
                "{id}: {now:?}, not {before:?} or {next:?}"
            );
            self.acknowledged.insert(id, now);
        }
        for (id, version) in &self.acknowledged {
            assert_eq!(found(id), *version, "{id}");
        }
    }
}

/// Takes snapshots and restores them until the server is gone. Gives the paths of what was acknowledged.
fn keep(server: &Server, round: u64) -> Vec<String> {
    let mut kept = Vec::new();
    let Ok(mut stream) = server.connect() else {
        return kept;
    };
    for number in 0.. {
        let name = format!("r{round}-{number}");
        let path = format!("/v1/snapshots/{name}");
        let requests = [
            (
                "PUT",
                path.clone(),
                "{\"index\": \"books\"}".to_owned(),
                format!("out/kept/{name}/books"),
            ),
            (
                "POST",
                path + "/restore",
                format!("{{\"index\": \"{name}\"}}"),
                format!("out/data/{name}"),
            ),
        ];
        for (method, path, body, folder) in requests {
            match stream.send(method, &path, &body) {
                Ok((status, body)) => assert_eq!(status, 200, "{name}: {body}"),
                Err(_) => return kept,
            }
            kept.push(folder);
        }
    }
    kept
}

/// All indexes below a folder are whole, but for those that have no name yet.
fn check_all(folder: &Folder, place: &str, inside: &str) {
    for name in folder.names(place) {
        if !name.starts_with('.') {
            let index = folder.path(&format!("{place}/{name}/{inside}"));
            Index::open(index).unwrap().check().unwrap();
        }
    }
}

#[test]
fn nothing_that_was_acknowledged_is_lost() {
    let folder = Folder::new();
    let mut random = Random(11);
    let mut writers: Vec<Writer> = (0..WRITERS).map(|_| Writer::default()).collect();
    for round in 0..rounds(KILLS) {
        let mut server = Server::start(Command::new(TOKAPI), &folder, &[]);
        if round == 0 {
            let mut stream = server.connect().unwrap();
            let body = "{\"fields\": [\"version\"]}";
            let created = stream.send("PUT", "/v1/indexes/books", body).unwrap();
            assert_eq!(created.0, 200, "{}", created.1);
        }
        let (count, most) = (AtomicU64::new(0), 1 + random.below(120));
        let seeds: Vec<u64> = (0..WRITERS).map(|_| random.below(1 << 40) | 1).collect();
        let kept = std::thread::scope(|scope| {
            for ((number, writer), seed) in (0..).zip(&mut writers).zip(seeds) {
                let (server, count) = (&server, &count);
                scope.spawn(move || writer.run(number, server, count, &mut Random(seed)));
            }
            let keeper = scope.spawn(|| keep(&server, round));
            let mut reader = server.connect().unwrap();
            let search = "/v1/indexes/books/search?q=all&count=true";
            while count.load(Ordering::Relaxed) < most {
                assert_eq!(reader.send("GET", search, "").unwrap().0, 200);
            }
            let id = i32::try_from(server.child.id()).unwrap();
            let id = nix::unistd::Pid::from_raw(id);
            nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGKILL).unwrap();
            keeper.join().unwrap()
        });
        server.child.wait().unwrap();
        let index = Index::open(folder.path("out/data/books")).unwrap();
        index.check().unwrap();
        for path in kept {
            assert!(folder.path(&path).exists(), "{path}");
        }
        check_all(&folder, "out/data", "");
        check_all(&folder, "out/kept", "books");
        for writer in &mut writers {
            writer.check(&index);
        }
        let live = writers
            .iter()
            .flat_map(|writer| writer.acknowledged.values());
        let live = live.filter(|version| version.is_some()).count();
        assert_eq!(index.statistics().documents, live as u64);
    }
}
