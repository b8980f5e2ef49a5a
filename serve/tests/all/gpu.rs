//! Searches by CPU and GPU together, with the host in place of the GPU: answers are those of the index in its newest
//! state, whoever gives them, while the index changes and when the GPU is lost.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokapi::{Index, Query, SearchOptions};
use tokapi_device::cooperate::Policy;
use tokapi_serve::options::EngineName;
use tokapi_serve::{Options, Server};

use crate::client::Client;
use crate::random::Random;

/// A server that may be changed, with a GPU whose lanes are lost after so many batches.
struct WithGpu {
    server: Option<Server>,
    client: Client,
    folder: TempDir,
    random: Random,
    /// The epoch of the last change.
    written: u64,
}

const WORDS: [&str; 8] = ["wing", "flow", "heat", "of", "the", "and", "shock", "jet"];

impl WithGpu {
    fn new(fail_after: Option<u64>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut options = Options::default();
        options.listen.set_port(0);
        options.threads = 2;
        options.drain_delay_ms = 0;
        options.cache_bytes = 0;
        options.queue_ms = 0;
        options.write = true;
        options.data = Some(folder.path().join("data"));
        options.engine = EngineName::Gpu;
        options.gpu.host = cfg!(not(feature = "cuda"));
        // Few searches at a time, answered in microseconds, would not wait for batches.
        options.gpu.policy = Policy::Synchronous;
        options.gpu.fail_after = fail_after;
        options.gpu.least_postings = 1;
        options.gpu.settle_ms = 1;
        options.gpu.retry_ms = 20;
        let server = Server::start(&options).unwrap();
        WithGpu {
            client: Client::new(server.address()),
            server: Some(server),
            folder,
            random: Random(7),
            written: 0,
        }
    }

    fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    fn create(&mut self, name: &str) {
        let answer = self.client.put(&format!("/v1/indexes/{name}"), &json!({}));
        assert_eq!(answer.status, 200, "{}", answer.text());
    }

    /// Puts documents with ids from `first` on.
    fn write(&mut self, index: &str, first: usize, count: usize) {
        let mut lines = String::new();
        for id in first..first + count {
            let words = (0..1 + self.random.below(12)).map(|_| WORDS[self.random.below(8)]);
            let text = words.collect::<Vec<_>>().join(" ");
            lines += &format!(
                "{}\n",
                json!({"put": {"id": format!("d{id}"), "text": text}})
            );
        }
        let path = format!("/v1/indexes/{index}/bulk");
        let answer = self
            .client
            .post_text(&path, "application/x-ndjson", lines.as_bytes());
        assert_eq!(answer.status, 200, "{}", answer.text());
        for line in answer.text().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let result = line["result"].as_str().unwrap_or_default();
            assert!(["created", "replaced"].contains(&result), "{line}");
            self.written = line["epoch"].as_u64().unwrap();
        }
    }

    /// Asks so much at once that searches are batched, and compares.
    fn asks(&mut self, name: &str) {
        let texts: Vec<String> = (0..200)
            .map(|_| {
                let words = (0..1 + self.random.below(4)).map(|_| WORDS[self.random.below(8)]);
                words.collect::<Vec<_>>().join(" ")
            })
            .collect();
        let searches = texts.iter().map(|text| json!({"query": text, "k": 20}));
        let body = json!({"searches": searches.collect::<Vec<_>>()});
        let answer = self
            .client
            .post(&format!("/v1/indexes/{name}/searches"), &body);
        let answers = answer.json();
        let answers = answers["answers"].as_array().unwrap();
        assert_eq!(answers.len(), texts.len());
        // A merge in the background may have made a newer state than the last change.
        let epoch = answers[0]["epoch"].as_u64().unwrap();
        assert!(epoch >= self.written);
        let path = self.folder.path().join("data").join(name);
        let index = Index::open_at(path, epoch).unwrap();
        for (text, answer) in texts.iter().zip(answers) {
            assert_eq!(answer["epoch"], epoch, "{answer}");
            let query = Query::any(index.analyzer().terms(text));
            let hits = index
                .search(&query, &SearchOptions::default().k(20))
                .unwrap();
            let expected = hits.iter().map(|hit| {
                let id = index.id(hit.document).unwrap().into_owned();
                (id, hit.score.to_bits())
            });
            let found = answer["hits"].as_array().unwrap().iter().map(|hit| {
                let score: f32 = hit["score"].to_string().parse().unwrap();
                (hit["id"].as_str().unwrap().to_owned(), score.to_bits())
            });
            assert!(found.eq(expected), "{text}: {answer}");
        }
    }

    /// The value of a metric; of an index, if the name has one.
    fn metric(&mut self, name: &str) -> u64 {
        let answer = self.client.get("/metrics");
        let line = answer
            .text()
            .lines()
            .find(|line| line.starts_with(&format!("{name} ")));
        line.map_or(0, |line| line.rsplit(' ').next().unwrap().parse().unwrap())
    }

    /// Asks until the GPU has answered some searches in the newest state.
    fn asks_until_answered_by_gpu(&mut self, name: &str) {
        let before = self.metric("tokapi_searches_by_gpu_total");
        self.until(|with| {
            with.asks(name);
            with.metric("tokapi_searches_by_gpu_total") > before
        });
    }

    fn until(&mut self, mut holds: impl FnMut(&mut Self) -> bool) {
        let started = Instant::now();
        while !holds(self) {
            assert!(started.elapsed() < Duration::from_secs(120));
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for WithGpu {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stopper().stop();
            server.wait().unwrap();
        }
    }
}

