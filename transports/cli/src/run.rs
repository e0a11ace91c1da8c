//! `runstep run`: a graph, its feeds from files, its fetches printed or written.

use std::future::Future;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use runstep::client::{Outputs, Session};
use runstep::service::{RunOptions, SessionConfig};
use runstep::tensor::Tensor;
use smol::Timer;

use crate::args::Run;
use crate::failure::Failure;
use crate::{connect, graph_file, npy, show};

/// Work that takes longer than this shows that it goes on.
const PATIENCE: Duration = Duration::from_millis(500);

/// Runs the graph.
///
/// # Errors
/// Arguments that name nothing to run; files that are not what they should be; whatever the master answers.
pub(crate) fn run(args: &Run) -> Result<(), Failure> {
    if args.fetch.is_empty() && args.target.is_empty() {
        return Err(Failure::Usage("there is nothing to run: name a --fetch or a --target".to_owned()));
    }
    let graph = graph_file::read(&args.graph)?.graph;
    let feeds = args.feed.iter().map(|(name, path)| Ok((name.as_str(), npy::read(path)?)));
    let feeds = feeds.collect::<Result<Vec<_>, Failure>>()?;
    let (outputs, times) = smol::block_on(async {
        let client = match &args.connect {
            Some(endpoint) => with_spinner("connecting", connect::remote(endpoint, &args.trust)).await?,
            None => connect::in_process(args.threads)?,
        };
        let opening = client.create_session(graph, SessionConfig::default());
        let session = with_spinner("opening a session", opening).await?;
        let result = steps(args, &session, &feeds).await;
        // What went wrong before matters more than that the session could not be closed.
        let closed = session.close().await;
        let result = result?;
        closed?;
        Ok::<_, Failure>(result)
    })?;
    let mut stdout = std::io::stdout().lock();
    match &args.out {
        None => print(&outputs, &mut stdout)?,
        Some(dir) => {
            std::fs::create_dir_all(dir).map_err(|e| Failure::at(dir.display(), e))?;
            for (name, tensor) in outputs.iter() {
                let path = file_of(dir, name);
                npy::write(&path, tensor)?;
                writeln!(stdout, "{}: {} {}", path.display(), tensor.dtype(), tensor.shape())?;
            }
        }
    }
    stdout.flush()?;
    if args.repeat > 1 {
        eprintln!("{}", timing(times));
    }
    Ok(())
}

/// Makes all runs; answers what the last fetched, and how long each took.
async fn steps(args: &Run, session: &Session, feeds: &[(&str, Tensor)]) -> Result<(Outputs, Vec<Duration>), Failure> {
    let feeds: Vec<(&str, &Tensor)> = feeds.iter().map(|(name, tensor)| (*name, tensor)).collect();
    let fetches: Vec<&str> = args.fetch.iter().map(String::as_str).collect();
    let targets: Vec<&str> = args.target.iter().map(String::as_str).collect();
    let timeout = args.timeout.map_or(0, |limit| i64::try_from(limit.as_millis().max(1)).unwrap_or(i64::MAX));
    let options = RunOptions { timeout_in_ms: timeout, ..RunOptions::default() };
    for init in &args.init {
        let node = [init.as_str()];
        with_spinner(init, session.run_with(&[], &[], &node, options.clone())).await?;
    }
    if args.repeat == 1 {
        let start = Instant::now();
        let run = session.run_with(&feeds, &fetches, &targets, options);
        let (outputs, _) = with_spinner("running", run).await?;
        return Ok((outputs, vec![start.elapsed()]));
    }
    let bar = bar(u64::from(args.repeat));
    let mut last = Outputs::default();
    let mut times = Vec::new();
    for _ in 0..args.repeat {
        let start = Instant::now();
        (last, _) = session.run_with(&feeds, &fetches, &targets, options.clone()).await?;
        times.push(start.elapsed());
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok((last, times))
}

fn print(outputs: &Outputs, to: &mut impl Write) -> Result<(), Failure> {
    for (name, tensor) in outputs.iter() {
        writeln!(to, "{name} {} {}\n{}", tensor.dtype(), tensor.shape(), show::elements(tensor))?;
    }
    Ok(())
}

/// The file of a fetch.
fn file_of(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{}.npy", name.replace([':', '/', '\\'], "_")))
}

fn timing(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |i: usize| times.get(i).copied().unwrap_or_default();
    let (count, fastest, median) = (times.len(), at(0), at(times.len() / 2));
    format!("{count} runs: median {median:.1?}, fastest {fastest:.1?}")
}

fn bar(steps: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(steps), target());
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} {per_sec} {eta}");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// Awaits `work`, with a spinner and the time beside `what` once that takes long.
async fn with_spinner<T, E>(what: &str, work: impl Future<Output = Result<T, E>>) -> Result<T, Failure>
where
    Failure: From<E>,
{
    let what = what.to_owned();
    let spin = async {
        Timer::after(PATIENCE).await;
        let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}");
        let bar = ProgressBar::with_draw_target(None, target());
        let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner())).with_message(what);
        let _clear = Clear(bar.clone());
        loop {
            bar.tick();
            Timer::after(Duration::from_millis(100)).await;
        }
    };
    Ok(smol::future::or(work, spin).await?)
}

/// Takes a bar from the screen when it goes.
struct Clear(ProgressBar);

impl Drop for Clear {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn target() -> ProgressDrawTarget {
    if std::io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of tensors become names of files, whatever is in them.
    #[test]
    fn files() {
        assert_eq!(file_of(Path::new("d"), "a/b:0"), Path::new("d/a_b_0.npy"));
        assert_eq!(file_of(Path::new("d"), "../x"), Path::new("d/.._x.npy"));
    }

    /// The middle of an odd number of times, and the smallest.
    #[test]
    fn times() {
        let ms = |n| Duration::from_millis(n);
        assert_eq!(timing(vec![ms(3), ms(1), ms(2)]), "3 runs: median 2.0ms, fastest 1.0ms");
    }
}
