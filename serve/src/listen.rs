//! The address of a server, and its certificate.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use tokapi::{Error, Result};

use crate::options::Options;
use crate::tls::Certificate;

/// An address that is taken for a server. Clients that connect from now on wait until it runs.
///
/// Settings that are wrong, an address in use and a certificate that is no good are found here, before the work of
/// opening or building indexes.
pub struct Listener {
    /// The socket.
    pub(crate) socket: TcpListener,
    /// The certificate, if connections are encrypted.
    pub(crate) certificate: Option<Arc<Certificate>>,
}

impl Listener {
    /// Takes the address of the settings.
    ///
    /// # Errors
    /// A setting is wrong; the certificate cannot be used; the address cannot be taken.
    pub fn bind(options: &Options) -> Result<Self> {
        options.check()?;
        let certificate = Certificate::of(&options.tls)?;
        let socket = TcpListener::bind(options.listen).map_err(|error| {
            Error::Usage(format!(
                "cannot listen on {}: {error}; choose another address with --listen",
                options.listen
            ))
        })?;
        Ok(Listener {
            socket,
            certificate,
        })
    }

    /// The address.
    ///
    /// # Errors
    /// The system does not tell it.
    pub fn address(&self) -> Result<SocketAddr> {
        let address = self.socket.local_addr();
        address.map_err(|error| Error::Limit(format!("cannot start the server: {error}")))
    }
}
