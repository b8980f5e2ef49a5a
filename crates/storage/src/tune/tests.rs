//! Laws of the model, and of the store.

use std::time::Duration;

use super::*;
use crate::pipeline::StageTimes;

fn known() -> Model {
    let stage = |constant, per_chunk, repeated, growth| Stage {
        constant,
        per_chunk,
        repeated,
        growth,
    };
    Model {
        threads: 4,
        range: (1 << 20, 1 << 27),
        local: PassModel {
            growth: Growth::Log,
            input: stage(1e-9, 1e-4, 0.0, 0.0),
            compute: stage(-9e-9, 2e-4, 1e-6, 9e-10),
            output: stage(1e-9, 7e-3, 0.0, 0.0),
            items: stage(0.0, 1.0, 0.0, 0.0),
        },
        global: PassModel {
            growth: Growth::Constant,
            input: stage(4e-10, 1e-3, 0.0, 0.0),
            compute: stage(4e-9, 0.0, 2e-5, 0.0),
            output: stage(5e-9, 0.0, 0.0, 0.0),
            items: stage(1e-7, 0.0, 0.0, 0.0),
        },
        rest: stage(1e-9, 2e-3, 0.0, 0.0),
    }
}

/// A run with the stage times of `model`, times `noise`.
fn run_of(model: &Model, bytes: u64, chunk_bytes: u64, mut noise: impl FnMut() -> f64) -> Measured {
    let whole = model.predict(bytes, chunk_bytes);
    let mut times = |pass: &PassPrediction, items: f64| StageTimes {
        items: items.round() as u64,
        input: Duration::from_secs_f64(pass.input * noise()),
        compute: Duration::from_secs_f64(pass.compute * noise()),
        output: Duration::from_secs_f64(pass.output * noise()),
        wall: Duration::from_secs_f64(pass.total),
    };
    Measured {
        chunk_bytes,
        bytes,
        local: times(&whole.local, bytes as f64 / chunk_bytes as f64),
        global: times(&whole.global, bytes as f64 * model.global.items.constant),
        seconds: whole.total * noise(),
        others: 0.0,
    }
}

fn plan(sweep: bool) -> Plan {
    Plan {
        least: 1 << 20,
        most: 1 << 27,
        sweep,
        repeats: 3,
    }
}

fn fitted(mut noise: impl FnMut() -> f64) -> Model {
    let run = |chunk| Ok(run_of(&known(), 1 << 33, chunk, &mut noise));
    let measured = plan(false).measure(run).unwrap();
    Model::fit(&measured, 4, Shape::INVERTING, Shape::MERGING)
}

#[test]
fn known_constants_are_recovered() {
    let (model, known) = (fitted(|| 1.0), known());
    assert_eq!(model.range, known.range);
    for bytes in [1 << 28, 1 << 33, 1 << 40] {
        for size in plan(true).sizes() {
            let predicted = model.predict(bytes, size.chunk_bytes).total;
            let expected = known.predict(bytes, size.chunk_bytes).total;
            assert!(
                (predicted / expected - 1.0).abs() < 1e-3,
                "{predicted} {expected}"
            );
        }
    }
    let compute = model.local.compute;
    assert!(
        (compute.growth / known.local.compute.growth - 1.0).abs() < 1e-3,
        "{compute:?}"
    );
    let output = model.local.output;
    assert!(
        (output.per_chunk / known.local.output.per_chunk - 1.0).abs() < 1e-3,
        "{output:?}"
    );
}

