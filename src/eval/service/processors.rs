//! Who has the processors: the service's processes, the client, and the rest, such as a database. Linux tells; elsewhere nothing is told.

use serde::Serialize;

/// Processors in use, on average; 2.0 are two whole ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Processors {
    /// The service's processes.
    pub service: f64,
    /// This process: the client, and the model that it plays.
    pub client: f64,
    /// Everything else on the machine: the database, the system, what does not belong here.
    pub rest: f64,
    /// What nobody uses.
    pub idle: f64,
}

/// Time used since the machine started, in the system's ticks.
#[derive(Clone, Copy, Debug)]
pub struct Ticks {
    service: u64,
    client: u64,
    idle: u64,
    all: u64,
    machine: u64,
}

impl Ticks {
    /// As it stands now for these processes of the service.
    pub fn now(service: impl Iterator<Item = u32>) -> Option<Self> {
        let of = |process: &str| used(&std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?);
        let text = std::fs::read_to_string("/proc/stat").ok()?;
        let (all, idle) = machine(text.lines().next()?)?;
        let machine = text.lines().filter(|l| l.starts_with("cpu")).count().saturating_sub(1) as u64;
        Some(Self { service: service.map(|id| of(&id.to_string())).sum::<Option<u64>>()?, client: of("self")?, idle, all, machine })
    }

    /// Who had them since.
    pub fn since(&self, before: &Self) -> Processors {
        let all = self.all.saturating_sub(before.all).max(1) as f64;
        let share = |now: u64, before: u64| now.saturating_sub(before) as f64 / all * self.machine as f64;
        let (service, client, idle) = (share(self.service, before.service), share(self.client, before.client), share(self.idle, before.idle));
        Processors { service, client, rest: (self.machine as f64 - service - client - idle).max(0.0), idle }
    }
}

/// What a process and its threads have used: the 14th and 15th field, counted from behind its name, which may hold anything.
fn used(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11).map(|n| n.parse::<u64>().ok());
    Some(fields.next()?? + fields.next()??)
}

/// All ticks of the machine, and those in which nothing was done. Guests' are within the first two.
fn machine(line: &str) -> Option<(u64, u64)> {
    let ticks: Vec<u64> = line.split_whitespace().skip(1).take(8).map(|n| n.parse().ok()).collect::<Option<_>>()?;
    Some((ticks.iter().sum(), ticks.get(3)? + ticks.get(4)?))
}

impl std::fmt::Display for Processors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "service {:.2}, client {:.2}, everything else {:.2}, idle {:.2}", self.service, self.client, self.rest, self.idle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_all_ticks_of_the_machine() {
        assert_eq!(used("7 (a) b) S 1 2 3 4 5 6 7 8 9 10 30 12 0 0 20"), Some(42));
        assert_eq!(machine("cpu  10 1 9 70 10 0 0 0 5 5"), Some((100, 80)));
        let before = Ticks { service: 0, client: 0, idle: 0, all: 0, machine: 2 };
        let after = Ticks { service: 100, client: 50, idle: 20, all: 200, machine: 2 };
        assert_eq!(after.since(&before).to_string(), "service 1.00, client 0.50, everything else 0.30, idle 0.20");
    }
}
