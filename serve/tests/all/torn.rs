//! Epoch files that are not whole, or damaged: a server goes on from the last state that was committed, or says in one
//! line why it does not. Nothing acknowledged is lost.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::json;
use tokapi::Index;
use tokapi_serve::{Options, Server};

use crate::client::Client;
use crate::random::Random;

fn options(folder: &Path) -> Options {
    let mut options = Options::default();
    options.listen.set_port(0);
    (options.threads, options.drain_delay_ms) = (1, 0);
    options.write = true;
    options.data = Some(folder.join("data"));
    options
}

fn end(server: Server) {
    server.stopper().stop();
    server.wait().unwrap();
}

fn put(client: &mut Client, id: usize) -> u16 {
    let body = json!({"text": format!("all of d{id}"), "fields": {"year": id}});
    let answer = client.put(&format!("/v1/indexes/books/documents/d{id}"), &body);
    if answer.status != 200 {
        answer.problem(409, "conflict");
    }
    answer.status
}

/// A file as a crash or a failing disk may leave it. `next` is a whole manifest of the next epoch.
fn torn(next: &[u8], before: &[u8], round: usize, random: &mut Random) -> Vec<u8> {
    let at = random.below(next.len());
    let mut bytes = next.to_vec();
    match round % 6 {
        // Cut off.
        0 => bytes.truncate(at),
        // Of the right length, and not all of it written.
        1 => bytes[at..].fill(0),
        // Nothing but the length, or nothing at all.
        2 => bytes = vec![0; [0, 1, 4096, next.len()][random.below(4)]],
        // Garbage.
        3 => bytes = (0..at).map(|_| random.below(256) as u8).collect(),
        // Written over a longer file, and cut off there.
        4 => bytes = before[..at.min(before.len() - 1)].to_vec(),
        // The line of the checksum is not whole.
        _ => bytes.truncate(next.len() - 1 - random.below(14)),
    }
    bytes
}

/// The manifest of the newest epoch of an index, and the path of the next one.
fn manifests(path: &Path) -> (Vec<u8>, PathBuf) {
    let epoch = Index::open(path).unwrap().epoch();
    let of = |epoch: u64| path.join(format!("epoch-{epoch}.json"));
    (fs::read(of(epoch)).unwrap(), of(epoch + 1))
}

#[test]
fn torn_epoch_files_are_survived_by_restarts_and_by_a_running_server() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data/books");
    let mut random = Random(77);
    let mut acknowledged = BTreeSet::new();
    let mut server = Server::start(&options(folder.path())).unwrap();
    let mut client = Client::new(server.address());
    assert_eq!(
        client
            .put("/v1/indexes/books", &json!({"fields": ["year"]}))
            .status,
        200
    );
    for round in 0..120 {
        // A manifest of the next epoch, as another server would have written it.
        let (before, next) = manifests(&path);
        let name = next.file_name().unwrap().to_str().unwrap();
        let text = String::from_utf8(before.clone()).unwrap();
        let epoch = Index::open(&path).unwrap().epoch();
        let text = text.replace(
            &format!("\"epoch\":{epoch}"),
            &format!("\"epoch\":{}", epoch + 1),
        );
        let bytes = torn(text.as_bytes(), &before, round, &mut random);
        match round % 2 {
            // It is there when the server starts.
            0 => {
                drop(client);
                end(server);
                fs::write(&next, &bytes).unwrap();
                server = Server::start(&options(folder.path())).unwrap();
                client = Client::new(server.address());
            }
            // It appears while the server runs: the change that takes its name is refused, and the next one is not.
            _ => {
                assert_eq!(put(&mut client, 1000), 200, "the writer is open");
                acknowledged.insert(1000);
                // A merge in the background may take the name first.
                while fs::File::create_new(manifests(&path).1)
                    .and_then(|mut file| file.write_all(&bytes))
                    .is_err()
                {}
                assert_eq!(
                    put(&mut client, round),
                    409,
                    "{name}: {} bytes",
                    bytes.len()
                );
            }
        }
        let found = client
            .get("/v1/indexes/books/search?q=all&count=true")
            .json();
        assert_eq!(found["count"], acknowledged.len(), "{name}");
        assert_eq!(put(&mut client, round), 200, "{name}");
        acknowledged.insert(round);
        for id in &acknowledged {
            let document = client.get(&format!("/v1/indexes/books/documents/d{id}"));
            assert_eq!(document.status, 200, "d{id} after {name}");
        }
    }
    drop(client);
    end(server);
    let index = Index::open(&path).unwrap();
    assert_eq!(index.check().unwrap().documents, acknowledged.len() as u64);
}

/// A bit of an epoch file that was committed has changed: no earlier state is taken for it.
#[test]
fn a_damaged_epoch_file_is_told_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data/books");
    let server = Server::start(&options(folder.path())).unwrap();
    let mut client = Client::new(server.address());
    assert_eq!(
        client
            .put("/v1/indexes/books", &json!({"fields": ["year"]}))
            .status,
        200
    );
    assert_eq!(put(&mut client, 1), 200);
    // It stays as long as it is read.
    let before = Index::open(&path).unwrap();
    assert_eq!(put(&mut client, 2), 200);
    drop(client);
    end(server);
    let (whole, _) = manifests(&path);
    let file = path.join(format!("epoch-{}.json", before.epoch() + 1));
    let mut random = Random(5);
    for _ in 0..100 {
        let mut bytes = whole.clone();
        let at = random.below(bytes.len() - 15);
        bytes[at] ^= 1 << random.below(8);
        if bytes[at] == b'\n' || whole[at] == b'\n' {
            continue;
        }
        fs::write(&file, &bytes).unwrap();
        let error = Server::start(&options(folder.path()))
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains("epoch-") && !error.contains('\n'), "{error}");
    }
    fs::write(&file, &whole).unwrap();
    assert!(path.join(format!("epoch-{}.json", before.epoch())).exists());
    let server = Server::start(&options(folder.path())).unwrap();
    let found = Client::new(server.address()).get("/v1/indexes/books/search?q=all&count=true");
    assert_eq!(found.json()["count"], 2);
    end(server);
}
