//! Encrypted connections, with a client of another implementation's rules: rustls checks names and chains.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::json;
use tempfile::TempDir;
use tokapi_serve::options::TlsSettings;
use tokapi_serve::{Options, check};

use crate::client::Client;
use crate::fixture::Fixture;

const SEARCH: &str = "/v1/indexes/full/search";

/// A certificate of this machine, with its key.
pub struct Pair {
    certificate: CertificateDer<'static>,
    pub certificate_pem: String,
    key_pem: String,
}

impl Pair {
    pub fn new() -> Self {
        let names = ["localhost", "127.0.0.1"].map(str::to_owned);
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        Pair {
            certificate: made.cert.der().clone(),
            certificate_pem: made.cert.pem(),
            key_pem: made.signing_key.serialize_pem(),
        }
    }
}

/// The two files of a certificate.
pub struct Files(TempDir);

impl Files {
    pub fn of(pair: &Pair) -> Self {
        let files = Files(tempfile::tempdir().unwrap());
        files.put(pair);
        files
    }

    fn put(&self, pair: &Pair) {
        std::fs::write(self.certificate(), &pair.certificate_pem).unwrap();
        std::fs::write(self.key(), &pair.key_pem).unwrap();
    }

    fn certificate(&self) -> PathBuf {
        self.0.path().join("server.pem")
    }

    fn key(&self) -> PathBuf {
        self.0.path().join("server.key")
    }

    pub fn set(&self, tls: &mut TlsSettings) {
        tls.certificate = Some(self.certificate());
        tls.key = Some(self.key());
    }
}

/// A handshake with a server that must have this certificate.
fn connect(
    address: SocketAddr,
    trusted: &Pair,
) -> std::io::Result<StreamOwned<ClientConnection, TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.certificate.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let client = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = StreamOwned::new(client, TcpStream::connect(address)?);
    stream.conn.complete_io(&mut stream.sock)?;
    Ok(stream)
}

fn client(fixture: &Fixture, trusted: &Pair) -> Client {
    Client::over(connect(fixture.server().address(), trusted).unwrap())
}

#[test]
fn searches_and_the_page_over_tls() {
    let pair = Pair::new();
    let files = Files::of(&pair);
    let fixture = Fixture::with(|options| files.set(&mut options.tls));
    let url = fixture.server().url();
    assert_eq!(
        url,
        format!("https://{}/", fixture.server().address()),
        "{url}"
    );
    let body = json!({ "query": "boundary layer", "k": 3 });
    let plain = Fixture::new().client().post(SEARCH, &body).json();
    let mut client = client(&fixture, &pair);
    let answer = client.post(SEARCH, &body).json();
    assert_eq!(answer["hits"], plain["hits"]);
    assert!(client.get("/app.js").text().contains("import"));
    // As its page asks, and as one of another site or without encryption would.
    for (origin, status) in [
        ("https://localhost", 200),
        ("http://localhost", 403),
        ("https://evil.example", 403),
    ] {
        let headers = [("content-type", "application/json"), ("origin", origin)];
        let answer = client.send_with("POST", SEARCH, &headers, b"{}");
        assert_eq!(answer.status, status, "{origin}");
    }
}

#[test]
fn a_client_that_does_not_trust_the_certificate_is_not_answered() {
    let files = Files::of(&Pair::new());
    let fixture = Fixture::with(|options| files.set(&mut options.tls));
    let error = connect(fixture.server().address(), &Pair::new()).unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
}

#[test]
fn requests_without_tls_are_told() {
    let pair = Pair::new();
    let files = Files::of(&pair);
    let fixture = Fixture::with(|options| files.set(&mut options.tls));
    let mut plain = fixture.client();
    let detail = plain.get("/live").problem(400, "invalid-request");
    assert!(detail.contains("https://"), "{detail}");
    assert!(plain.read().is_none());
    // A body is not read, and nothing is done.
    let mut plain = fixture.client();
    plain
        .post(SEARCH, &json!({ "query": "flow" }))
        .problem(400, "invalid-request");
    assert_eq!(client(&fixture, &pair).get("/live").status, 200);
}

