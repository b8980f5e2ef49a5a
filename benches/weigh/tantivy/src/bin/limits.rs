//! Prints what the machine itself can do, as one line of JSON: the rate at which all cores
//! together read and copy memory, and at which one and all read FILE from the page cache.
//!
//! Each figure is the best of three passes. A copy counts the bytes copied once, though each is
//! read and written.

use std::error::Error;
use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::time::Instant;

const BYTES_PER_THREAD: usize = 512 << 20;
const READ_BYTES: usize = 1 << 20;
const PASSES: usize = 3;

/// Runs `work` on each of `states` in a thread of its own; the seconds of the best pass.
fn best_pass<T: Send>(states: &mut [T], work: impl Fn(usize, &mut T) + Sync) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..PASSES {
        let clock = Instant::now();
        std::thread::scope(|scope| {
            for (thread, state) in states.iter_mut().enumerate() {
                let work = &work;
                scope.spawn(move || work(thread, state));
            }
        });
        best = best.min(clock.elapsed().as_secs_f64());
    }
    best
}

/// The rate, in bytes a second, at which `threads` threads read a share of `file` each.
fn file_rate(file: &File, threads: usize) -> Result<f64, Box<dyn Error>> {
    let length = file.metadata()?.len();
    let share = length.div_ceil(threads as u64);
    let mut buffers = vec![vec![0u8; READ_BYTES]; threads];
    let seconds = best_pass(&mut buffers, |thread, buffer| {
        let mut at = share * thread as u64;
        let end = (at + share).min(length);
        while at < end {
            match file.read_at(buffer, at) {
                Ok(read) if read > 0 => at += read as u64,
                _ => break,
            }
        }
    });
    Ok(length as f64 / seconds)
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("which file? limits FILE")?;
    let threads = std::thread::available_parallelism()?.get();
    let bytes = (BYTES_PER_THREAD * threads) as f64;

    let words = BYTES_PER_THREAD / size_of::<u64>();
    let mut pairs: Vec<_> = (0..threads)
        .map(|_| (vec![1u64; words], vec![2u64; words]))
        .collect();
    let read = best_pass(&mut pairs, |_, (from, _)| {
        black_box(from.iter().fold(0u64, |sum, word| sum.wrapping_add(*word)));
    });
    let copy = best_pass(&mut pairs, |_, (from, to)| {
        to.copy_from_slice(black_box(from))
    });
    drop(pairs);

    let file = File::open(&path).map_err(|error| format!("{path}: {error}"))?;
    println!(
        r#"{{"threads": {threads}, "memory_read_mb_s": {:.0}, "memory_copy_mb_s": {:.0}, "file_read_mb_s": {:.0}, "file_read_all_cores_mb_s": {:.0}}}"#,
        bytes / read / 1e6,
        bytes / copy / 1e6,
        file_rate(&file, 1)? / 1e6,
        file_rate(&file, threads)? / 1e6,
    );
    Ok(())
}
