//! What makes a flow send, as data: a name and its parameters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{AnyParams, OutOfRange, Params};
use windtunnel_units::{Bytes, Duration, Rate};

use super::rate_change::{RateChange, check_changes};
use crate::distribution::{SizeDistribution, TimeDistribution};

/// The highest rate of an application, and of a link.
const FASTEST: Rate = Rate::from_bits_per_sec(10_000_000_000_000);

/// An application with its parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ApplicationConfig {
    /// Endless data.
    #[default]
    Bulk,
    /// A number of bytes, once.
    Transfer(TransferParams),
    /// Periods of sending and of silence.
    OnOff(OnOffParams),
    /// One response after another on one connection.
    RequestResponse(RequestResponseParams),
    /// A new connection for each of many transfers.
    Poisson(PoissonParams),
    /// Frames at a constant interval.
    Media(MediaParams),
    /// Datagrams at a constant rate.
    Cbr(CbrParams),
    /// Small datagrams that come back: measures delay.
    Probe(ProbeParams),
}

/// The protocol over which an application sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// TCP.
    #[default]
    Tcp,
    /// UDP.
    Udp,
    /// RTP over UDP, with reports to a controller that sets the rate of the source.
    Rtp,
}

impl ApplicationConfig {
    /// Its parameters; [`ApplicationConfig::Bulk`] has none.
    pub fn params(&self) -> &dyn AnyParams {
        match self {
            ApplicationConfig::Bulk => &BulkParams {},
            ApplicationConfig::Transfer(params) => params,
            ApplicationConfig::OnOff(params) => params,
            ApplicationConfig::RequestResponse(params) => params,
            ApplicationConfig::Poisson(params) => params,
            ApplicationConfig::Media(params) => params,
            ApplicationConfig::Cbr(params) => params,
            ApplicationConfig::Probe(params) => params,
        }
    }

    /// Its name, as in scenarios and results.
    pub const fn kind(&self) -> &'static str {
        match self {
            ApplicationConfig::Bulk => BulkParams::NAME,
            ApplicationConfig::Transfer(_) => TransferParams::NAME,
            ApplicationConfig::OnOff(_) => OnOffParams::NAME,
            ApplicationConfig::RequestResponse(_) => RequestResponseParams::NAME,
            ApplicationConfig::Poisson(_) => PoissonParams::NAME,
            ApplicationConfig::Media(_) => MediaParams::NAME,
            ApplicationConfig::Cbr(_) => CbrParams::NAME,
            ApplicationConfig::Probe(_) => ProbeParams::NAME,
        }
    }

    /// How its rate changes.
    pub fn changes(&self) -> &[RateChange] {
        match self {
            ApplicationConfig::OnOff(params) => &params.changes,
            ApplicationConfig::Media(params) => &params.changes,
            ApplicationConfig::Cbr(params) => &params.changes,
            ApplicationConfig::Bulk
            | ApplicationConfig::Transfer(_)
            | ApplicationConfig::RequestResponse(_)
            | ApplicationConfig::Poisson(_)
            | ApplicationConfig::Probe(_) => &[],
        }
    }

    /// The same application, which leaves its connection open.
    #[must_use]
    pub fn staying_open(mut self) -> ApplicationConfig {
        match &mut self {
            ApplicationConfig::Transfer(params) => params.close = false,
            ApplicationConfig::RequestResponse(params) => params.close = false,
            ApplicationConfig::Bulk
            | ApplicationConfig::OnOff(_)
            | ApplicationConfig::Poisson(_)
            | ApplicationConfig::Media(_)
            | ApplicationConfig::Cbr(_)
            | ApplicationConfig::Probe(_) => {}
        }
        self
    }

    /// True if connections arrive during the run: the flow stands for all of them.
    pub(crate) const fn makes_connections(&self) -> bool {
        matches!(self, ApplicationConfig::Poisson(_))
    }

    /// The protocol over which it sends: a flow over plain UDP has no controller.
    pub const fn protocol(&self) -> Protocol {
        match self {
            ApplicationConfig::Cbr(_) | ApplicationConfig::Probe(_) => Protocol::Udp,
            ApplicationConfig::Media(params) => params.protocol,
            ApplicationConfig::Bulk
            | ApplicationConfig::Transfer(_)
            | ApplicationConfig::OnOff(_)
            | ApplicationConfig::RequestResponse(_)
            | ApplicationConfig::Poisson(_) => Protocol::Tcp,
        }
    }
}

