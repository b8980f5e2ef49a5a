//! The benchmark runs on a GPU; this file has those that weigh.

mod sort;

pub use sort::sort;

use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use tokapi::Dictionary;
use tokapi::Weights;
use tokapi::{Analyzer, Cut};
use tokapi::{Bm25, Error};
use tokapi_kernels::{Build, Pinned, Text, Times};
use tokapi_weigh::gpu::{GpuOptions, Method, PairSort, Resident, ResidentWeights};

use super::collection::Generated;
use super::runs::{Link, MethodRuns, MethodTimes, PP, PPD, WeighRuns, WeighTimes, fastest};

pub fn link(device: u32) -> Result<Link, Error> {
    let named = Build::Cuda.device(device)?.name;
    let rate = Build::Cuda.bandwidth(device, 1 << 30)?;
    Ok(Link {
        both: rate.both,
        text: format!(
            "{named}: link {:.1} GB/s up, {:.1} down, {:.1} both ways at once\n",
            rate.up, rate.down, rate.both
        ),
        json: json!({"device": named, "up": rate.up, "down": rate.down, "both": rate.both}),
    })
}

/// A collection in pinned memory.
struct OnHost {
    bytes: Pinned,
    starts: Pinned,
}

impl OnHost {
    fn new(generated: &Generated) -> Result<Self, Error> {
        let mut bytes = Pinned::new(Build::Cuda, generated.text.len())?;
        bytes.copy_from_slice(&generated.text);
        let mut starts = Pinned::new(Build::Cuda, 8 * generated.starts.len())?;
        for (to, start) in starts.chunks_exact_mut(8).zip(&generated.starts) {
            to.copy_from_slice(&start.to_ne_bytes());
        }
        Ok(OnHost { bytes, starts })
    }

    fn text(&self) -> Text<'_> {
        Text::new(&self.bytes, self.starts.as_words())
    }
}

/// The times of a method on the GPU.
struct Weighed {
    /// Time with overlapping stages, and time with stages one after the other.
    seconds: f64,
    stages: Times,
    /// Bytes of weights, documents and terms copied back.
    bytes_down: usize,
}

/// Weighs a text on the device, and compares the weights.
fn weigh(
    options: &GpuOptions,
    text: Text<'_>,
    chunk_bytes: u64,
    repeat: u32,
    expected: Option<&Weights>,
) -> Result<Weighed, Error> {
    let (analyzer, bm25) = (Analyzer::from(Cut::Plain), Bm25::default());
    // A separate engine, dropped before the next one needs the memory.
    let stages = {
        let timed = options.clone().timed(true);
        let mut engine = Resident::new(&timed, &analyzer)?;
        let stages = fastest(2, || {
            engine.weigh(text, chunk_bytes, &bm25)?;
            let times = engine.times();
            Ok((sum(&times), times))
        })?;
        stages.1
    };
    let mut engine = Resident::new(options, &analyzer)?;
    let warm = engine.weigh(text, chunk_bytes, &bm25)?;
    if let Some(expected) = expected {
        compare(&warm, expected)?;
    }
    let bytes_down = warm
        .parts
        .iter()
        .map(|part| 8 * part.documents.len() + 8 * part.segment_terms.len())
        .sum();
    let (seconds, ()) = fastest(repeat, || {
        let started = Instant::now();
        engine.weigh(text, chunk_bytes, &bm25)?;
        Ok((started.elapsed().as_secs_f64(), ()))
    })?;
    Ok(Weighed {
        seconds,
        stages,
        bytes_down,
    })
}

/// A dictionary of all terms.
fn dictionary(weights: &Weights) -> Result<Option<Arc<Dictionary>>, Error> {
    let terms = weights.lexicon.terms.iter();
    Ok(Some(Arc::new(Dictionary::build(terms)?)))
}

pub fn measure(
    runs: &WeighRuns,
    generated: &Generated,
    on_cpu: Option<&Weights>,
) -> Result<Vec<WeighTimes>, Error> {
    let expected = on_cpu.filter(|_| runs.verify);
    let on_host = OnHost::new(generated)?;
    let text = on_host.text();
    let mut measured = Vec::new();
    for method in &runs.method {
        let mut options = GpuOptions::default();
        options.device = runs.device;
        options.method = match method.as_str() {
            "ppd" => Method::Ppd,
            "pp" => Method::Pp,
            "mars" => Method::Mars,
            _ => Method::Hash,
        };
        if options.method == Method::Ppd {
            let Some(weights) = on_cpu else {
                return Err(Error::Usage(
                    "ppd takes its dictionary from the CPU's run".into(),
                ));
            };
            options.dictionary = dictionary(weights)?;
        }
        // A larger text does not fit into one chunk.
        let one_chunk = generated.text.len() < 0xFFFF_0000;
        if let Some(dictionary) = options.dictionary.as_ref().filter(|_| one_chunk) {
            measured.push(lookups(&options, dictionary, text, generated.text.len())?);
        }
        for &chunk_bytes in &runs.chunk_size {
            let weighed = weigh(&options, text, chunk_bytes, runs.repeat, expected)?;
            let name = format!("gpu {method}, chunks of {} MiB", chunk_bytes >> 20);
            measured.push(WeighTimes {
                seconds: weighed.seconds,
                bytes_moved: (generated.text.len() + weighed.bytes_down) as f64,
                stages: stage_text(&weighed.stages),
                json: json!({
                    "bytes": generated.text.len(), "engine": "gpu", "method": method, "chunk_bytes": chunk_bytes,
                    "seconds": weighed.seconds, "verified": expected.is_some(), "stages_ms": stage_json(&weighed.stages),
                }),
                name,
            });
        }
    }
    Ok(measured)
}

