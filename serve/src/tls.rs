//! TLS: the certificate of the server, read again when its files change.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest, Sha256};
use tokapi::{Error, Result};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::options::TlsSettings;

/// The protocols that clients may choose from, the best first.
#[cfg(not(feature = "grpc"))]
const PROTOCOLS: [&[u8]; 1] = [b"http/1.1"];
/// The protocols that clients may choose from, the best first.
#[cfg(feature = "grpc")]
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// The first byte of a TLS connection: a record of its handshake.
const HANDSHAKE: u8 = 0x16;

/// The certificate that new connections get.
pub struct Certificate {
    files: Files,
    /// The time between two looks at the files.
    pub every: Duration,
    current: RwLock<TlsAcceptor>,
    /// The contents that were read last, whether they were good or not.
    last: Mutex<[u8; 32]>,
}

/// The files of a certificate.
#[derive(Debug, Clone)]
struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

/// The contents of the files.
struct Contents {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

/// A connection whose first bytes have come.
pub enum Begun {
    /// Its handshake has succeeded.
    Tls(Box<TlsStream<TcpStream>>),
    /// The client does not speak TLS; nothing was read.
    Plain(TcpStream),
}

impl Certificate {
    /// The certificate of the settings; none if they have none.
    ///
    /// # Errors
    /// Only one of the two files is given; one cannot be read, or is not PEM; they do not belong together.
    pub fn of(settings: &TlsSettings) -> Result<Option<Arc<Self>>> {
        let files = match (&settings.certificate, &settings.key) {
            (None, None) => return Ok(None),
            (Some(certificate), Some(key)) => Files {
                certificate: certificate.clone(),
                key: key.clone(),
            },
            (certificate, _) => {
                let (given, missing) = match certificate {
                    Some(_) => ("certificate", "key"),
                    None => ("key", "certificate"),
                };
                return Err(Error::Usage(format!(
                    "tls.{given} is given without tls.{missing}: give both files"
                )));
            }
        };
        let contents = files.read()?;
        Ok(Some(Arc::new(Certificate {
            current: RwLock::new(files.acceptor(&contents)?),
            last: Mutex::new(contents.hash()),
            every: Duration::from_millis(settings.reload_ms.max(1)),
            files,
        })))
    }

    /// Reads the files again. If they have changed, new connections get the new certificate; if it is no good, they keep
    /// the old one, and the log has the reason, once.
    pub fn reload(&self) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let read = self.files.read();
        // A file that is missing for a moment has contents of its own.
        let hash = read.as_ref().map_or([0; 32], Contents::hash);
        if *last == hash {
            return;
        }
        *last = hash;
        match read.and_then(|contents| self.files.acceptor(&contents)) {
            Ok(acceptor) => {
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = acceptor;
                tracing::info!("the certificate was read again: new connections get it");
            }
            Err(error) => {
                tracing::error!(%error, "the new certificate is not used: the old one stays");
            }
        }
    }

    /// Does the handshake of a connection.
    ///
    /// # Errors
    /// The client breaks it off, or wants something that this server does not have.
    pub async fn begin(&self, stream: TcpStream) -> std::io::Result<Begun> {
        let mut first = [0];
        let has_first = stream.peek(&mut first).await? == 1;
        if has_first && first[0] != HANDSHAKE {
            return Ok(Begun::Plain(stream));
        }
        let acceptor = self
            .current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let stream = acceptor.accept(stream).await?;
        Ok(Begun::Tls(Box::new(stream)))
    }

    /// Warns if users of this machine other than the owner and the group of the key can read it.
    pub fn warn_if_key_is_open(&self) {
        let path = &self.files.key;
        if is_open(path) {
            let key = path.display();
            tracing::warn!(%key, "every user of this machine can read the private key: chmod o-rwx");
        }
    }
}

impl Files {
    fn read(&self) -> Result<Contents> {
        let read = |path: &Path| {
            std::fs::read(path).map_err(|source| Error::Read {
                path: path.to_path_buf(),
                source,
            })
        };
        Ok(Contents {
            certificate: read(&self.certificate)?,
            key: read(&self.key)?,
        })
    }

    fn acceptor(&self, contents: &Contents) -> Result<TlsAcceptor> {
        let wrong = |setting: &str, path: &Path, what: &str| {
            Error::Usage(format!("tls.{setting}: {}: {what}", path.display()))
        };
        let certificate = |what: &str| wrong("certificate", &self.certificate, what);
        let key = |what: &str| wrong("key", &self.key, what);
        let chain = CertificateDer::pem_slice_iter(&contents.certificate);
        let chain: Vec<_> = chain
            .collect::<Result<_, _>>()
            .map_err(|error| certificate(&format!("the file is no valid PEM: {error}")))?;
        if chain.is_empty() {
            return Err(certificate(
                "the file has no certificate: give one in PEM, with those of its issuers behind it",
            ));
        }
        let private =
            PrivateKeyDer::from_pem_slice(&contents.key).map_err(|error| match error {
                pem::Error::NoItemsFound => {
                    key("the file has no private key: give one in PEM, without a password")
                }
                error => key(&format!("the file is no valid PEM: {error}")),
            })?;
        let provider = Arc::new(ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::Limit(format!("cannot start TLS: {error}")))?
            .with_no_client_auth()
            .with_single_cert(chain, private);
        let mut config = config.map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => key(&format!(
                "the key does not belong to the certificate {}: give the one that it was made with",
                self.certificate.display()
            )),
            rustls::Error::InvalidCertificate(error) => {
                certificate(&format!("the certificate cannot be used: {error}"))
            }
            error => key(&format!("the key cannot be used: {error}")),
        })?;
        config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).into();
        Ok(Arc::new(config).into())
    }
}

impl Contents {
    fn hash(&self) -> [u8; 32] {
        let length = (self.certificate.len() as u64).to_le_bytes();
        let hash = Sha256::new()
            .chain_update(length)
            .chain_update(&self.certificate)
            .chain_update(&self.key);
        hash.finalize().into()
    }
}

#[cfg(unix)]
fn is_open(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o007 != 0)
}

#[cfg(not(unix))]
fn is_open(_: &Path) -> bool {
    false
}
