//! Contestants that take turns, so that what disturbs the machine disturbs all of them alike.

use std::time::Instant;

/// Those who are measured.
pub(crate) struct Rounds {
    contestants: Vec<Contestant>,
}

struct Contestant {
    name: String,
    calls: u32,
    call: Box<dyn FnMut()>,
    /// Nanoseconds a call, a value a round.
    samples: Vec<f64>,
}

impl Rounds {
    pub(crate) fn new() -> Rounds {
        Rounds { contestants: Vec::new() }
    }

    /// Adds one that makes so many calls in its turn.
    pub(crate) fn contestant(&mut self, name: &str, calls: u32, call: impl FnMut() + 'static) {
        let call: Box<dyn FnMut()> = Box::new(call);
        self.contestants.push(Contestant { name: name.to_owned(), calls, call, samples: Vec::new() });
    }

    /// Lets all take turns; the first turn of each warms it up. Answers the median nanoseconds a call.
    pub(crate) fn run(mut self, rounds: usize) -> Vec<(String, f64)> {
        for round in 0..=rounds {
            for one in &mut self.contestants {
                let start = Instant::now();
                (0..one.calls).for_each(|_| (one.call)());
                let each = start.elapsed().as_nanos() as f64 / f64::from(one.calls);
                if round > 0 {
                    one.samples.push(each);
                }
            }
        }
        let median = |mut samples: Vec<f64>| {
            samples.sort_by(f64::total_cmp);
            samples[samples.len() / 2]
        };
        self.contestants.into_iter().map(|one| (one.name, median(one.samples))).collect()
    }
}

/// Prints a result in the form that is read by programs.
pub(crate) fn figure(name: &str, value: f64, unit: &str) {
    let digits = if value < 10.0 { 4 } else { 1 };
    println!("figure {name} {value:.digits$} {unit}");
}
