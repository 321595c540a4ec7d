//! A run for Python, in slices: between them Python's signals, the memory and the progress are checked.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use windtunnel_scenario::{Estimate, RESIDENT, Reading, Scenario};
use windtunnel_sim::{Balance, MemoryExceeded, Run, RunResult};
use windtunnel_store::Parts;
use windtunnel_units::Bytes;

use crate::packets::to_python;
use crate::result::PyRunResult;
use crate::{controller, counted, error, parse, places, registry, store};

/// Events between two looks at memory and progress: about a hundredth of a second, so that the first second of a run
/// shows how fast it is, however long it will take.
const SLICE: u64 = 250_000;

/// Events for each flow between two such looks, because each look reads all flows.
const EVENTS_PER_FLOW: u64 = 25;

/// The same where a controller is a Python class: its events take longer, and its exceptions must stop the run soon.
const FOREIGN_SLICE: u64 = 10_000;

/// Events between two looks at the clock.
const STEP: u64 = 10_000;

/// Time between two looks at the signals. A user feels that Ctrl-C works if it does within 200 ms; much more often would
/// make threads wait for each other, because each look needs Python's interpreter.
const PATIENCE: Duration = Duration::from_millis(50);

/// A run that holds more than this takes a while to make its tables.
const MUCH: Bytes = Bytes::new(64 << 20);

#[expect(clippy::too_many_arguments, reason = "the keyword arguments of Python's function")]
#[pyfunction]
#[pyo3(signature = (text, file=None, overrides=Vec::new(), progress=None, allow_read=Vec::new(), memory=None, built=false, parts=None, threads=1))]
pub(crate) fn run(
    py: Python<'_>,
    text: &str,
    file: Option<&str>,
    overrides: Vec<String>,
    progress: Option<Py<PyAny>>,
    allow_read: Vec<PathBuf>,
    memory: Option<u64>,
    built: bool,
    parts: Option<(Py<PyAny>, BTreeMap<String, String>)>,
    threads: usize,
) -> PyResult<PyRunResult> {
    let scenario = parse(py, text, file, &overrides, &allow_read, built)?;
    let limit = memory.map_or(Bytes::MAX, Bytes::new);
    let registry = registry::current();
    let places = places(built);
    let reading =
        Reading { file, overrides: &overrides, allow_read: &allow_read, places, ..Reading::new(&registry) };
    scenario.check_memory(limit, text, &reading).map_err(|e| error::to_python(py, &e))?;
    if let Some((flow, command)) = scenario.outside() {
        let problem = format!("its ends are outside of a simulation: `{command}` runs the scenario");
        let error = Scenario::error_at(&format!("flow[{flow}].stack"), problem, text, &reading);
        return Err(error::to_python(py, &error));
    }
    let interrupts = Interrupts::new(py)?;
    controller::take_failure();
    let network = py.detach(|| windtunnel_scenario::compile(&scenario));
    let parts = parts.map(|(make, columns)| {
        let flows = network.flows.iter().map(|flow| (flow.name.clone(), flow.cc_name.to_string()));
        let queues = network.links.iter().map(|link| link.name.clone());
        store::parts(make, &columns, flows.collect(), queues.collect())
    });
    let failure = parts.as_ref().map(Parts::failure).unwrap_or_default();
    // Controllers of Python need its interpreter, which one thread has at a time.
    let foreign = scenario.foreign().into_iter().next().filter(|_| threads > 1);
    let threads = if foreign.is_some() { 1 } else { threads };
    let made = py.detach(|| Run::new(network, threads));
    let (mut simulation, undivided) = made.unwrap_or_else(|unfit| panic!("{unfit}"));
    let undivided = foreign.map(|what| format!("it uses {what}")).or(undivided);
    let on = simulation.balance().parts;
    simulation.limit_memory(limit);
    if let Some(parts) = parts {
        simulation.stream_to(Box::new(parts), RESIDENT);
    }
    let written = || failure.take().map_or(Ok(()), |error| Err(to_python(error)));
    let outcome = advance_to_end(py, &mut simulation, &scenario, progress.as_ref(), &interrupts, &written);
    if let Err(stopped) = outcome {
        abandon(simulation);
        return Err(stopped);
    }
    let result = finish(py, simulation, &interrupts)?.map_err(|e| exceeded(&scenario, &e))?;
    written()?;
    if let Some(error) = controller::take_failure() {
        return Err(error);
    }
    PyRunResult::new(py, result, &scenario, (on, undivided))
}

/// The work of a run in at most `parts` parts, in its windows, as JSON.
#[pyfunction]
pub(crate) fn windows(py: Python<'_>, text: &str, parts: usize) -> PyResult<String> {
    let scenario = parse(py, text, None, &[], &[], false)?;
    let balance = py.detach(|| {
        let (mut run, _) = Run::in_parts(windtunnel_scenario::compile(&scenario), parts, 1)
            .unwrap_or_else(|unfit| panic!("{unfit}"));
        run.run_slice(run.end(), u64::MAX);
        run.balance()
    });
    let Balance { parts, windows, events, most, .. } = balance;
    Ok(format!("{{\"parts\": {parts}, \"windows\": {windows}, \"events\": {events}, \"most\": {most}}}"))
}

