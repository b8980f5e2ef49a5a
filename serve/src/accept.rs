//! Connections: accepted, served, and ended in good order.

use std::sync::Arc;
#[cfg(feature = "grpc")]
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use futures_util::FutureExt;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};

use crate::operate::{Metrics, plain};
use crate::relay::Relayed;
use crate::service::Service;
use crate::tls::{Begun, Certificate};

/// The times that connections are given.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// For the handshake, and for the head of a request.
    pub head: Duration,
    /// At the end, until no new connection is accepted.
    pub delay: Duration,
    /// At the end, for requests under way.
    pub drain: Duration,
}

/// Accepts connections until the server is asked to end.
pub struct Accept {
    /// All routes.
    pub router: Router,
    /// The parts of the server.
    pub service: Arc<Service>,
    /// The metrics.
    pub metrics: Arc<Metrics>,
    /// The certificate, if connections are encrypted.
    pub certificate: Option<Arc<Certificate>>,
    /// The times that connections are given.
    pub times: Times,
    /// The most open connections.
    pub connections: usize,
}

impl Accept {
    /// Accepts and serves connections. When `stopped` turns true: the server is not ready; after a delay, in which clients
    /// close their connections, it accepts no more; requests under way are answered.
    pub async fn run(self, listener: TcpListener, mut stopped: watch::Receiver<bool>) {
        let permits = Arc::new(Semaphore::new(self.connections.min(Semaphore::MAX_PERMITS)));
        let graceful = GracefulShutdown::new();
        // Further connections wait in the system's queue until one ends.
        let next = async || {
            let permit = Arc::clone(&permits).acquire_owned().await;
            (listener.accept().await, permit)
        };
        let serve = |accepted: std::io::Result<(TcpStream, _)>, permit| match accepted {
            Ok((stream, _)) => self.serve(stream, permit, &graceful),
            Err(error) => tracing::warn!(%error, "a connection was not accepted"),
        };
        let accept_all = async {
            loop {
                let (accepted, permit) = next().await;
                let failed = accepted.is_err();
                serve(accepted, permit.ok());
                if failed {
                    // Too many open files, for instance: some may be closed soon.
                    sleep(Duration::from_millis(20)).await;
                }
            }
        };
        tokio::spawn(tick());
        let end = async {
            // An error means that nobody can stop the server any more.
            let _ = stopped.wait_for(|&stopped| stopped).await;
            self.service.drain();
            tracing::info!("shutting down: the server is not ready any more");
            sleep(self.times.delay).await;
        };
        tokio::select! {
            () = accept_all => {}
            () = end => {}
        }
        // Connections that the system has accepted already.
        while let Some((Ok(accepted), permit)) = next().now_or_never() {
            serve(Ok(accepted), permit.ok());
        }
        drop(listener);
        let all = async {
            graceful.shutdown().await;
            self.service.engine.drained(self.times.drain).await
        };
        match tokio::time::timeout(self.times.drain, all).await {
            Ok(true) => tracing::info!("shut down; all requests were answered"),
            _ => tracing::warn!("shut down; some requests took too long"),
        }
    }

    /// Serves a connection in a task of its own.
    fn serve(
        &self,
        stream: TcpStream,
        permit: Option<OwnedSemaphorePermit>,
        graceful: &GracefulShutdown,
    ) {
        // Answers are written at once; a system without this option is slower.
        let _ = stream.set_nodelay(true);
        let metrics = Arc::clone(&self.metrics);
        let certificate = self.certificate.clone();
        let connection = Connection {
            router: self.router.clone(),
            head: self.times.head,
            watcher: graceful.watcher(),
        };
        metrics.connections.inc();
        tokio::spawn(Relayed::new(async move {
            match certificate {
                None => connection.serve(stream).await,
                Some(certificate) => {
                    let begun = timeout(connection.head, certificate.begin(stream)).await;
                    match begun {
                        Ok(Ok(Begun::Tls(stream))) => connection.serve(stream).await,
                        Ok(Ok(Begun::Plain(stream))) => connection.refuse(stream).await,
                        // The client has gone, is too slow, or has been told the fault by TLS.
                        Ok(Err(_)) | Err(_) => {
                            metrics.failed_handshakes.inc();
                        }
                    }
                }
            }
            metrics.connections.dec();
            drop(permit);
        }));
    }
}

/// Ends a timer every second. A timer that ends before all others wakes the thread that waits for connections, by a
/// system call: so timers of requests, which are longer, do not.
async fn tick() {
    loop {
        sleep(Duration::from_secs(1)).await;
    }
}

/// A connection that was accepted.
struct Connection {
    router: Router,
    head: Duration,
    watcher: Watcher,
}

impl Connection {
    /// Serves HTTP/1.1.
    #[cfg(not(feature = "grpc"))]
    async fn serve(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        use hyper::server::conn::http1;

        let service = TowerToHyperService::new(self.router);
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.head)
            .serve_connection(TokioIo::new(stream), service);
        // The client has gone, or has sent something that is not HTTP and was told so.
        let _ = self.watcher.watch(connection).await;
    }

    /// Serves HTTP/1.1 or HTTP/2, as the client begins.
    #[cfg(feature = "grpc")]
    async fn serve(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        use hyper::service::{Service as _, service_fn};
        use hyper_util::rt::TokioExecutor;
        use hyper_util::server::conn::auto;

        let has_begun = Arc::new(AtomicBool::new(false));
        let (begins, router) = (
            Arc::clone(&has_begun),
            TowerToHyperService::new(self.router),
        );
        let service = service_fn(move |request| {
            begins.store(true, Ordering::Relaxed);
            router.call(request)
        });
        let mut builder = auto::Builder::new(TokioExecutor::new());
        let (timer, head) = (TokioTimer::new(), self.head);
        builder
            .http1()
            .timer(timer.clone())
            .header_read_timeout(head);
        // Finds clients that have gone.
        builder.http2().timer(timer).keep_alive_interval(head);
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        let connection = self.watcher.watch(connection);
        // Until its first request, a client of HTTP/2 has no limit of its own.
        let idle = async {
            sleep(head).await;
            if has_begun.load(Ordering::Relaxed) {
                std::future::pending().await
            }
        };
        tokio::select! {
            // The client has gone, or has sent something that is not HTTP and was told so.
            _ = connection => {}
            () = idle => {}
        }
    }

    /// Answers a client that does not speak TLS.
    async fn refuse(mut self, stream: TcpStream) {
        self.router = plain();
        self.serve(stream).await;
    }
}
