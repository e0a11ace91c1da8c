//! Log lines, the core's included, on stderr.

use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Begins to log what `filter` lets through, or `level` and what is graver.
pub(crate) fn begin(filter: Option<Targets>, level: Level) {
    let filter = filter.unwrap_or_else(|| Targets::new().with_default(level));
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    // A second subscriber in one process is refused; the first goes on.
    let _ = tracing_subscriber::registry().with(lines).with(filter).try_init();
}
