//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};
use tracing_subscriber::filter::Targets;

use crate::endpoint::Endpoint;
use crate::units;

/// A TensorFlow master and worker: serves sessions, runs and inspects graphs.
#[derive(Debug, Parser)]
#[command(name = "runstep", version, arg_required_else_help = true)]
pub(crate) struct Args {
    /// What to log to stderr: a level, or levels by part as in `warn,runstep=debug` [default: warn; of serve: info]
    #[arg(long, global = true, value_name = "FILTER")]
    pub(crate) log: Option<Targets>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve sessions to clients over QUIC, TCP and gRPC
    Serve(Serve),
    /// Run a graph once or more and print, or write, what it gives
    Run(Run),
    /// Say what a graph holds, needs and gives, and what of it cannot run here
    Inspect(Inspect),
    /// Make certificates for a quick start: an authority, a server's and a client's
    Cert(Cert),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Serve {
    /// Where to listen: quic://HOST:PORT, tcp://HOST:PORT or grpc://HOST:PORT; port 0 takes a free one. Prints `listening on URL` for each
    #[arg(long, value_name = "URL", required = true, num_args = 1..)]
    pub(crate) listen: Vec<Endpoint>,
    /// Collect sessions that nobody has used for this long: seconds, or as in 1d, 2h30m; 0 for never
    #[arg(long, value_name = "TIME", default_value = "1d", value_parser = units::duration)]
    pub(crate) session_idle_limit: Duration,
    /// How many CPU devices to offer
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) device_count: u32,
    /// Threads that share the work of a kernel, and as many that serve calls [default: one a processor]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<usize>,
    /// The most memory that a session's graph and steps may take, as in 512MiB or 2GB [default: no limit]
    #[arg(long, value_name = "BYTES", value_parser = units::bytes)]
    pub(crate) memory_limit: Option<usize>,
    /// The name of this process' job in device names
    #[arg(long, value_name = "NAME", default_value = "localhost")]
    pub(crate) job: String,
    /// Of QUIC: the server's certificate chain in PEM [default: one made now and signed by itself]
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(crate) cert: Option<PathBuf>,
    /// Of QUIC: the key of the certificate in PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// Of QUIC: serve only clients with a certificate that one of these (PEM) has signed
    #[arg(long, value_name = "FILE")]
    pub(crate) client_ca: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Run {
    /// The graph: a binary GraphDef
    #[arg(value_name = "GRAPH.pb")]
    pub(crate) graph: PathBuf,
    /// Feed a tensor with the array of an .npy file, as in x:0=images.npy
    #[arg(long, value_name = "NAME=FILE", value_parser = feed)]
    pub(crate) feed: Vec<(String, PathBuf)>,
    /// Fetch a tensor, as in y:0
    #[arg(long, value_name = "NAME")]
    pub(crate) fetch: Vec<String>,
    /// Run a node for its effect
    #[arg(long, value_name = "NODE")]
    pub(crate) target: Vec<String>,
    /// Run a node once before everything else, as the one that initialises variables
    #[arg(long, value_name = "NODE")]
    pub(crate) init: Vec<String>,
    /// Write each fetch as DIR/NAME.npy (`:` and `/` become `_`) instead of printing it
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Run on a server instead of in this process
    #[arg(long, value_name = "URL")]
    pub(crate) connect: Option<Endpoint>,
    /// Run so many times, give the last result and say how long runs took
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeat: u32,
    /// Give up a run after this long
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    pub(crate) timeout: Option<Duration>,
    /// Threads that share the work of a kernel in this process [default: one a processor]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<usize>,
    #[command(flatten)]
    pub(crate) trust: Trust,
}

/// Whom a client believes, and who it is.
#[derive(Debug, clap::Args)]
pub(crate) struct Trust {
    /// Of QUIC: believe servers whose certificate one of these (PEM) has signed, or is
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// Of QUIC: believe any server; without --ca this holds for servers of this machine anyway
    #[arg(long, conflicts_with = "ca")]
    pub(crate) insecure: bool,
    /// Of QUIC: the name in the server's certificate, when it is not the one in the URL
    #[arg(long, value_name = "NAME")]
    pub(crate) server_name: Option<String>,
    /// Of QUIC: this client's certificate chain in PEM, for servers that ask
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(crate) cert: Option<PathBuf>,
    /// Of QUIC: the key of the certificate in PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Inspect {
    /// The graph: a binary GraphDef
    #[arg(value_name = "GRAPH.pb")]
    pub(crate) graph: PathBuf,
    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a picture in Graphviz' language
    #[arg(long, value_name = "FILE")]
    pub(crate) dot: Option<PathBuf>,
    /// Write a picture as SVG
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Cert {
    /// Names and addresses of the server, as in localhost, 10.0.0.1
    #[arg(value_name = "NAME", required = true)]
    pub(crate) names: Vec<String>,
    /// The directory to write to
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) out: PathBuf,
}

fn feed(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => Ok((name.to_owned(), file.into())),
        _ => Err("write NAME=FILE, as in x:0=images.npy".to_owned()),
    }
}

fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count @ 1..=1024) => Ok(count),
        _ => Err("a number from 1 to 1024".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// clap's own check of the declarations, and the forms that the pages show.
    #[test]
    fn parses() {
        Args::command().debug_assert();
        let parse = |line: &str| Args::try_parse_from(line.split(' '));
        parse("runstep serve --listen quic://0.0.0.0:0 --listen tcp://localhost:7000 --session-idle-limit 0").unwrap();
        parse("runstep run g.pb --feed x:0=a.npy --fetch y:0 --connect tcp://h:1 --repeat 3 --log debug").unwrap();
        parse("runstep run --feed x:0=a.npy --feed y:0=b.npy --fetch a --fetch b --target t g.pb").unwrap();
        parse("runstep inspect g.pb --json --svg a.svg").unwrap();
        parse("runstep cert localhost 127.0.0.1 --out certs").unwrap();
        for wrong in [
            "runstep",
            "runstep serve",
            "runstep serve --listen http://h:1",
            "runstep serve --listen tcp://h:1 --cert a.pem",
            "runstep serve --listen tcp://h:1 --session-idle-limit soon",
            "runstep run g.pb --feed x:0",
            "runstep run g.pb --repeat 0",
            "runstep run g.pb --ca a.pem --insecure",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
