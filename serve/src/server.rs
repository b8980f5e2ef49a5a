//! The server: from options to connections, and to an end without lost requests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokapi::{Error, Index, Memory, Result};
use tokapi_device::cooperate::{Router as Processors, SchedulerOptions};
use tokapi_storage::tune::Store;
use tokapi_storage::whole::remove_left_over_in;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

use crate::accept::{Accept, Times};
use crate::api;
use crate::elastic::store::ReadOnly;
use crate::elastic::{self, Elastic, ElasticOptions, Writing};
use crate::gpu::{self, Gpu, Keeping};
use crate::listen::Listener;
use crate::operate::{
    self, Access, Metrics, Observer, Origins, Spans, observe, permit, same_site, spans,
};
use crate::options::{EngineName, Options};
use crate::page;
use crate::problem::{Kind, Problem};
use crate::search::{Engine, EngineOptions};
use crate::served::{Catalog, Snapshot, name_of};
use crate::service::Service;
use crate::tls::Certificate;
use crate::write::{WriterOptions, Writers, WritersOptions, indexes_in};

/// Lanes of a GPU: with 8, queries a second were two to four times those of one (`benches/gpu/queries.txt`).
const LANES: usize = 8;

/// A server that listens.
///
/// ```
/// use tokapi_serve::{Options, Server};
///
/// # fn main() -> tokapi::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("docs");
/// let documents = [tokapi::Document::new("a", "Boundary layers")];
/// let corpus = tokapi::Corpus::from_documents(documents, tokapi::CorpusOptions::default());
/// tokapi::IndexBuilder::new(&path).store(true).build(corpus)?;
///
/// let mut options = Options::default();
/// options.indexes.insert("docs".into(), path);
/// options.listen.set_port(0);
/// # options.drain_delay_ms = 0;
/// let server = Server::start(&options)?;
/// println!("{}", server.url());
/// server.stopper().stop();
/// server.wait()
/// # }
/// ```
pub struct Server {
    keeping: Option<Keeping>,
    address: SocketAddr,
    certificate: Option<Arc<Certificate>>,
    service: Arc<Service>,
    spans: Option<Arc<dyn Spans>>,
    stop: Stopper,
    accepting: JoinHandle<()>,
    runtime: Runtime,
}

/// Ends a server from any thread.
#[derive(Clone)]
pub struct Stopper(Arc<watch::Sender<bool>>);

impl Stopper {
    /// Asks the server to end: it is not ready from now on, answers what is under way, and ends.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Server {
    /// Opens the indexes and listens.
    ///
    /// # Errors
    /// An index cannot be opened; the address is in use; the GPU that is asked for cannot be used.
    pub fn start(options: &Options) -> Result<Self> {
        Server::start_on(Listener::bind(options)?, options)
    }

    /// Opens the indexes, and answers at an address that is taken.
    ///
    /// # Errors
    /// An index cannot be opened; the GPU that is asked for cannot be used.
    pub fn start_on(listener: Listener, options: &Options) -> Result<Self> {
        let service = Arc::new(service(options)?);
        let keeping = service.gpu.as_ref();
        let keeping = keeping.map(|gpu| gpu.keep(newest(&service))).transpose()?;
        let limit = |error| Error::Limit(format!("cannot start the server: {error}"));
        let address = listener.address()?;
        let Listener {
            socket,
            certificate,
        } = listener;
        socket.set_nonblocking(true).map_err(limit)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(options.runtime_threads())
            .thread_name("tokapi-http")
            .enable_all()
            .build()
            .map_err(limit)?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(socket).map_err(limit)?
        };
        let metrics = Arc::new(Metrics::default());
        let access = Arc::new(Access::new(&options.tokens, &options.limits, &metrics)?);
        if options.tokens.is_empty() && !address.ip().is_loopback() {
            tracing::warn!(%address, "other machines reach this server, and it wants no tokens");
        }
        if let Some(certificate) = &certificate {
            certificate.warn_if_key_is_open();
            runtime.spawn(keep_current(Arc::clone(certificate)));
        } else if !options.tokens.is_empty() && !address.ip().is_loopback() {
            tracing::warn!(%address, "clients send their tokens without encryption: set tls, or put a proxy with TLS before this server");
        }
        let spans = spans(options, runtime.handle())?;
        let observer = Observer::new(
            Arc::clone(&service),
            Arc::clone(&metrics),
            options.access_log,
            spans.clone(),
        );
        let (stop, stopped) = watch::channel(false);
        let accept = Accept {
            router: router(&service, &metrics, access, observer, options)?,
            service: Arc::clone(&service),
            metrics,
            certificate: certificate.clone(),
            times: Times {
                head: Duration::from_millis(options.limits.read_ms),
                delay: Duration::from_millis(options.drain_delay_ms),
                drain: Duration::from_millis(options.drain_ms),
            },
            connections: options.limits.connections,
        };
        let accepting = runtime.spawn(accept.run(listener, stopped));
        Ok(Server {
            keeping,
            address,
            certificate,
            service,
            spans,
            stop: Stopper(Arc::new(stop)),
            accepting,
            runtime,
        })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL to open in a browser of this machine.
    pub fn url(&self) -> String {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(match address {
                SocketAddr::V4(_) => [127, 0, 0, 1].into(),
                SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
            });
        }
        match self.certificate {
            Some(_) => format!("https://{address}/"),
            None => format!("http://{address}/"),
        }
    }

    /// The certificate, if connections are encrypted.
    pub fn certificate(&self) -> Option<Arc<Certificate>> {
        self.certificate.clone()
    }

    /// The parts of the server.
    pub fn service(&self) -> &Arc<Service> {
        &self.service
    }

    /// Ends the server from any thread.
    pub fn stopper(&self) -> Stopper {
        self.stop.clone()
    }

    /// Waits until the server has ended.
    ///
    /// # Errors
    /// It failed.
    pub fn wait(self) -> Result<()> {
        let ended = self.runtime.block_on(self.accepting);
        drop(self.keeping);
        self.service.writers.close();
        if let Some(spans) = self.spans {
            spans.close();
        }
        self.runtime.shutdown_timeout(Duration::from_secs(1));
        ended.map_err(|error| Error::Limit(format!("the server failed: {error}")))
    }
}

