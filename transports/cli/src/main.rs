//! The `runstep` program: `serve`, `run`, `inspect`, `cert`.
//!
//! What it prints is on stdout; logs, progress and the one line of a failure are on stderr. Exit codes: 0 for success, 1
//! for a failure, 2 for arguments that cannot be.

#![forbid(unsafe_code)]

mod args;
mod cert;
mod connect;
mod endpoint;
mod failure;
mod graph_file;
mod inspect;
mod log;
mod npy;
mod run;
mod serve;
mod show;
mod units;

use std::process::ExitCode;

use clap::Parser;
use tracing::Level;

use args::{Args, Command};

fn main() -> ExitCode {
    let args = Args::parse();
    let level = if matches!(args.command, Command::Serve(_)) { Level::INFO } else { Level::WARN };
    log::begin(args.log, level);
    let result = match &args.command {
        Command::Serve(args) => serve::serve(args),
        Command::Run(args) => run::run(args),
        Command::Inspect(args) => inspect::inspect(args),
        Command::Cert(args) => cert::cert(args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if let Some(line) = failure.line() {
                eprintln!("runstep: {line}");
            }
            failure.exit_code()
        }
    }
}