/// The methods of the literature; all weights are compared.
pub fn methods(
    runs: &MethodRuns,
    generated: &Generated,
    expected: &Weights,
) -> Result<Vec<MethodTimes>, Error> {
    let on_host = OnHost::new(generated)?;
    let mut measured = Vec::new();
    for (name, method, sort) in [
        ("MRM, bitonic sort", Method::Mars, PairSort::Bitonic),
        ("MRM, merge sort", Method::Mars, PairSort::Merge),
        ("MRM, radix sort", Method::Mars, PairSort::Radix),
        (PP, Method::Pp, PairSort::default()),
        (PPD, Method::Ppd, PairSort::default()),
        ("hash", Method::Hash, PairSort::default()),
    ] {
        let mut options = GpuOptions::default();
        options.device = runs.device;
        options.method = method;
        options.sort = sort;
        if method == Method::Ppd {
            options.dictionary = dictionary(expected)?;
        }
        let weighed = weigh(
            &options,
            on_host.text(),
            runs.chunk_size,
            runs.repeat,
            Some(expected),
        )?;
        measured.push(MethodTimes {
            name,
            seconds: weighed.seconds,
            stages: stages(&weighed.stages).to_vec(),
        });
    }
    Ok(measured)
}

/// Looks up every term of the text in a dictionary of all its terms.
fn lookups(
    options: &GpuOptions,
    dictionary: &Dictionary,
    text: Text<'_>,
    bytes: usize,
) -> Result<WeighTimes, Error> {
    const TURNS: u32 = 10;
    let mut engine = Resident::new(options, &Analyzer::from(Cut::Plain))?;
    let (ids, seconds) = engine.lookup(text, TURNS)?;
    if ids.contains(&u32::MAX) {
        return Err(Error::Device(
            "a term of the dictionary was not found".into(),
        ));
    }
    let seconds = seconds / f64::from(TURNS);
    let rate = ids.len() as f64 / seconds / 1e9;
    let stats = dictionary.stats();
    Ok(WeighTimes {
        name: "gpu dictionary lookups".into(),
        seconds,
        bytes_moved: 0.0,
        stages: format!(
            "{rate:.2} G lookups/s in {} terms, {:.2} bytes a term",
            stats.terms,
            stats.bytes_per_term()
        ),
        json: json!({
            "bytes": bytes, "engine": "gpu", "lookups": ids.len(), "seconds": seconds,
            "dictionary_terms": stats.terms, "bytes_per_term": stats.bytes_per_term(),
        }),
    })
}

fn compare(found: &ResidentWeights<'_>, expected: &Weights) -> Result<(), Error> {
    let right = expected
        .lexicon
        .terms
        .iter()
        .enumerate()
        .flat_map(|(term, name)| {
            expected.range(term).map(move |posting| {
                (
                    name,
                    expected.posting_documents[posting],
                    expected.weights[posting],
                )
            })
        });
    let same = |a: (&[u8], u32, f32), b: (&[u8], u32, f32)| {
        a.0 == b.0 && a.1 == b.1 && a.2.to_bits() == b.2.to_bits()
    };
    match found.len() == expected.len() && found.iter().zip(right).all(|(a, b)| same(a, b)) {
        true => Ok(()),
        false => Err(Error::Device(
            "the weights of the GPU are not those of the CPU".into(),
        )),
    }
}

fn stages(times: &Times) -> [(&'static str, f64); 12] {
    [
        ("upload", times.upload),
        ("cut", times.cut),
        ("documents and lengths", times.documents),
        ("map", times.map),
        ("dictionary or hash", times.identify),
        ("sort", times.sort),
        ("group", times.group),
        ("tf", times.tf),
        ("df", times.df),
        ("weigh", times.weigh),
        ("order of terms", times.order),
        ("download", times.download),
    ]
}

fn sum(times: &Times) -> f64 {
    stages(times).iter().map(|(_, ms)| ms).sum()
}

fn stage_text(times: &Times) -> String {
    let text: Vec<String> = stages(times)
        .iter()
        .map(|(name, ms)| format!("{name} {ms:.2}"))
        .collect();
    format!(
        "{} ms one after the other: {}",
        format_args!("{:.2}", sum(times)),
        text.join(", ")
    )
}

fn stage_json(times: &Times) -> serde_json::Value {
    stages(times)
        .iter()
        .map(|&(name, ms)| (name.to_owned(), json!(ms)))
        .collect()
}