#[test]
fn noise_moves_the_optimum_where_it_costs_little() {
    let known = known();
    let (least, most) = known.range;
    let best = known
        .predict(1 << 33, known.best(1 << 33, least, most))
        .total;
    for seed in 1..50u64 {
        let mut state = seed;
        let noise = || {
            // Knuth's MMIX generator; up to a tenth slower.
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            1.0 + 0.1 * (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let model = fitted(noise);
        let found = model.best(1 << 33, least, most);
        let loss = known.predict(1 << 33, found).total / best - 1.0;
        assert!(loss < 0.05, "seed {seed}: {found}, {loss}");
        for size in plan(true).sizes() {
            let predicted = model.predict(1 << 33, size.chunk_bytes).total;
            let expected = known.predict(1 << 33, size.chunk_bytes).total;
            assert!(
                (predicted / expected - 1.0).abs() < 0.15,
                "{predicted} {expected}"
            );
        }
    }
}

#[test]
fn twice_the_input_takes_twice_as_long_but_for_filling_and_draining() {
    let model = known();
    for chunk in [1 << 20, 1 << 24, 1 << 27] {
        let (one, two) = (model.predict(1 << 40, chunk), model.predict(1 << 41, chunk));
        assert_eq!(two.local.compute, 2.0 * one.local.compute);
        assert_eq!(two.rest, 2.0 * one.rest);
        assert!((two.total / one.total - 2.0).abs() < 1e-3);
        // The fewer the chunks, the larger the part of the time without overlap.
        let few = model.predict(1 << 28, chunk);
        assert!(few.total > one.total / 4096.0);
    }
    assert_eq!(model.predict(0, 1 << 20).total, 0.0);
}

#[test]
fn a_pass_is_its_slowest_stage_or_longer() {
    for stages in [[3.0, 1.0, 2.0], [1.0, 4.0, 1.0], [0.5, 1.0, 9.0]] {
        let slowest = stages.iter().copied().fold(0.0, f64::max);
        let sum: f64 = stages.iter().sum();
        assert!(PassPrediction::of(stages, 1e9, 8).total - slowest < 1e-6);
        // One chunk: nothing overlaps, one thread computes.
        let one = PassPrediction::of(stages, 1.0, 8).total;
        assert_eq!(one, sum + 7.0 * stages[1]);
        assert_eq!(PassPrediction::of(stages, 1.0, 1).total, sum);
    }
}

#[test]
fn the_best_size_is_that_of_least_time() {
    let model = known();
    for bytes in [1 << 24, 1 << 30, 1 << 40] {
        for (least, most) in [
            (1 << 20, 1 << 27),
            (1 << 20, 1 << 20),
            (3 << 20, 5 << 20),
            (9, 2),
        ] {
            let best = model.best(bytes, least, most);
            assert!(best <= most && (best >= least || least > most));
            let seconds = model.predict(bytes, best).total;
            for size in (Plan {
                least,
                most,
                ..plan(true)
            })
            .sizes()
            {
                let chunk = size.chunk_bytes.clamp(least.min(most), most);
                // The grid is fine, but finite.
                assert!(seconds <= model.predict(bytes, chunk).total * 1.001);
            }
        }
    }
}

#[test]
fn sizes_are_those_planned() {
    let (few, all) = (plan(false).sizes(), plan(true).sizes());
    assert_eq!((few.len(), all.len()), (7, 13));
    let of_fit: Vec<Size> = all.iter().copied().filter(|size| size.fitted).collect();
    assert_eq!(few, of_fit);
    assert_eq!(
        (all[0].chunk_bytes, all[12].chunk_bytes),
        (1 << 20, 1 << 27)
    );
    assert!(all.is_sorted_by(|a, b| a.chunk_bytes < b.chunk_bytes));
    assert_eq!(
        Plan {
            most: 0,
            ..plan(true)
        }
        .sizes()
        .len(),
        1
    );
}

#[test]
fn the_fastest_run_of_each_size_counts() {
    let mut runs = 0;
    let run = |chunk| {
        runs += 1;
        // The second turn is the fastest.
        let seconds = if (8..=14).contains(&runs) { 1.0 } else { 2.0 };
        Ok(Measured {
            seconds,
            ..run_of(&known(), 1 << 30, chunk, || 1.0)
        })
    };
    let measured = plan(false).measure(run).unwrap();
    assert_eq!(runs, 21);
    assert!(measured.iter().all(|run| run.seconds == 1.0));
    let sizes: Vec<u64> = plan(false)
        .sizes()
        .iter()
        .map(|size| size.chunk_bytes)
        .collect();
    assert_eq!(
        measured
            .iter()
            .map(|run| run.chunk_bytes)
            .collect::<Vec<_>>(),
        sizes
    );
}

#[test]
fn what_was_disturbed_is_tried_again_but_not_for_ever() {
    let (mut runs, mut size) = (0, 0);
    let run = |chunk| {
        runs += 1;
        size = size.max(chunk);
        // The largest size is always disturbed, the others from their second run on.
        let others = if runs <= 7 || chunk == size { 0.5 } else { 0.0 };
        Ok(Measured {
            others,
            ..run_of(&known(), 1 << 30, chunk, || 1.0)
        })
    };
    let once = Plan {
        repeats: 1,
        ..plan(false)
    };
    once.measure(run).unwrap();
    assert_eq!(runs, 14);
}

#[test]
fn the_store_gives_back_what_it_was_given() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path().join("a/tune.json"));
    assert_eq!(store.load("weigh cpu", 4), None);
    let model = fitted(|| 1.0);
    store.save("weigh cpu", &model).unwrap();
    let other = Model {
        threads: 2,
        ..known()
    };
    store.save("weigh cpu", &other).unwrap();
    store.save("sort gpu bitonic u32", &known()).unwrap();
    for (engine, model) in [
        ("weigh cpu", &model),
        ("weigh cpu", &other),
        ("sort gpu bitonic u32", &known()),
    ] {
        let loaded = store.load(engine, model.threads).unwrap();
        assert_eq!(loaded.range, model.range);
        assert_eq!(loaded.local.growth, model.local.growth);
        for chunk in [1 << 20, 1 << 27] {
            let (was, is) = (
                model.predict(1 << 30, chunk),
                loaded.predict(1 << 30, chunk),
            );
            // The last digit may be lost in the text.
            assert!((is.total / was.total - 1.0).abs() < 1e-12, "{is:?} {was:?}");
        }
    }
    assert_eq!(store.load("weigh cpu", 3), None);
}

#[test]
fn a_damaged_store_is_as_an_empty_one() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path().join("tune.json"));
    for text in ["", "[]", "{\"half", "\u{0}"] {
        std::fs::write(store.path(), text).unwrap();
        assert_eq!(store.load("weigh cpu", 4), None);
        store.save("weigh cpu", &known()).unwrap();
        assert!(store.load("weigh cpu", 4).is_some());
    }
    let text = std::fs::read_to_string(store.path()).unwrap();
    std::fs::write(store.path(), text.replace("per_chunk", "x")).unwrap();
    assert_eq!(store.load("weigh cpu", 4), None);
}