fn advance_to_end(
    py: Python<'_>,
    simulation: &mut Run,
    scenario: &Scenario,
    progress: Option<&Py<PyAny>>,
    interrupts: &Interrupts,
    written: &dyn Fn() -> PyResult<()>,
) -> PyResult<()> {
    let (slice, foreign) = (slice_of(scenario), !scenario.foreign().is_empty());
    let mut share = 0.0;
    loop {
        if let Some(progress) = progress
            && !progress.call1(py, (share,))?.extract::<bool>(py)?
        {
            return Err(PyKeyboardInterrupt::new_err("stopped"));
        }
        if share >= 1.0 {
            return Ok(());
        }
        // With controllers in Python every ACK needs the interpreter, so the run keeps it attached.
        let done = if foreign {
            simulation.run_slice(simulation.end(), FOREIGN_SLICE)
        } else {
            advance(py, simulation, slice, interrupts)?
        };
        if let Some(error) = controller::take_failure() {
            return Err(error);
        }
        interrupts.check(py)?;
        written()?;
        simulation.check_memory().map_err(|e| exceeded(scenario, &e))?;
        // Less than 1 before the end, whatever the division rounds to.
        let past = simulation.now().since_start().ratio(simulation.end().since_start());
        share = if done { 1.0 } else { past.min(1.0 - f64::EPSILON) };
    }
}

/// Frees a run that was stopped. Freeing gigabytes takes a while, and no caller should wait for it.
fn abandon(simulation: Run) {
    if simulation.memory() >= MUCH {
        thread::spawn(move || drop(simulation));
    }
}

fn exceeded(scenario: &Scenario, by: &MemoryExceeded) -> PyErr {
    error::MemoryLimitError::new_err(Estimate::of(scenario).explanation(by))
}

/// Makes the tables. Where that may take longer than a user waits, another thread does it, and is left alone with its
/// work if the user does not.
fn finish(
    py: Python<'_>,
    simulation: Run,
    interrupts: &Interrupts,
) -> PyResult<Result<RunResult, MemoryExceeded>> {
    if simulation.memory() < MUCH {
        return Ok(py.detach(|| counted::finish(simulation)));
    }
    let waiting = thread::current();
    let finishing = thread::spawn(move || {
        let result = counted::finish(simulation);
        waiting.unpark();
        result
    });
    while !finishing.is_finished() {
        py.detach(|| thread::park_timeout(PATIENCE));
        interrupts.check(py)?;
    }
    finishing.join().or_else(|panic| resume_unwind(panic))
}

fn slice_of(scenario: &Scenario) -> u64 {
    SLICE.max(EVENTS_PER_FLOW * scenario.flows.iter().map(|group| u64::from(group.count)).sum::<u64>())
}

/// Runs a slice without the interpreter, which is attached whenever the signals are due; returns whether the run is
/// done.
fn advance(py: Python<'_>, simulation: &mut Run, slice: u64, interrupts: &Interrupts) -> PyResult<bool> {
    let end = simulation.end();
    let mut left = slice;
    loop {
        let done = py.detach(|| {
            let due = now() + PATIENCE;
            loop {
                let step = left.min(STEP);
                left -= step;
                let done = counted::run_slice(simulation, end, step);
                if done || left == 0 || now() >= due {
                    return done;
                }
            }
        });
        if done || left == 0 {
            return Ok(done);
        }
        interrupts.check(py)?;
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the user waits for a real clock; what is simulated does not depend on it"
)]
fn now() -> Instant {
    Instant::now()
}

/// What stops a run from outside: a signal, such as Ctrl-C, where the run is in the main thread, which alone hears of
/// signals. A run in another thread stops if Ctrl-C has ended the main thread, because the program would otherwise wait
/// for it.
struct Interrupts {
    main_thread: Option<Py<PyAny>>,
}

impl Interrupts {
    fn new(py: Python<'_>) -> PyResult<Interrupts> {
        let threading = py.import("threading")?;
        let main = threading.call_method0("main_thread")?;
        let here = threading.call_method0("get_ident")?;
        let elsewhere = !main.getattr("ident")?.eq(here)?;
        Ok(Interrupts { main_thread: elsewhere.then(|| main.unbind()) })
    }

    fn check(&self, py: Python<'_>) -> PyResult<()> {
        py.check_signals()?;
        let Some(main) = &self.main_thread else { return Ok(()) };
        if main.call_method0(py, "is_alive")?.extract::<bool>(py)? {
            return Ok(());
        }
        // The interpreter keeps the exception that ended the main thread.
        let last = py.import("sys")?.getattr_opt("last_type")?;
        match last {
            Some(kind) if kind.is(py.get_type::<PyKeyboardInterrupt>()) => {
                Err(PyKeyboardInterrupt::new_err("the main thread was interrupted"))
            }
            _ => Ok(()),
        }
    }
}
