//! Jobs for the tests, some of which do harm to their workers.

use std::cmp::Ordering;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokapi::mapreduce::{Emitter, Job, Line, Lines, Portable};
use tokapi_mapreduce::{Item, Items, ListJob};

/// Makes a job with outputs that borrow nothing portable, by its name.
macro_rules! list_job {
    ($job:ty, $name:literal, $output:ty) => {
        impl Portable for $job {
            const NAME: &'static str = $name;
        }

        impl ListJob for $job {
            type Owned = $output;

            fn own(output: $output) -> $output {
                output
            }
        }
    };
}

/// Counts lines; some lines do harm to it.
#[derive(Serialize, Deserialize)]
pub struct Count {
    /// The folder in which attempts at lines leave marks.
    pub marks: PathBuf,
}

impl Count {
    /// Whether this is the first attempt of that name; it leaves a mark with its process.
    fn is_first(&self, name: &str) -> bool {
        // Of two attempts at the same time, one is the first.
        let Ok(mut mark) = fs::File::create_new(self.marks.join(name)) else {
            return false;
        };
        write!(mark, "{}", std::process::id()).unwrap();
        true
    }
}

/// Waits until `condition` holds. The limit only guards against hanging.
pub fn wait_for(what: &str, condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < Duration::from_secs(120), "{what}");
        sleep(Duration::from_millis(5));
    }
}

/// Whether a process has ended, so that its files are closed. Nobody may have waited for it yet.
pub fn has_ended(process: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"));
    stat.map_or(true, |stat| {
        let behind_name = stat.rsplit_once(") ").map_or("", |(_, behind)| behind);
        // The first thread may end before the others, which keep pipes open.
        let threads = fs::read_dir(format!("/proc/{process}/task")).map_or(0, Iterator::count);
        behind_name.starts_with('Z') && threads <= 1
    })
}

/// Sends a signal; false if there is no such process.
pub fn signal(signal: &str, process: &str) -> bool {
    let mut kill = Command::new("kill");
    kill.args([signal, process])
        .stderr(std::process::Stdio::null());
    kill.status().unwrap().success()
}

impl Job for Count {
    type Input = Lines;
    type Key<'a> = &'a str;
    type Value = u64;
    type Note = ();
    type Output<'a> = (&'a str, u64);

    fn map(&self, line: Line<'_>, emit: &mut Emitter<Self>) {
        match line.text {
            "panics" => panic!("this line is no good"),
            "aborts" => std::process::abort(),
            "hangs" => hang(),
            "dies once" if self.is_first("dies once") => std::process::exit(3),
            "hangs once" if self.is_first("hangs once") => hang(),
            "stops once" if self.is_first("stops once") => {
                signal("-STOP", &std::process::id().to_string());
            }
            // Long enough for the first attempt to go on meanwhile.
            "stops once" if self.is_first("second attempt") => sleep(Duration::from_millis(400)),
            "all but one die" if self.is_first("all but one die") => {
                wait_for("the death of another attempt", || {
                    self.marks.join("died").exists()
                });
                // The runner may know of it by now, or not.
                sleep(Duration::from_millis(100))
            }
            "all but one die" => {
                fs::write(self.marks.join("died"), "").unwrap();
                std::process::exit(3)
            }
            _ => {}
        }
        emit.pair(line.text, 1);
    }

    fn reduce(
        &self,
        line: &str,
        counts: impl Iterator<Item = u64>,
        write: &mut impl FnMut((&str, u64)),
    ) -> tokapi::Result<()> {
        assert!(line != "cannot be reduced", "no such key");
        match line {
            "hangs once when reduced" if self.is_first(line) => hang(),
            "aborts when reduced" => std::process::abort(),
            _ => {}
        }
        write((line, counts.sum()));
        Ok(())
    }
}

impl Portable for Count {
    const NAME: &'static str = "count";
}

impl ListJob for Count {
    type Owned = (String, u64);

    fn own((line, count): (&str, u64)) -> (String, u64) {
        (line.into(), count)
    }
}

fn hang() {
    sleep(Duration::from_secs(1000));
}

/// Numbers by their last digit, in as many runs as there are splits.
#[derive(Serialize, Deserialize)]
pub struct Digits;

impl Job for Digits {
    type Input = Items<u64>;
    type Key<'a> = u64;
    type Value = u64;
    type Note = u64;
    type Output<'a> = (u64, Vec<u64>);

    fn map(&self, number: Item<'_, u64>, emit: &mut Emitter<Self>) {
        emit.pair(number.item % 10, *number.item);
        *emit.note() += 1;
    }

    fn reduce(
        &self,
        digit: u64,
        numbers: impl Iterator<Item = u64>,
        write: &mut impl FnMut((u64, Vec<u64>)),
    ) -> tokapi::Result<()> {
        write((digit, numbers.collect()));
        Ok(())
    }
}

list_job!(Digits, "digits", (u64, Vec<u64>));

/// A job that makes the runner sort slowly, and takes its values slowly.
#[derive(Serialize, Deserialize)]
pub struct Slow;

/// A key that takes its time to be compared.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowKey(u64);

impl PartialOrd for SlowKey {
    fn partial_cmp(&self, other: &SlowKey) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SlowKey {
    fn cmp(&self, other: &SlowKey) -> Ordering {
        sleep(Duration::from_millis(2));
        self.0.cmp(&other.0)
    }
}

impl Job for Slow {
    type Input = Items<u64>;
    type Key<'a> = SlowKey;
    type Value = u64;
    type Note = ();
    type Output<'a> = u64;

    fn map(&self, number: Item<'_, u64>, emit: &mut Emitter<Self>) {
        emit.pair(SlowKey(0), *number.item);
        emit.pair(SlowKey(*number.item), *number.item);
    }

    fn reduce(
        &self,
        key: SlowKey,
        values: impl Iterator<Item = u64>,
        write: &mut impl FnMut(u64),
    ) -> tokapi::Result<()> {
        let pause = Duration::from_millis(if key.0 == 0 { 10 } else { 0 });
        write(values.inspect(|_| sleep(pause)).sum());
        Ok(())
    }
}

list_job!(Slow, "slow", u64);

/// Half of all pairs have the key 0, and long values. Tells of every key the bytes of its values;
/// of this one also what memory the process that reduced it has had by then.
#[derive(Serialize, Deserialize)]
pub struct Skewed;

impl Job for Skewed {
    type Input = Items<u64>;
    type Key<'a> = u64;
    type Value = String;
    type Note = ();
    type Output<'a> = (u64, u64);

    fn map(&self, number: Item<'_, u64>, emit: &mut Emitter<Self>) {
        emit.pair(0, "x".repeat(1000));
        emit.pair(*number.item, String::new());
    }

    fn reduce(
        &self,
        _: u64,
        values: impl Iterator<Item = String>,
        write: &mut impl FnMut((u64, u64)),
    ) -> tokapi::Result<()> {
        let bytes = values.map(|value| value.len() as u64).sum();
        let peak = if bytes > 0 { peak_memory_bytes() } else { 0 };
        write((bytes, peak));
        Ok(())
    }
}

/// What this process has had in memory at the most; 0 where the system does not tell.
fn peak_memory_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = peak.and_then(|peak| peak.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) << 10
}

list_job!(Skewed, "skewed", (u64, u64));
