//! Requests as clients send them, and the answers.

mod reads;
mod unknown;
mod writes;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use serde_json::Value;
use tempfile::TempDir;

use super::{Elastic, ElasticOptions, Writing, routes};
use crate::limits::Limits;
use crate::search::{Engine, EngineOptions};
use crate::served::Catalog;
use crate::service::Service;
use crate::write::{WriterOptions, Writers, WritersOptions};

/// A server without connections.
struct Client {
    service: TowerToHyperService<Router>,
    _folder: TempDir,
    runtime: tokio::runtime::Runtime,
}

/// An answer.
struct Reply {
    status: u16,
    headers: HeaderMap,
    text: String,
}

impl Reply {
    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{}", self.text))
    }

    /// The reason of an error.
    #[track_caller]
    fn reason(&self) -> String {
        self.json()["error"]["reason"].as_str().unwrap().to_owned()
    }

    /// The ids of hits.
    #[track_caller]
    fn ids(&self) -> Vec<String> {
        let json = self.json();
        let hits = json["hits"]["hits"]
            .as_array()
            .unwrap_or_else(|| panic!("{json}"));
        hits.iter()
            .map(|hit| hit["_id"].as_str().unwrap().to_owned())
            .collect()
    }

    fn warnings(&self) -> Vec<&str> {
        let warnings = self.headers.get_all("warning").iter();
        warnings.map(|value| value.to_str().unwrap()).collect()
    }
}

/// The subset, and the folder of its indexes.
fn elastic() -> (Arc<Elastic>, TempDir) {
    let engine = Engine::new(&EngineOptions::default(), None, None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let writers = Writers::new(WritersOptions {
        snapshots: None,
        enabled: true,
        data: Some(folder.path().join("data")),
        writer: WriterOptions::new(1),
    });
    let service = Service::new(
        Catalog::default(),
        engine,
        None,
        Limits::default(),
        None,
        writers,
    );
    let service = Arc::new(service);
    let options = ElasticOptions {
        product: true,
        ..ElasticOptions::default()
    };
    let elastic = Elastic {
        store: Arc::new(Writing::new(Arc::clone(&service), "contents")),
        service,
        options,
    };
    (Arc::new(elastic), folder)
}

impl Client {
    fn new() -> Self {
        let (elastic, folder) = elastic();
        Client {
            service: TowerToHyperService::new(routes(elastic)),
            _folder: folder,
            runtime: tokio::runtime::Builder::new_multi_thread()
                .worker_threads(1)
                .enable_all()
                .build()
                .unwrap(),
        }
    }

    /// A server with an index `books` of four documents.
    fn with_books() -> Self {
        let client = Client::new();
        let mapping = r#"{"mappings": {"properties": {"content": {"type": "text"}, "year": {"type": "long"}}}}"#;
        assert_eq!(client.send("PUT", "/books", mapping).status, 200);
        let lines = [
            r#"{"index": {"_id": "a"}}"#,
            r#"{"content": "Wing flow at the wing", "year": 1959, "metadata": {"source": "x"}}"#,
            r#"{"index": {"_id": "b"}}"#,
            r#"{"content": "Boundary layer flow", "year": 1960, "metadata": {"source": "y"}}"#,
            r#"{"index": {"_id": "c"}}"#,
            r#"{"content": "Heat of a layer at the boundary", "year": 1959, "metadata": {"source": "y"}}"#,
            r#"{"index": {"_id": "d"}}"#,
            r#"{"content": "Wing", "year": 1961}"#,
        ];
        let reply = client.send("POST", "/books/_bulk?refresh=true", &lines.join("\n"));
        assert_eq!(reply.json()["errors"], false, "{}", reply.text);
        client
    }

    fn send(&self, method: &str, path: &str, body: &str) -> Reply {
        self.send_with(method, path, body, &[])
    }

    fn send_with(&self, method: &str, path: &str, body: &str, headers: &[(&str, &str)]) -> Reply {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body.to_owned())).unwrap();
        self.runtime.block_on(async {
            let response = self.service.call(request).await.unwrap();
            let (parts, body) = response.into_parts();
            let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
            Reply {
                status: parts.status.as_u16(),
                headers: parts.headers,
                text: String::from_utf8(bytes.to_vec()).unwrap(),
            }
        })
    }

    #[track_caller]
    fn search(&self, body: &str) -> Reply {
        let reply = self.send("POST", "/books/_search", body);
        assert_eq!(reply.status, 200, "{body}\n{}", reply.text);
        reply
    }
}