/// Connects until the server has the certificate: it looks at its files at intervals.
fn until_current(address: SocketAddr, pair: &Pair) {
    for _ in 0..3000 {
        if connect(address, pair).is_ok() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the server has no new certificate");
}

#[test]
fn a_new_certificate_is_used_without_a_restart() {
    let [first, second] = [Pair::new(), Pair::new()];
    let files = Files::of(&first);
    let fixture = Fixture::with(|options| {
        files.set(&mut options.tls);
        options.tls.reload_ms = 5;
    });
    let address = fixture.server().address();
    let mut old = client(&fixture, &first);
    files.put(&second);
    until_current(address, &second);
    assert!(connect(address, &first).is_err());
    // A connection keeps its certificate.
    assert_eq!(old.get("/live").status, 200);
    // Files that become good one after the other.
    std::fs::write(files.certificate(), &first.certificate_pem).unwrap();
    std::fs::write(files.key(), &first.key_pem).unwrap();
    until_current(address, &first);
}

#[test]
fn a_broken_new_file_keeps_the_old_certificate() {
    let [first, second] = [Pair::new(), Pair::new()];
    let files = Files::of(&first);
    let fixture = Fixture::with(|options| {
        files.set(&mut options.tls);
        // Only when it is asked to.
        options.tls.reload_ms = 3_600_000;
    });
    let address = fixture.server().address();
    let certificate = fixture.server().certificate().unwrap();
    let breaks: [&dyn Fn(); 4] = [
        &|| std::fs::write(files.certificate(), "nothing").unwrap(),
        &|| std::fs::write(files.certificate(), &second.certificate_pem).unwrap(),
        &|| std::fs::write(files.key(), "").unwrap(),
        &|| std::fs::remove_file(files.key()).unwrap(),
    ];
    for change in breaks {
        change();
        certificate.reload();
        assert!(connect(address, &first).is_ok());
        certificate.reload();
        assert!(connect(address, &first).is_ok());
    }
    files.put(&second);
    certificate.reload();
    assert!(connect(address, &second).is_ok());
}

/// The error of settings with two files.
fn wrong(certificate: Option<&Path>, key: Option<&Path>) -> String {
    let mut options = Options::default();
    options.tls.certificate = certificate.map(Path::to_path_buf);
    options.tls.key = key.map(Path::to_path_buf);
    let error = check(&options).unwrap_err().to_string();
    assert!(!error.contains('\n'), "{error}");
    error
}

#[test]
fn wrong_files_are_told_in_one_line() {
    let [first, second] = [Pair::new(), Pair::new()];
    let (files, others) = (Files::of(&first), Files::of(&second));
    let (certificate, key) = (files.certificate(), files.key());
    let mut options = Options::default();
    files.set(&mut options.tls);
    check(&options).unwrap();
    let error = wrong(Some(&certificate), None);
    assert!(error.contains("without tls.key"), "{error}");
    let error = wrong(None, Some(&key));
    assert!(error.contains("without tls.certificate"), "{error}");
    let error = wrong(Some(&certificate), Some(&files.0.path().join("nothing")));
    assert!(error.contains("nothing"), "{error}");
    let error = wrong(Some(&certificate), Some(&others.key()));
    assert!(error.contains("does not belong"), "{error}");
    // The two files in each other's place.
    let error = wrong(Some(&key), Some(&key));
    assert!(
        error.starts_with("tls.certificate: ") && error.contains("no certificate"),
        "{error}"
    );
    let error = wrong(Some(&certificate), Some(&certificate));
    assert!(
        error.starts_with("tls.key: ") && error.contains("no private key"),
        "{error}"
    );
    for (text, part) in [
        ("not PEM at all", "no certificate"),
        ("", "no certificate"),
        (
            "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n",
            "no valid PEM",
        ),
        (
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "cannot be used",
        ),
    ] {
        std::fs::write(others.certificate(), text).unwrap();
        let error = wrong(Some(&others.certificate()), Some(&key));
        assert!(
            error.starts_with("tls.certificate: ") && error.contains(part),
            "{text}: {error}"
        );
    }
    let short = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    std::fs::write(others.key(), short).unwrap();
    let error = wrong(Some(&certificate), Some(&others.key()));
    assert!(error.contains("cannot be used"), "{error}");
}

/// The beginnings of handshakes that never end, and of other protocols.
fn broken() -> [&'static [u8]; 4] {
    [
        b"",
        // A record of 512 bytes, of which most do not come.
        &[0x16, 3, 1, 2, 0, 1],
        // A record that is no handshake.
        &[0x16, 3, 1, 0, 4, 9, 9, 9, 9],
        &[0, 0, 0],
    ]
}

#[test]
fn slow_and_broken_handshakes_delay_nobody() {
    let pair = Pair::new();
    let files = Files::of(&pair);
    let fixture = Fixture::with(|options| files.set(&mut options.tls));
    let address = fixture.server().address();
    let mut open = Vec::new();
    for _ in 0..8 {
        for bytes in broken() {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(bytes).unwrap();
            open.push(stream);
        }
    }
    assert_eq!(client(&fixture, &pair).get("/live").status, 200);
    drop(open);
}

#[test]
fn handshakes_have_a_time_limit_and_count_as_connections() {
    let pair = Pair::new();
    let files = Files::of(&pair);
    let fixture = Fixture::with(|options| {
        files.set(&mut options.tls);
        options.limits.read_ms = 500;
        options.limits.connections = 2;
    });
    let address = fixture.server().address();
    let slow = [b"" as &[u8], &[0x16, 3, 1, 2, 0, 1]].map(|bytes| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(bytes).unwrap();
        stream
    });
    // It waits until both have been let go.
    let metrics = client(&fixture, &pair).get("/metrics");
    let line = "tokapi_tls_handshakes_failed_total 2";
    assert!(
        metrics.text().lines().any(|found| found == line),
        "{}",
        metrics.text()
    );
    for mut stream in slow {
        // The end of the connection, or its reset.
        let _ = stream.read_to_end(&mut Vec::new());
    }
}