/// The parameters of [`ApplicationConfig::Bulk`]: it has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-traits" = ["greedy", "elastic"]))]
pub struct BulkParams {}

impl Params for BulkParams {
    const NAME: &'static str = "bulk";
    const SUMMARY: &'static str = "Always has data to send";
}

/// A number of bytes, once; the flow completion time is from its start to the ACK of its last byte, whether or not the
/// connection is then closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-traits" = ["elastic"]))]
pub struct TransferParams {
    /// The number of bytes.
    pub size: Bytes,
    /// The application closes the connection after its last byte (FIN), and so does the other end; `linux` endpoints. A
    /// flow that starts more than once stays open.
    pub close: bool,
}

impl Default for TransferParams {
    fn default() -> TransferParams {
        TransferParams { size: Bytes::new(1_000_000), close: true }
    }
}

impl Params for TransferParams {
    const NAME: &'static str = "transfer";
    const SUMMARY: &'static str = "Sends one amount of data, once: measures the flow completion time";

    fn check(&self) -> Result<(), OutOfRange> {
        positive_size("size", self.size)
    }
}

/// Periods of sending and of silence on one connection; the flow starts with a period of sending.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OnOffParams {
    /// How long it sends.
    pub on: TimeDistribution,
    /// How long it is silent.
    pub off: TimeDistribution,
    /// The rate at which the application writes while it sends; if left out, it always has more to send.
    pub rate: Option<Rate>,
    /// Changes of the rate, those at times in order of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("default" = []))]
    pub changes: Vec<RateChange>,
}

impl Default for OnOffParams {
    fn default() -> OnOffParams {
        let second = TimeDistribution::Exponential { mean: Duration::SECOND };
        OnOffParams { on: second.clone(), off: second, rate: None, changes: Vec::new() }
    }
}

impl Params for OnOffParams {
    const NAME: &'static str = "on-off";
    const ALIASES: &'static [&'static str] = &["onoff"];
    const SUMMARY: &'static str = "Periods of sending and of silence";

    fn check(&self) -> Result<(), OutOfRange> {
        self.on.check("on")?;
        self.off.check("off")?;
        if self.on.mean() + self.off.mean() < 1e3 {
            return Err(OutOfRange::new("on", "0 s", "periods of at least 1 us, on and off together"));
        }
        if self.rate.is_none() && !self.changes.is_empty() {
            return Err(OutOfRange::missing("rate", "the rate that `changes` change"));
        }
        check_changes(&self.changes)?;
        self.rate.map_or(Ok(()), |rate| positive_rate("rate", rate))
    }
}

/// One response after another on one connection: each is written one think time after all of the last one was
/// acknowledged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RequestResponseParams {
    /// The size of a response.
    pub size: SizeDistribution,
    /// The time from the end of a response to the next one.
    pub think: TimeDistribution,
    /// The number of responses; if left out, they never end.
    pub count: Option<u64>,
    /// The application closes the connection after the last response, as `transfer` does.
    pub close: bool,
}

impl Default for RequestResponseParams {
    fn default() -> RequestResponseParams {
        RequestResponseParams {
            size: SizeDistribution::Fixed { value: Bytes::new(100_000) },
            think: TimeDistribution::Exponential { mean: Duration::from_millis(500) },
            count: None,
            close: true,
        }
    }
}

impl Params for RequestResponseParams {
    const NAME: &'static str = "request-response";
    const SUMMARY: &'static str = "One response after another on one connection";

    fn check(&self) -> Result<(), OutOfRange> {
        self.size.check("size")?;
        self.think.check("think")?;
        one_byte_on_average("size", &self.size)?;
        if self.count == Some(0) {
            return Err(OutOfRange::new("count", 0, "1 or more"));
        }
        Ok(())
    }
}

/// A new connection for each of many transfers, which arrive independently of each other (Poisson process). The group
/// has one summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Paxson and Floyd, Wide-Area Traffic: The Failure of Poisson Modeling, 1995 (sessions do arrive so)"))]
pub struct PoissonParams {
    /// Arrivals per second; either this or `load`.
    #[schemars(extend("x-unit" = "1/s"))]
    pub arrivals: Option<f64>,
    /// The average amount of data that arrives per second; either this or `arrivals`.
    pub load: Option<Rate>,
    /// The size of a transfer.
    pub size: SizeDistribution,
    /// Largest number of connections at the same time; further arrivals are turned away and counted.
    #[schemars(range(min = 1, max = 100_000))]
    pub max_active: u32,
}

