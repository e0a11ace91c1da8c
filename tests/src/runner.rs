//! Runs golden cases on whatever can run sessions, and says what came out otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use bytes::Bytes;
use runstep::tensor::Tensor;
use runstep::wire::{self, Limits, TensorProto};
use runstep::{Code, Status};

use crate::compare::{Tolerance, mismatch};
use crate::golden::{Case, Step, load};

/// How many failures are told in full.
const TOLD_MAX: usize = 60;

/// What runs sessions: a master over some transport, or its parts put together by hand.
pub trait Engine {
    /// A session; dropped when its case is over.
    type Session: Session;

    /// An op of a serialized GraphDef that the engine does not have: its case is left out.
    fn lacks(&self, graph: &[u8]) -> Option<String>;

    /// Makes a session of a serialized GraphDef and ConfigProto. Sessions share no state.
    fn create(&mut self, graph: &[u8], config: &[u8]) -> Result<Self::Session, Status>;
}

/// A session of an [`Engine`].
pub trait Session {
    /// Adds the nodes of a serialized GraphDef to a graph said to be of `version`.
    fn extend(&mut self, graph: &[u8], version: i64) -> Result<(), Status>;

    /// Runs a step; values come back under the names asked for.
    fn run(
        &mut self,
        feeds: &[(String, TensorProto)],
        fetches: &[String],
        targets: &[String],
    ) -> Result<BTreeMap<String, Tensor>, Status>;
}

/// Where a runner is known to answer otherwise, with the reason: (case, numbers of the steps).
pub type Otherwise = [(&'static str, &'static [usize], &'static str)];

/// Runs every case of a family and panics with a list of what came out wrong.
///
/// The environment variable `GOLDEN` picks the cases whose name contains it.
///
/// # Panics
/// When a value or a code is another than TensorFlow's, or when a listed exception is none.
pub fn check<E: Engine>(engine: &mut E, family: &str, otherwise: &Otherwise) {
    let only = std::env::var("GOLDEN").unwrap_or_default();
    let cases: Vec<Case> = load(family).case.into_iter().filter(|c| c.name.contains(&only)).collect();
    let mut wrong = Vec::new();
    let mut steps = 0;
    let mut excused: BTreeSet<(&str, usize)> = BTreeSet::new();
    let mut lacking = BTreeMap::<String, usize>::new();
    for case in &cases {
        if let Some(op) = engine.lacks(&case.graph) {
            *lacking.entry(op).or_default() += 1;
            continue;
        }
        steps += case.step.len().max(1);
        for (step, text) in run_case(engine, case) {
            match otherwise.iter().find(|(name, numbers, _)| *name == case.name && numbers.contains(&step)) {
                Some((name, ..)) => drop(excused.insert((*name, step))),
                None => wrong.push((case.name.clone(), step, text)),
            }
        }
    }
    println!("{family}: {} cases, {steps} steps, {} wrong", cases.len(), wrong.len());
    if !lacking.is_empty() {
        println!("{family}: cases left out for an op that is not there: {lacking:?}");
    }
    assert!(wrong.is_empty(), "{}", told(family, &wrong));
    if only.is_empty() {
        let listed = otherwise.iter().flat_map(|(name, numbers, _)| numbers.iter().map(|&n| (*name, n)));
        let stale: Vec<_> = listed.filter(|one| !excused.contains(one)).collect();
        assert!(stale.is_empty(), "{family}: these exceptions are none: {stale:?}");
    }
}

/// The failures, at most one a case in full, and how many there are a case's first word (its op).
fn told(family: &str, wrong: &[(String, usize, String)]) -> String {
    let mut text = format!("{family}: {} steps came out otherwise\n", wrong.len());
    let mut told = BTreeSet::new();
    for (case, step, what) in wrong.iter().filter(|(case, ..)| told.insert(case.clone())).take(TOLD_MAX) {
        let _ = writeln!(text, "  {case}, step {step}: {}", what.replace('\n', " "));
    }
    let mut by_op: BTreeMap<&str, usize> = BTreeMap::new();
    for (case, ..) in wrong {
        *by_op.entry(case.split('/').next().unwrap_or(case)).or_default() += 1;
    }
    let _ = writeln!(text, "  by op: {by_op:?}");
    text
}

/// The steps of a case that came out otherwise; creation counts as step 0 of a case without steps.
fn run_case<E: Engine>(engine: &mut E, case: &Case) -> Vec<(usize, String)> {
    let mut session = match engine.create(&case.graph, &case.config) {
        Ok(_) if case.create_code != 0 => return vec![(0, format!("created, expected {}", code(case.create_code)))],
        Ok(session) => session,
        Err(error) if error.code() as i32 == case.create_code => return Vec::new(),
        Err(error) => return vec![(0, format!("not created, expected {}: {error}", code(case.create_code)))],
    };
    let outcomes = case.step.iter().map(|step| run_step(&mut session, step));
    outcomes.enumerate().filter_map(|(i, outcome)| Some((i, outcome.err()?))).collect()
}

fn run_step(session: &mut impl Session, step: &Step) -> Result<(), String> {
    let result = match &step.extend {
        Some(graph) => session.extend(graph, step.extend_version).map(|()| BTreeMap::new()),
        None => feeds(step).and_then(|feeds| session.run(&feeds, &step.fetch, &step.target)),
    };
    let values = match result {
        Err(error) if error.code() as i32 == step.code => return Ok(()),
        Err(error) => {
            return Err(format!("{:?} {:?}: {error}, expected {}", step.fetch, step.target, expected(step)));
        }
        Ok(_) if step.code != 0 => {
            return Err(format!("{:?} {:?}: ran, expected {}", step.fetch, step.target, expected(step)));
        }
        Ok(values) => values,
    };
    let tolerance = Tolerance { rtol: step.rtol, atol: step.atol, exact: step.exact };
    for want in &step.expected {
        let Some(got) = values.get(&want.name) else { return Err(format!("no value of {}", want.name)) };
        let tensor = wire::tensor_from_proto(&proto(&want.tensor).map_err(|e| e.to_string())?, None);
        if let Some(text) = mismatch(got, &tensor.map_err(|e| e.to_string())?, tolerance) {
            return Err(format!("{}: {text}", want.name));
        }
    }
    Ok(())
}

fn expected(step: &Step) -> String {
    if step.code == 0 { "OK".to_owned() } else { format!("{} ({})", code(step.code), step.message) }
}

fn code(number: i32) -> &'static str {
    Code::from_i32(number).name()
}

fn feeds(step: &Step) -> Result<Vec<(String, TensorProto)>, Status> {
    step.feed.iter().map(|f| Ok((f.name.clone(), proto(&f.tensor)?))).collect()
}

fn proto(bytes: &[u8]) -> Result<TensorProto, Status> {
    wire::decode(Bytes::copy_from_slice(bytes), &Limits::default())
}
