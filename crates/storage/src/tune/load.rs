//! The load of the machine by other processes, if the system tells (Linux).

/// The processor time used so far, in the system's ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Load {
    /// All processes, and idle time.
    all: u64,
    /// All processes.
    busy: u64,
    /// This process.
    own: u64,
}

impl Load {
    /// The times at this moment.
    pub fn now() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        Load::parse(&read("/proc/stat"), &read("/proc/self/stat")).unwrap_or_default()
    }

    /// The share of all cores that other processes have used since `before`; 0 if unknown.
    pub fn others_since(&self, before: &Load) -> f64 {
        let since = |of: fn(&Load) -> u64| of(self).saturating_sub(of(before)) as f64;
        let others = since(|load| load.busy) - since(|load| load.own);
        (others / since(|load| load.all).max(1.0)).max(0.0)
    }

    fn parse(system: &str, process: &str) -> Option<Self> {
        let numbers = system.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<u64> = numbers
            .split_whitespace()
            .map_while(|number| number.parse().ok())
            // The time of guests is part of the user time too.
            .take(8)
            .collect();
        let all: u64 = ticks.iter().sum();
        // Idle, and idle while waiting for input and output.
        let idle = ticks.get(3)? + ticks.get(4)?;
        // The program's name in parentheses may hold anything. The 14th and 15th field are the times.
        let mut fields = process.rsplit_once(')')?.1.split_whitespace().skip(11);
        let mut field = || fields.next()?.parse::<u64>().ok();
        Some(Load {
            all,
            busy: all - idle,
            own: field()? + field()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_use_is_all_but_what_is_idle_or_own() {
        let own = "7 (a ) b) S 1 7 7 0 -1 0 0 0 0 0 30 10 0 0 20 0 4 0 100 0";
        let before = Load::parse("cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1\n", own).unwrap();
        assert_eq!((before.all, before.busy, before.own), (1000, 150, 40));
        let own = own.replace("30 10", "60 20");
        let after = Load::parse("cpu  150 0 70 900 60 10 0 10 5 0\n", &own).unwrap();
        // 90 of 200 ticks were used, 40 of them by this process.
        assert_eq!(after.others_since(&before), 0.25);
        assert_eq!(before.others_since(&before), 0.0);
        assert_eq!(Load::parse("", &own), None);
        assert_eq!(Load::parse("cpu 1 2", &own), None);
        assert_eq!(Load::default().others_since(&after), 0.0);
    }
}