#[test]
fn answers_are_of_the_newest_state_while_indexes_change() {
    let mut with = WithGpu::new(None);
    for name in ["one", "two"] {
        with.create(name);
        with.write(name, 0, 300);
    }
    for round in 0..6 {
        for name in ["one", "two"] {
            // Some are new, some replace others.
            with.write(name, 250 * round + 200, 100);
            if round == 3 {
                let path = format!("/v1/indexes/{name}/merge");
                let merged = with.client.post_text(&path, "application/json", b"");
                assert_eq!(merged.status, 200, "{}", merged.text());
            }
            with.asks(name);
            with.asks_until_answered_by_gpu(name);
            let label = format!("{{index=\"{name}\"}}");
            let (served, on_gpu) = ("tokapi_index_epoch", "tokapi_gpu_index_epoch");
            let of = |with: &mut WithGpu, metric: &str| with.metric(&format!("{metric}{label}"));
            with.until(|with| of(with, served) == of(with, on_gpu));
            assert!(with.metric(&format!("tokapi_gpu_index_bytes{label}")) > 0);
        }
    }
    assert!(with.metric("tokapi_gpu_renewals_total") > 0);
    assert!(with.metric("tokapi_gpu_loads_total") > 0);
    assert_eq!(with.metric("tokapi_gpu_losses_total"), 0);
    assert_eq!(with.client.delete("/v1/indexes/one").status, 200);
    let gpu = |with: &WithGpu| with.server().service().gpu.as_ref().unwrap().indexes();
    with.until(|with| gpu(with).len() == 1);
    with.written = 0;
    with.asks_until_answered_by_gpu("two");
}

#[test]
fn a_lost_gpu_costs_no_search_and_is_used_again() {
    let mut with = WithGpu::new(Some(3));
    with.create("docs");
    with.write("docs", 0, 400);
    // Each lane answers three batches after each loss.
    with.until(|with| {
        with.asks("docs");
        with.metric("tokapi_gpu_losses_total") >= 3
    });
    assert!(with.metric("tokapi_searches_by_gpu_total") > 0);
    assert!(with.metric("tokapi_searches_by_cpu_total") > 0);
    let load = with.server().service().engine.load();
    assert_eq!((load.waiting, load.refused, load.late), (0, 0, 0));
    // The last loss is told as long as it lasts.
    if let Some(why) = load.lost {
        assert!(why.contains("lost"), "{why}");
    }
}
