//! Connections: accepted, served, and ended in good order.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use futures_util::FutureExt;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::sleep;

use crate::operate::Metrics;
use crate::service::Service;

/// The times that connections are given.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// For the head of a request.
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
        let end = async {
            // An error means that nobody can stop the server any more.
            let _ = stopped.wait_for(|&stopped| stopped).await;
            self.service.drain();
            tracing::info!("the server ends: it is not ready any more");
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
            Ok(true) => tracing::info!("the server has ended; all requests were answered"),
            _ => tracing::warn!("the server has ended; some requests took too long"),
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
        let service = TowerToHyperService::new(self.router.clone());
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.times.head)
            .serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        let metrics = Arc::clone(&self.metrics);
        metrics.connections.inc();
        tokio::spawn(async move {
            // The client has gone, or has sent something that is not HTTP and was told so.
            let _ = connection.await;
            metrics.connections.dec();
            drop(permit);
        });
    }
}
