//! Bulk data over QUIC: `server ADDRESS` counts what it gets, and `client ADDRESS AMOUNT` sends that much to it, or for
//! that long, with one of quiche's controllers. At its end the client prints what quiche knows about the path, in JSON.

mod endpoint;
mod tls;
mod transfer;

use std::error::Error;
use std::net::SocketAddr;
use std::process::ExitCode;

use quiche::{Config, PROTOCOL_VERSION};

use endpoint::{Endpoint, PAYLOAD};
use transfer::{Amount, Counting, Sending};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const USAGE: &str = "usage: windtunnel-quiche server ADDRESS:PORT
       windtunnel-quiche client ADDRESS:PORT AMOUNT [--cc reno|cubic|bbr2]

AMOUNT: bytes (5000000), or a time in seconds (10s)";
const PROTOCOL: &[u8] = b"windtunnel";
/// The window of flow control: more than paths hold that a machine can emulate, and so little that what quiche takes from
/// a program and keeps for later is sent soon after its time is over (it takes a congestion window with each ACK).
const WINDOW: u64 = 2 << 20;
const IDLE_MS: u64 = 5_000;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["server", address] => server(address),
        ["client", address, amount] => client(address, amount, "cubic"),
        ["client", address, amount, "--cc", cc] => client(address, amount, cc),
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Serves until it is ended.
fn server(address: &str) -> Result<()> {
    let mut config = configured(Config::with_boring_ssl_ctx_builder(PROTOCOL_VERSION, tls::self_signed()?)?)?;
    Endpoint::bind(parsed(address)?)?.serve(&mut config, Counting::default)
}

/// Sends, and prints one line.
fn client(address: &str, amount: &str, cc: &str) -> Result<()> {
    let mut config = configured(Config::new(PROTOCOL_VERSION)?)?;
    config.verify_peer(false);
    config.set_cc_algorithm_name(cc).map_err(|_| format!("{cc}: quiche has no such controller"))?;
    let server = parsed(address)?;
    let unspecified: SocketAddr = if server.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }.parse()?;
    let sending = Sending::new(Amount::parse(amount).ok_or(USAGE)?);
    let (connection, sending) = Endpoint::bind(unspecified)?.connect(server, &mut config, sending)?;
    println!("{}", sending.report(&connection, cc)?);
    Ok(())
}

/// quiche's defaults, but for the size of packets and windows of flow control.
fn configured(mut config: Config) -> Result<Config> {
    config.set_application_protos(&[PROTOCOL])?;
    config.set_max_send_udp_payload_size(PAYLOAD);
    config.set_max_idle_timeout(IDLE_MS);
    config.set_initial_max_data(WINDOW);
    config.set_max_connection_window(WINDOW);
    config.set_max_stream_window(WINDOW);
    config.set_initial_max_stream_data_bidi_local(WINDOW);
    config.set_initial_max_stream_data_bidi_remote(WINDOW);
    config.set_initial_max_streams_bidi(1);
    Ok(config)
}

fn parsed(address: &str) -> Result<SocketAddr> {
    Ok(address.parse().map_err(|_| format!("{address}: not ADDRESS:PORT"))?)
}