impl Default for PoissonParams {
    fn default() -> PoissonParams {
        PoissonParams {
            arrivals: None,
            load: None,
            size: SizeDistribution::Pareto {
                min: Bytes::new(4_000),
                max: Bytes::new(10_000_000),
                shape: 1.2,
            },
            max_active: 10_000,
        }
    }
}

impl PoissonParams {
    /// The mean time from one arrival to the next.
    pub fn mean_interval(&self) -> Duration {
        let per_second = match (self.arrivals, self.load) {
            (Some(arrivals), _) => arrivals,
            (None, Some(load)) => load.bits_per_sec() as f64 / 8.0 / self.size.mean(),
            (None, None) => 0.0,
        };
        if per_second > 0.0 { Duration::from_nanos_f64(1e9 / per_second) } else { Duration::MAX }
    }
}

impl Params for PoissonParams {
    const NAME: &'static str = "poisson";
    const SUMMARY: &'static str = "A new connection for each of many transfers, which arrive at random";

    fn check(&self) -> Result<(), OutOfRange> {
        self.size.check("size")?;
        one_byte_on_average("size", &self.size)?;
        match (self.arrivals, self.load) {
            (Some(arrivals), None) if !(1e-6..=1e6).contains(&arrivals) => {
                return Err(OutOfRange::new("arrivals", arrivals, "1e-6 to 1e6 per second"));
            }
            (None, Some(load)) => positive_rate("load", load)?,
            (Some(_), None) => {}
            (None, None) => {
                return Err(OutOfRange::missing("arrivals", "either `arrivals` or `load`"));
            }
            (Some(_), Some(load)) => {
                return Err(OutOfRange::new("load", load, "not together with `arrivals`"));
            }
        }
        if self.max_active == 0 || self.max_active > 100_000 {
            return Err(OutOfRange::new("max_active", self.max_active, "1 to 100000"));
        }
        Ok(())
    }
}

/// Frames at a constant interval, as in a video call: over TCP each is written when it is made, over UDP its datagrams
/// leave evenly over the interval, and over RTP the flow's controller sets their size and when their datagrams leave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-traits" = ["paced"]))]
pub struct MediaParams {
    /// The mean rate of the media, without headers; over RTP the highest.
    pub rate: Rate,
    /// The lowest rate over RTP.
    pub min_rate: Rate,
    /// The time from frame to frame.
    pub frame_interval: Duration,
    /// Every n-th frame is a key frame; 0 means no key frames.
    #[schemars(extend("x-unit" = "frames"))]
    #[serde(deserialize_with = "windtunnel_units::count::frames")]
    pub keyframe_every: u32,
    /// The size of a key frame relative to the others.
    #[schemars(range(min = 1.0, max = 1000.0))]
    pub keyframe_ratio: f64,
    /// How long a frame may wait at the sender over RTP; one that waits longer is discarded, and the next is a key frame.
    pub discard_after: Option<Duration>,
    /// The protocol over which it is sent.
    pub protocol: Protocol,
    /// Changes of the rate, those at times in order of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("default" = []))]
    pub changes: Vec<RateChange>,
}

impl Default for MediaParams {
    fn default() -> MediaParams {
        MediaParams {
            rate: Rate::from_mbps(2),
            min_rate: Rate::from_bits_per_sec(64_000),
            frame_interval: Duration::from_nanos(33_333_333),
            keyframe_every: 0,
            keyframe_ratio: 8.0,
            discard_after: None,
            protocol: Protocol::Udp,
            changes: Vec::new(),
        }
    }
}

impl Params for MediaParams {
    const NAME: &'static str = "media";
    const SUMMARY: &'static str = "Frames at a constant interval, as in a video call";

    fn check(&self) -> Result<(), OutOfRange> {
        positive_rate("rate", self.rate)?;
        positive_time("frame_interval", self.frame_interval)?;
        check_changes(&self.changes)?;
        if !(1.0..=1000.0).contains(&self.keyframe_ratio) {
            return Err(OutOfRange::new("keyframe_ratio", self.keyframe_ratio, "1 to 1000"));
        }
        if self.protocol == Protocol::Rtp {
            positive_rate("min_rate", self.min_rate)?;
            if self.min_rate > self.rate {
                return Err(OutOfRange::new("min_rate", self.min_rate, "at most `rate`"));
            }
        }
        if let Some(longest) = self.discard_after {
            positive_time("discard_after", longest)?;
        }
        Ok(())
    }
}

