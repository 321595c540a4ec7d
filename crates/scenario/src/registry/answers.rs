//! Names of the field that do not exist here: the message says so, and names what comes nearest, instead of a list of
//! names among which it is not.

use super::Registry;
use crate::parse::cursor::Cursor;
use crate::parse::document::shorten;
use crate::parse::fault::Fault;

/// What to answer to a name that is known in the field.
#[derive(Clone, Copy, Debug)]
enum Answer {
    /// It exists under another name.
    Called(&'static str),
    /// It is not built: what it is, and what comes nearest, the best first; those of another crate may be missing.
    Nearest(&'static str, &'static [&'static str]),
    /// It is something else than this key names.
    Elsewhere(&'static str),
}
use Answer::{Called, Elsewhere, Nearest};

/// A name of the field, and the answer to it.
type Row = (&'static str, Answer);

/// What families call their members: a table of answers belongs to each.
const CONTROLLER: &str = "a controller";
const QUEUE: &str = "a queue";
const AQM: &str = "an AQM";
const ELEMENT: &str = "an impairment";
const APPLICATION: &str = "an application";

const CONTROLLERS: &[Row] = &[
    ("bbrv1", Called("bbr")),
    ("bbr1", Called("bbr")),
    ("bbrv2", Called("bbr2")),
    ("bbrv3", Called("bbr3")),
    ("ctcp", Called("compound")),
    ("hstcp", Called("highspeed")),
    ("stcp", Called("scalable")),
    ("tcpw", Called("westwood")),
    ("tcp-lp", Called("lp")),
    ("tcp-nv", Called("nv")),
    ("fast", Nearest("FAST TCP, which keeps a number of packets in the queue", &["vegas"])),
    ("pcc", Nearest("PCC Allegro, which tries rates and keeps the more useful one", &["vivace", "bbr"])),
    ("allegro", Nearest("PCC Allegro, which tries rates and keeps the more useful one", &["vivace", "bbr"])),
    ("proteus", Nearest("PCC Proteus, which can yield to others", &["vivace", "ledbat-pp", "ledbat"])),
    ("sprout", Nearest("it forecasts the rate of a cellular link", &["copa"])),
    ("verus", Nearest("it learns a map from delay to window", &["copa"])),
    ("remy", Nearest("its rules are computed for a model of the network", &["copa"])),
    ("orca", Nearest("a learnt controller around CUBIC", &["cubic"])),
    ("aurora", Nearest("a learnt controller", &["vivace", "bbr"])),
    ("timely", Nearest("a controller of data centres, by the gradient of the delay", &["vegas"])),
    ("swift", Nearest("a controller of data centres, by a target of the delay", &["copa"])),
    ("dcqcn", Nearest("a controller of RDMA, by marks", &["dctcp"])),
    ("d2tcp", Nearest("DCTCP with deadlines", &["dctcp"])),
    ("hpcc", Nearest("a controller of data centres, by telemetry of every link", &["dctcp"])),
    (
        "quic",
        Elsewhere(
            "a transport: `cc` names a controller; ecn = \"quic\" is QUIC's feedback of marks, [tcp] the sender",
        ),
    ),
    (
        "mptcp",
        Elsewhere(
            "a transport: flows with the same `connection` are its subflows; cc = \"lia\" couples them",
        ),
    ),
    ("wvegas", Nearest("weighted Vegas, which couples subflows by their delays", &["olia", "balia", "lia"])),
    ("rledbat", Elsewhere("a mechanism of a flow's receiver: rledbat = \"ledbat-pp\"")),
    ("sack", Elsewhere("a mechanism of TCP: [tcp] sack, which is on")),
    ("rack", Elsewhere("a mechanism of TCP: `windtunnel list tcp` shows loss detections")),
    ("prr", Elsewhere("a mechanism of TCP: `windtunnel list tcp` shows those of recovery")),
    ("ecn", Elsewhere("a signal: the flow's key `ecn` asks for it")),
    ("udp", Elsewhere("a transport without a controller: app = \"cbr\"")),
];

const QUEUES: &[Row] = &[
    ("droptail", Called("fifo")),
    ("drop-tail", Called("fifo")),
    ("taildrop", Called("fifo")),
    ("tail-drop", Called("fifo")),
    ("pfifo_head_drop", Called("fifo")),
    ("shaper", Called("tbf")),
    ("policer", Called("police")),
    ("l4s", Called("dualpi2")),
    ("dualq", Called("dualpi2")),
    ("pfifo_fast", Nearest("Linux's three FIFOs by priority", &["prio", "fifo"])),
    ("htb", Nearest("Linux's tree of token buckets that lend to each other", &["tbf", "drr"])),
    ("hfsc", Nearest("a tree of service curves", &["drr"])),
    ("cbq", Nearest("a tree of classes that share a link", &["drr"])),
    ("ets", Nearest("strict priorities before weighted bands", &["prio", "drr"])),
    ("qfq", Nearest("weighted fair queueing in constant time", &["drr"])),
    ("wfq", Nearest("weighted fair queueing, bit by bit", &["drr"])),
    ("hhf", Nearest("Linux's filter of heavy hitters", &["fq_codel"])),
    ("pi", Nearest("the controller of Hollot and others, 2001", &["pie", "pi2"])),
    ("blue", Nearest("a probability that rises when the queue is full and falls when it is empty", &["sfb"])),
    ("rem", Nearest("random exponential marking", &["pie"])),
    ("avq", Nearest("an adaptive virtual queue", &["vqpolice", "pie"])),
    ("ared", Nearest("RED that adapts its max_p, which is a parameter of RED", &["red"])),
    ("wred", Nearest("RED with thresholds for each class", &["red"])),
    ("gred", Nearest("RED with thresholds for each class", &["red"])),
    ("fred", Nearest("RED with accounts of flows", &["red", "sfq"])),
    ("curvy-red", Nearest("the first AQM of a dual queue", &["dualpi2"])),
    ("mq", Nearest("one queue for each queue of the hardware; a link here has one", &["fifo"])),
    ("mqprio", Nearest("queues of the hardware by class; a link here has one", &["prio"])),
    ("taprio", Nearest("gates that open by a timetable", &["prio"])),
    ("etf", Nearest("the earliest departure first, for a hardware that knows times", &["fq"])),
    (
        "netem",
        Elsewhere(
            "not a queue here: the delay of a path is `rtt` or a link's `delay`; losses, jitter and reordering are its `impair`",
        ),
    ),
    ("noqueue", Elsewhere("not a queue here: nothing waits on a link that is faster than its traffic")),
    ("unlimited", Elsewhere("a limit: queue = { kind = \"fifo\", limit = \"unlimited\" }")),
];

const ELEMENTS: &[Row] = &[
    ("bernoulli", Called("loss")),
    ("random-loss", Called("loss")),
    ("gemodel", Called("gilbert-elliott")),
    ("corrupt", Called("corruption")),
    ("duplicate", Called("duplication")),
    ("reorder", Called("reordering")),
    ("slot", Called("aggregation")),
    (
        "delay",
        Elsewhere(
            "not an impairment: the delay of a path is `rtt` or a link's `delay`; \"jitter\" varies it",
        ),
    ),
    ("latency", Elsewhere("not an impairment: the delay of a path is `rtt` or a link's `delay`")),
    ("rate", Elsewhere("not an impairment: it is a key of the link; `changes` vary it")),
    (
        "netem",
        Elsewhere(
            "tc's name for all of these together: write each one, in the order in which packets meet them",
        ),
    ),
    ("limit", Elsewhere("a key of the queue: queue = { kind = \"fifo\", limit = \"1 bdp\" }")),
];

const APPLICATIONS: &[Row] = &[
    ("iperf", Called("bulk")),
    ("iperf3", Called("bulk")),
    ("netperf", Called("bulk")),
    ("ftp", Called("bulk")),
    ("greedy", Called("bulk")),
    ("udp", Called("cbr")),
    ("file", Called("transfer")),
    ("http", Nearest("pages of objects", &["request-response", "poisson"])),
    ("web", Nearest("pages of objects", &["request-response", "poisson"])),
    ("dash", Nearest("segments of video whose size adapts", &["request-response", "on-off"])),
    ("video", Nearest("frames at a constant interval", &["media"])),
    ("webrtc", Nearest("frames at a constant interval", &["media"])),
    ("voip", Nearest("small datagrams at a constant interval", &["cbr"])),
    ("rtp", Nearest("media over UDP", &["media", "cbr"])),
    ("rrul", Elsewhere("a test of Flent: write its flows, which are bulk and \"probe\"")),
];

fn table(what: &str) -> &'static [Row] {
    match what {
        CONTROLLER => CONTROLLERS,
        QUEUE | AQM => QUEUES,
        ELEMENT => ELEMENTS,
        APPLICATION => APPLICATIONS,
        _ => &[],
    }
}

impl Registry {
    /// The answer to a name that is not `what` here, but is known: `at` is where it was written. `exists` tells which
    /// names may stand there.
    pub(crate) fn answer(
        &self,
        name: &str,
        what: &str,
        at: &Cursor<'_>,
        exists: &dyn Fn(&str) -> bool,
    ) -> Option<Fault> {
        let spelt = |name: &str| name.to_ascii_lowercase().replace('_', "-");
        let shown = shorten(&format!("{name:?}"));
        let entry = table(what).iter().find(|(other, _)| spelt(other) == spelt(name));
        let problem = match entry {
            Some((_, Called(here))) => format!("{shown} is called `{here}` here"),
            Some((_, Nearest(about, near))) => {
                let near =
                    near.iter().find(|name| exists(name)).map(|name| format!("; the nearest is `{name}`"));
                format!("{shown} is not built here: {about}{}", near.unwrap_or_default())
            }
            Some((_, Elsewhere(advice))) => format!("{shown} is {advice}"),
            None => {
                let other = self.what_is(name).filter(|other| *other != what)?;
                format!("{shown} is {other}, and {what} is needed here")
            }
        };
        Some(at.fault(problem))
    }

    /// The names of the field that do not exist here, and have an answer: each with the kind of algorithm that it
    /// denotes, as in [`Registry::what_is`], and the names here that its answer points to, the best first. An answer
    /// that points to a key instead has none.
    pub fn answers() -> impl Iterator<Item = (&'static str, &'static str, Vec<&'static str>)> {
        [CONTROLLER, QUEUE, ELEMENT, APPLICATION].into_iter().flat_map(|what| {
            table(what).iter().map(move |(name, answer)| match answer {
                Called(here) => (what, *name, vec![*here]),
                Nearest(_, near) => (what, *name, near.to_vec()),
                Elsewhere(_) => (what, *name, Vec::new()),
            })
        })
    }

    /// What a name of this registry denotes, such as "a queue".
    pub fn what_is(&self, name: &str) -> Option<&'static str> {
        let families = [
            (self.is_controller(name), CONTROLLER),
            (self.queues.named(name).is_some(), QUEUE),
            (self.elements.named(name).is_some(), ELEMENT),
            (self.applications.named(name).is_some(), APPLICATION),
            (self.slow_starts.named(name).is_some(), "a slow start"),
            (self.responses.named(name).is_some(), "a response"),
        ];
        families.into_iter().find(|(is_one, _)| *is_one).map(|(_, what)| what)
    }
}