/// Validates options, and opens and closes the indexes.
///
/// # Errors
/// An index cannot be opened; two have the same name; the GPU that is asked for cannot be used.
pub fn check(options: &Options) -> Result<()> {
    catalog(options)?;
    Certificate::of(&options.tls)?;
    Access::new(&options.tokens, &options.limits, &Metrics::default())?;
    match options.engine {
        EngineName::Gpu => gpu_of(options).map(drop),
        _ => Ok(()),
    }
}

/// The GPU, if the options ask for one.
fn gpu_of(options: &Options) -> Result<Option<Gpu>> {
    let (engine, threads) = (options.engine, options.search_threads());
    gpu::open(engine, options.device, threads, &options.gpu)
}

/// The indexes in the states that are served, as long as there is a server.
fn newest(service: &Arc<Service>) -> impl Fn() -> Vec<Arc<Index>> + Send + 'static {
    let service = Arc::downgrade(service);
    move || {
        let snapshots = service.upgrade().map(|service| service.catalog.snapshots());
        let snapshots = snapshots.into_iter().flatten();
        snapshots
            .map(|snapshot| Arc::clone(snapshot.index()))
            .collect()
    }
}

/// Starts a server, passes it to `started`, and waits until it has ended.
///
/// # Errors
/// As [`Server::start_on`]; an error of `started`, and then the server does not go on.
pub fn run(
    listener: Listener,
    options: &Options,
    started: impl FnOnce(&Server) -> Result<()>,
) -> Result<()> {
    operate::start_log(options.log);
    let server = Server::start_on(listener, options)?;
    started(&server)?;
    server.wait()
}

/// Reads the certificate again when its files change.
async fn keep_current(certificate: Arc<Certificate>) {
    let mut ticks = tokio::time::interval(certificate.every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let certificate = Arc::clone(&certificate);
        // An error means that the server ends.
        let _ = tokio::task::spawn_blocking(move || certificate.reload()).await;
    }
}

fn catalog(options: &Options) -> Result<Catalog> {
    options.check()?;
    let catalog = Catalog::new(options.columns_bytes);
    let mut indexes = options.indexes.clone();
    if let Some(data) = &options.data {
        for (name, path) in indexes_in(data)? {
            if indexes.contains_key(&name) {
                return Err(Error::Usage(format!(
                    "two indexes are named `{name}`: {} has one of them; name the other one, NAME=INDEX",
                    data.display()
                )));
            }
            indexes.insert(name, path);
        }
    }
    for (name, path) in &indexes {
        let name = name_of(Some(name), path)?;
        catalog.add(Snapshot::open(&name, path)?)?;
    }
    Ok(catalog)
}