/// Datagrams at a constant rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-title" = "CBR", "x-traits" = ["paced"]))]
pub struct CbrParams {
    /// The rate of IP packets, including headers.
    pub rate: Rate,
    /// The length of an IP packet.
    pub packet_size: Bytes,
    /// Whether it responds to losses: a report, which comes at most once per round trip, halves the rate if there was a
    /// loss and adds a twentieth of `rate` if there was none.
    pub responsive: bool,
    /// The lowest rate of a responsive flow.
    pub min_rate: Rate,
    /// Changes of the rate, those at times in order of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("default" = []))]
    pub changes: Vec<RateChange>,
}

impl Default for CbrParams {
    fn default() -> CbrParams {
        CbrParams {
            rate: Rate::from_mbps(1),
            packet_size: Bytes::new(1_200),
            responsive: false,
            min_rate: Rate::from_bits_per_sec(64_000),
            changes: Vec::new(),
        }
    }
}

impl Params for CbrParams {
    const NAME: &'static str = "cbr";
    const SUMMARY: &'static str = "UDP datagrams at a constant rate, responsive or not";

    fn check(&self) -> Result<(), OutOfRange> {
        positive_rate("rate", self.rate)?;
        datagram("packet_size", self.packet_size)?;
        check_changes(&self.changes)?;
        if self.rate.transfer_time(self.packet_size).is_zero() {
            return Err(OutOfRange::new("rate", self.rate, "so low that datagrams are at least 1 ns apart"));
        }
        if self.responsive {
            positive_rate("min_rate", self.min_rate)?;
            if self.min_rate > self.rate {
                return Err(OutOfRange::new("min_rate", self.min_rate, "at most `rate`"));
            }
        }
        Ok(())
    }
}

/// Small datagrams that come back: measures delay and loss as irtt and ping do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 2681; irtt"))]
pub struct ProbeParams {
    /// The time from one probe to the next.
    pub interval: Duration,
    /// The length of an IP packet.
    pub size: Bytes,
}

impl Default for ProbeParams {
    fn default() -> ProbeParams {
        ProbeParams { interval: Duration::from_millis(10), size: Bytes::new(64) }
    }
}

impl Params for ProbeParams {
    const NAME: &'static str = "probe";
    const ALIASES: &'static [&'static str] = &["irtt", "ping"];
    const SUMMARY: &'static str = "Small UDP datagrams that come back: measures delay and loss";

    fn check(&self) -> Result<(), OutOfRange> {
        positive_time("interval", self.interval)?;
        datagram("size", self.size)
    }
}

fn one_byte_on_average(key: &'static str, size: &SizeDistribution) -> Result<(), OutOfRange> {
    if size.mean() < 1.0 {
        Err(OutOfRange::new(key, size.mean(), "1 byte or more on average"))
    } else {
        Ok(())
    }
}

pub(super) fn positive_rate(key: &'static str, rate: Rate) -> Result<(), OutOfRange> {
    if rate == Rate::ZERO || rate > FASTEST {
        return Err(OutOfRange::new(key, rate, "more than 0 bit/s and at most 10 Tbit/s"));
    }
    Ok(())
}

fn positive_size(key: &'static str, size: Bytes) -> Result<(), OutOfRange> {
    if size == Bytes::ZERO { Err(OutOfRange::new(key, size, "1 byte or more")) } else { Ok(()) }
}

fn positive_time(key: &'static str, time: Duration) -> Result<(), OutOfRange> {
    if time.is_zero() { Err(OutOfRange::new(key, time, "more than 0 s")) } else { Ok(()) }
}

/// The smallest packet: room for headers, a sequence number and a time stamp (spec/queues-and-signalling section 18.1).
fn datagram(key: &'static str, size: Bytes) -> Result<(), OutOfRange> {
    if size < Bytes::new(44) || size > Bytes::new(65_535) {
        return Err(OutOfRange::new(key, size, "44 bytes to 65535 bytes"));
    }
    Ok(())
}
