//! The GPU's share of `tokapi bench`; here of `weigh`.

mod sort;

pub use sort::sort;

use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use tokapi::analyze::Analyzer;
use tokapi::collection::Weights;
use tokapi::dictionary::Dictionary;
use tokapi::gpu::{Build, GpuOptions, Method, Pinned, Resident, ResidentWeights, Text, Times};
use tokapi::{Bm25, Error};

use super::collection::Generated;
use super::weigh::{Args, Link, Measured, fastest};

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

pub fn measure(
    args: &Args,
    generated: &Generated,
    on_cpu: Option<&Weights>,
) -> Result<Vec<Measured>, Error> {
    let expected = on_cpu.filter(|_| args.verify);
    let mut bytes = Pinned::new(Build::Cuda, generated.text.len())?;
    bytes.copy_from_slice(&generated.text);
    let mut starts = Pinned::new(Build::Cuda, 8 * generated.starts.len())?;
    for (to, start) in starts.chunks_exact_mut(8).zip(&generated.starts) {
        to.copy_from_slice(&start.to_ne_bytes());
    }
    let text = Text::new(&bytes, starts.as_words());
    let analyzer = Analyzer::default();
    let mut measured = Vec::new();
    for method in &args.method {
        let mut options = GpuOptions::new(Build::Cuda);
        options.device = args.device;
        options.method = match method.as_str() {
            "ppd" => Method::Ppd,
            "pp" => Method::Pp,
            _ => Method::Hash,
        };
        if options.method == Method::Ppd {
            let Some(weights) = on_cpu else {
                return Err(Error::Usage(
                    "ppd takes its dictionary from the CPU's run".into(),
                ));
            };
            options.dictionary = Some(Arc::new(Dictionary::build(weights.lexicon.terms.iter())?));
        }
        // More is more than one chunk.
        let one_chunk = generated.text.len() < 0xFFFF_0000;
        if let Some(dictionary) = options.dictionary.as_ref().filter(|_| one_chunk) {
            measured.push(lookups(&options, dictionary, text, generated.text.len())?);
        }
        for &chunk_bytes in &args.chunk_size {
            // An engine of its own, gone before the next one needs the memory.
            let stages = {
                let mut engine = Resident::new(
                    &GpuOptions {
                        timed: true,
                        ..options.clone()
                    },
                    &analyzer,
                )?;
                fastest(2, || {
                    engine.weigh(text, chunk_bytes, &Bm25::default())?;
                    let times = engine.times();
                    Ok((sum(&times), times))
                })?
                .1
            };
            let mut engine = Resident::new(&options, &analyzer)?;
            let warm = engine.weigh(text, chunk_bytes, &Bm25::default())?;
            if let Some(expected) = expected {
                compare(&warm, expected)?;
            }
            let down: usize = warm
                .parts
                .iter()
                .map(|part| 8 * part.documents.len() + 8 * part.segment_terms.len())
                .sum();
            let (seconds, ()) = fastest(args.repeat, || {
                let started = Instant::now();
                engine.weigh(text, chunk_bytes, &Bm25::default())?;
                Ok((started.elapsed().as_secs_f64(), ()))
            })?;
            let name = format!("gpu {method}, chunks of {} MiB", chunk_bytes >> 20);
            measured.push(Measured {
                seconds,
                bytes_moved: (generated.text.len() + down) as f64,
                stages: stage_text(&stages),
                json: json!({
                    "bytes": generated.text.len(), "engine": "gpu", "method": method, "chunk_bytes": chunk_bytes,
                    "seconds": seconds, "verified": expected.is_some(), "stages_ms": stage_json(&stages),
                }),
                name,
            });
        }
    }
    Ok(measured)
}

/// Looks up every term of the text in a dictionary that has them all.
fn lookups(
    options: &GpuOptions,
    dictionary: &Dictionary,
    text: Text<'_>,
    bytes: usize,
) -> Result<Measured, Error> {
    const TURNS: u32 = 10;
    let mut engine = Resident::new(options, &Analyzer::default())?;
    let (ids, seconds) = engine.lookup(text, TURNS)?;
    if ids.contains(&u32::MAX) {
        return Err(Error::Device(
            "a term of the dictionary was not found".into(),
        ));
    }
    let seconds = seconds / f64::from(TURNS);
    let rate = ids.len() as f64 / seconds / 1e9;
    let stats = dictionary.stats();
    Ok(Measured {
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

fn stages(times: &Times) -> [(&'static str, f64); 10] {
    [
        ("upload", times.upload),
        ("cut", times.cut),
        ("documents and lengths", times.documents),
        ("dictionary or hash", times.identify),
        ("sort", times.sort),
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
