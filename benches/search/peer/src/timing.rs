//! Times queries: one round that warms up and writes the answers, then rounds of which for every
//! query the fastest counts.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::{Answer, Engine, Outcome, Query, Task};

pub(crate) fn search<E: Engine>(
    index: &Path,
    queries: &[Query],
    task: Task,
    threads: usize,
    repeat: usize,
    answers: &Path,
) -> Outcome<()> {
    let reason = queries
        .iter()
        .find_map(|query| E::unsupported(query.kind, task));
    if let Some(reason) = reason {
        println!(r#"{{"unsupported": "{reason}"}}"#);
        return Ok(());
    }
    let engine = E::open(index)?;
    let prepared: Vec<_> = queries.iter().map(|q| engine.prepare(q, task)).collect();
    write_answers(&engine, queries, &prepared, answers)?;

    let mut fastest = vec![Duration::MAX; queries.len()];
    let mut fastest_round = Duration::MAX;
    for _ in 0..repeat {
        let start = Instant::now();
        if threads == 1 {
            time_each(&engine, &prepared, &mut fastest)?;
        } else {
            deal_out(&engine, &prepared, threads);
        }
        fastest_round = fastest_round.min(start.elapsed());
    }
    let each: Vec<u128> = fastest.iter().map(Duration::as_nanos).collect();
    let each = if threads == 1 { &each[..] } else { &[] };
    println!(
        r#"{{"ns": {each:?}, "wall_ns": {}}}"#,
        fastest_round.as_nanos()
    );
    Ok(())
}

fn write_answers<E: Engine>(
    engine: &E,
    queries: &[Query],
    prepared: &[E::Prepared],
    path: &Path,
) -> Outcome<()> {
    let mut file = BufWriter::new(File::create(path)?);
    for (query, prepared) in queries.iter().zip(prepared) {
        write!(file, "{}\t", query.number)?;
        match engine.answer(engine.search(prepared)?)? {
            Answer::Count(count) => write!(file, "{count}")?,
            Answer::Top(documents) => {
                for (at, (id, score)) in documents.iter().enumerate() {
                    let blank = if at == 0 { "" } else { " " };
                    write!(file, "{blank}{id}:{score}")?;
                }
            }
        }
        writeln!(file)?;
    }
    Ok(file.flush()?)
}

fn time_each<E: Engine>(
    engine: &E,
    prepared: &[E::Prepared],
    fastest: &mut [Duration],
) -> Outcome<()> {
    for (query, fastest) in prepared.iter().zip(fastest) {
        let start = Instant::now();
        let found = engine.search(query)?;
        *fastest = start.elapsed().min(*fastest);
        drop(found);
    }
    Ok(())
}

/// Every thread takes the next query that none has taken.
fn deal_out<E: Engine>(engine: &E, prepared: &[E::Prepared], threads: usize) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(query) = prepared.get(next.fetch_add(1, Ordering::Relaxed)) {
                    engine
                        .search(query)
                        .expect("the warm-up ran the same query");
                }
            });
        }
    });
}