pub(crate) fn service(options: &Options) -> Result<Service> {
    let catalog = catalog(options)?;
    let threads = options.search_threads();
    let gpu = gpu_of(options)?;
    let accelerator = gpu.as_ref().map(Gpu::accelerator);
    let store = gpu.as_ref().and_then(|_| Store::of_user());
    let processors = store.and_then(|store| Processors::load(&store, threads as u64));
    let engine = EngineOptions {
        scheduler: SchedulerOptions::default()
            .threads(threads)
            .lanes(LANES)
            .policy(options.gpu.policy)
            .retry(Some(Duration::from_millis(options.gpu.retry_ms)))
            .queue(options.queue),
        longest_wait: Duration::from_millis(options.queue_ms),
        cache_bytes: options.cache_bytes,
    };
    let engine = Engine::new(&engine, accelerator, processors)?;
    let slow = (options.slow_ms > 0).then(|| Duration::from_millis(options.slow_ms));
    let mut writer = WriterOptions::new(threads);
    writer.memory = match options.write_memory {
        0 => writer.memory,
        bytes => Memory::new(bytes)?,
    };
    // What a killed server has left.
    let own = [&options.data, &options.snapshots].into_iter().flatten();
    own.for_each(|folder| remove_left_over_in(folder));
    let writers = Writers::new(WritersOptions {
        enabled: options.write,
        data: options.data.clone(),
        snapshots: options.snapshots.clone(),
        writer,
    });
    let limits = options.limits.clone();
    Ok(Service::new(catalog, engine, gpu, limits, slow, writers))
}

/// All routes.
pub(crate) fn router(
    service: &Arc<Service>,
    metrics: &Arc<Metrics>,
    access: Arc<Access>,
    observer: Observer,
    options: &Options,
) -> Result<Router> {
    let elastic = Arc::new(elastic_of(service, options));
    let origins = Arc::new(Origins {
        is_local: options.listen.ip().is_loopback(),
        is_tls: options.tls.certificate.is_some(),
        hosts: options.hosts.clone(),
    });
    let home = {
        let elastic = Arc::clone(&elastic);
        move |headers: HeaderMap| home(elastic, headers)
    };
    let described = api::Described::new(&options.limits, !options.tokens.is_empty());
    let routes = Router::new()
        .merge(api::routes(described))
        .merge(operate::routes(Arc::clone(metrics)))
        .merge(page::routes())
        .merge(elastic::routes(elastic))
        .route("/", get(home));
    #[cfg(feature = "grpc")]
    let routes = routes.merge(crate::grpc::routes(service)?);
    let routes = routes
        .fallback(unknown_route)
        .method_not_allowed_fallback(unknown_method)
        .layer(from_fn_with_state(access, permit))
        .layer(from_fn_with_state(origins, same_site));
    #[cfg(feature = "grpc")]
    let routes = routes.layer(from_fn_with_state(Arc::clone(service), crate::grpc::arrive));
    let routes = routes.layer(from_fn_with_state(Arc::new(observer), observe));
    Ok(routes.with_state(Arc::clone(service)))
}

fn elastic_of(service: &Arc<Service>, options: &Options) -> Elastic {
    let settings = &options.elastic;
    let of_clients = ElasticOptions {
        product: settings.product,
        version: settings.version.clone(),
    };
    let store: Arc<dyn elastic::store::Store> = match options.write {
        true => Arc::new(Writing::new(Arc::clone(service), settings.text.clone())),
        false => Arc::new(ReadOnly {
            text: settings.text.clone(),
        }),
    };
    Elastic {
        service: Arc::clone(service),
        store,
        options: of_clients,
    }
}

/// The page for browsers, or the greeting that clients of Elasticsearch ask for.
async fn home(elastic: Arc<Elastic>, headers: HeaderMap) -> Response {
    let accept = headers.get(header::ACCEPT);
    let accept = accept.and_then(|accept| accept.to_str().ok());
    match accept.is_some_and(|accept| accept.contains("text/html")) {
        true => page::index(),
        false => elastic::root(&elastic),
    }
}

async fn unknown_route(request: Request) -> Response {
    if let Some(answer) = elastic::unknown(&request) {
        return answer;
    }
    let path = request.uri().path().escape_debug();
    Problem::new(
        Kind::UnknownRoute,
        format!("there is no route {path}: /v1/openapi.json describes the routes"),
    )
    .into_response()
}

async fn unknown_method(request: Request) -> Response {
    if let Some(answer) = elastic::unknown(&request) {
        return answer;
    }
    let (method, path) = (request.method(), request.uri().path().escape_debug());
    Problem::new(
        Kind::MethodNotAllowed,
        format!("the route {path} does not take {method}: the header `allow` lists its methods"),
    )
    .into_response()
}
