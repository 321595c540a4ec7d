//! A Python class as a congestion controller.
//!
//! Each connection has an instance. Its methods are looked up once; each event makes one call for the event and one to
//! `control()`. The answer is cached, so that the sender's queries do not call Python. An exception stops the run: it
//! is kept for [`take_failure`], and no controller is called after it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::call::PyCallArgs;
use pyo3::exceptions::{
    PyKeyboardInterrupt, PyMemoryError, PyOSError, PySystemExit, PyTypeError, PyValueError,
};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use serde_json::{Map, Value, json};
use windtunnel_cc::{
    AckSample, AnyParams, CongestionControl, CongestionEvent, Control, ControllerParams, ExitReason,
    FlowInit, LostSegment, Needs, OutOfRange, PathView, Phase, SentSegment, Trigger,
};
use windtunnel_scenario::ForeignValue;
use windtunnel_units::{Bytes, Duration};

use crate::error::{ControllerError, ScenarioError};
use crate::views::{PyAck, PyCongestion, PyControl, PyFlow, PyLostSegment, PyNeeds, PyPath, PySentSegment};

thread_local! {
    /// The first exception that a controller raised in the run of this thread.
    static FAILURE: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// The exception that a controller raised in the run of this thread, if one did.
pub(crate) fn take_failure() -> Option<PyErr> {
    FAILURE.take()
}

fn failed() -> bool {
    FAILURE.with_borrow(Option::is_some)
}

/// A class of controllers with values for its parameters.
pub(crate) struct PyControllerParams {
    name: String,
    /// Where the class is, in words.
    origin: String,
    class: Py<PyType>,
    values: Vec<(String, ForeignValue)>,
    needs: Needs,
}

impl PyControllerParams {
    /// Makes an instance, so that a class that refuses its parameters does so before the run.
    pub(crate) fn read(
        py: Python<'_>,
        name: &str,
        origin: &str,
        class: &Py<PyType>,
        values: Vec<(String, ForeignValue)>,
    ) -> Result<Arc<dyn ControllerParams>, String> {
        let mut params = PyControllerParams {
            name: name.to_owned(),
            origin: origin.to_owned(),
            class: class.clone_ref(py),
            values,
            needs: Needs::default(),
        };
        let needs = params.instance(py).and_then(|instance| needs_of(&instance));
        params.needs = needs.map_err(|error| format!("`{name}` refuses its parameters: {error}"))?;
        Ok(Arc::new(params))
    }

    fn instance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let arguments = PyDict::new(py);
        for (name, value) in &self.values {
            match value {
                ForeignValue::Boolean(value) => arguments.set_item(name, value),
                ForeignValue::Integer(value) => arguments.set_item(name, value),
                ForeignValue::Number(value) => arguments.set_item(name, value),
                ForeignValue::Text(value) => arguments.set_item(name, value),
                ForeignValue::Time(value) => arguments.set_item(name, value.as_secs_f64()),
                ForeignValue::Bytes(value) => arguments.set_item(name, value.get() as f64),
                ForeignValue::Rate(value) => arguments.set_item(name, value.bits_per_sec() as f64),
            }?;
        }
        self.class.bind(py).call((), Some(&arguments))
    }
}

/// Returns the needs that a controller declares, and those that its methods imply.
fn needs_of(instance: &Bound<'_, PyAny>) -> PyResult<Needs> {
    let needs = match instance.getattr_opt("needs")? {
        Some(stated) => stated.cast::<PyNeeds>()?.get().0,
        None => Needs::default(),
    };
    Ok(Needs {
        departures: instance.hasattr("on_sent")?,
        loss_reports: instance.hasattr("on_lost")?,
        ..needs
    })
}

impl fmt::Debug for PyControllerParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PyControllerParams")
            .field("name", &self.name)
            .field("values", &self.values)
            .finish_non_exhaustive()
    }
}

impl AnyParams for PyControllerParams {
    fn name(&self) -> &str {
        &self.name
    }

    fn to_map(&self) -> Map<String, Value> {
        self.values.iter().map(|(name, value)| (name.clone(), json!(value))).collect()
    }

    /// The class already checked its parameters in [`PyControllerParams::read`].
    fn check(&self) -> Result<(), OutOfRange> {
        Ok(())
    }

    fn is_foreign(&self) -> bool {
        true
    }
}

impl ControllerParams for PyControllerParams {
    fn needs(&self) -> Needs {
        self.needs
    }

    fn build(&self, init: FlowInit) -> Box<dyn CongestionControl> {
        Python::attach(|py| {
            let who: Arc<str> = format!("controller `{}` ({})", self.name, self.origin).into();
            let controller = self
                .instance(py)
                .and_then(|instance| PyController::new(instance, init, self.needs, who.clone()));
            let controller = controller.unwrap_or_else(|error| {
                fail(py, error, &who);
                PyController::silent(init, self.needs, who)
            });
            Box::new(controller)
        })
    }
}

/// Keeps the first exception, which says in which controller it was raised. `who` is the controller and its file.
fn fail(py: Python<'_>, error: PyErr, who: &str) {
    let error = blamed(py, error, who);
    FAILURE.with_borrow_mut(|failure| {
        failure.get_or_insert(error);
    });
}

/// The exception with a note on its origin. One that would be taken for another's fault (wrong input, no memory, a file)
/// becomes the cause of a [`ControllerError`]; what ends the program stays as it is.
fn blamed(py: Python<'_>, error: PyErr, who: &str) -> PyErr {
    if error.is_instance_of::<PyKeyboardInterrupt>(py) || error.is_instance_of::<PySystemExit>(py) {
        return error;
    }
    let misleading = error.is_instance_of::<PyMemoryError>(py)
        || error.is_instance_of::<ScenarioError>(py)
        || error.is_instance_of::<PyOSError>(py)
        || is_input_error(py, &error);
    if misleading {
        let outer = ControllerError::new_err(format!("{who}: {error}"));
        outer.set_cause(py, Some(error));
        return outer;
    }
    // A class of exceptions that takes no notes is still the exception.
    let _ = error.value(py).call_method1(intern!(py, "add_note"), (format!("in {who}"),));
    error
}

/// Whether it is `windtunnel.InputError`, whose text is a whole message to the user.
fn is_input_error(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyValueError>(py)
        && error.get_type(py).mro().iter().any(|class| {
            let named = |class: &Bound<'_, PyAny>| -> PyResult<bool> {
                Ok(class.getattr("__module__")?.eq("windtunnel.errors")?
                    && class.getattr("__name__")?.eq("InputError")?)
            };
            named(&class).unwrap_or(false)
        })
}

/// The methods of an instance.
struct Methods {
    control: Py<PyAny>,
    on_ack: Py<PyAny>,
    on_congestion: Py<PyAny>,
    on_rto: Py<PyAny>,
    on_established: Option<Py<PyAny>>,
    on_sent: Option<Py<PyAny>>,
    on_lost: Option<Py<PyAny>>,
    on_tx_start: Option<Py<PyAny>>,
    on_cwnd_validation: Option<Py<PyAny>>,
    on_undo: Option<Py<PyAny>>,
    on_recovered: Option<Py<PyAny>>,
    probe: Option<Py<PyAny>>,
}

/// The controller of one connection.
struct PyController {
    /// `None` if its creation failed: the run is about to stop.
    methods: Option<Methods>,
    /// Its name and its file, for messages.
    who: Arc<str>,
    needs: Needs,
    mss: Bytes,
    /// What `control()` said last.
    control: Control,
    exit: Option<ExitReason>,
    /// The names of the numbers that `probe()` returned when the controller was new: a recorder learns them once.
    probed: Vec<&'static str>,
}

impl PyController {
    fn new(
        instance: Bound<'_, PyAny>,
        init: FlowInit,
        needs: Needs,
        who: Arc<str>,
    ) -> PyResult<PyController> {
        let py = instance.py();
        if let Some(on_start) = instance.getattr_opt(intern!(py, "on_start"))? {
            on_start.call1((PyFlow::new(&init),))?;
        }
        let required = |name: &str| instance.getattr(name).map(Bound::unbind);
        let optional = |name: &str| instance.getattr_opt(name).map(|method| method.map(Bound::unbind));
        let methods = Methods {
            control: required("control")?,
            on_ack: required("on_ack")?,
            on_congestion: required("on_congestion")?,
            on_rto: required("on_rto")?,
            on_established: optional("on_established")?,
            on_sent: optional("on_sent")?,
            on_lost: optional("on_lost")?,
            on_tx_start: optional("on_tx_start")?,
            on_cwnd_validation: optional("on_cwnd_validation")?,
            on_undo: optional("on_undo")?,
            on_recovered: optional("on_recovered")?,
            probe: optional("probe")?,
        };
        let told = methods.probe.as_ref().map_or_else(|| Ok(Vec::new()), |probe| numbers(probe.bind(py)))?;
        let probed = told.into_iter().map(|(name, _)| kept(name)).collect();
        let mut controller =
            PyController { methods: Some(methods), probed, ..PyController::silent(init, needs, who) };
        controller.refresh(py, None)?;
        Ok(controller)
    }

    /// Creates a controller that holds its initial window.
    fn silent(init: FlowInit, needs: Needs, who: Arc<str>) -> PyController {
        PyController {
            methods: None,
            who,
            needs,
            mss: init.mss,
            control: Control::window(init.iw),
            exit: None,
            probed: Vec::new(),
        }
    }

    /// Asks the controller what the sender must do. `reason` is why slow start would have ended just now.
    fn refresh(&mut self, py: Python<'_>, reason: Option<ExitReason>) -> PyResult<()> {
        let Some(methods) = &self.methods else { return Ok(()) };
        let answer = methods.control.call0(py)?;
        let answer = answer.bind(py);
        let Ok(control) = answer.cast::<PyControl>() else {
            let what =
                if answer.is_none() { "None".to_owned() } else { format!("a {}", answer.get_type().name()?) };
            let message =
                format!("{}: control() returned {what}; it must return a windtunnel.Control", self.who);
            return Err(PyTypeError::new_err(message));
        };
        let control = control.get().0;
        let before = self.control.phase;
        // A window below one segment could never send.
        self.control = Control { cwnd: control.cwnd.max(self.mss), ..control };
        if before == Phase::SlowStart && control.phase == Phase::CongestionAvoidance && self.exit.is_none() {
            self.exit = reason;
        }
        Ok(())
    }

    /// Calls a method, then asks what the sender must do. Returns the method's result. `reason` is why slow start ends
    /// if it ends now.
    fn call<A>(&mut self, choose: Choose, arguments: A, reason: ExitReason) -> Option<Py<PyAny>>
    where
        A: for<'py> PyCallArgs<'py>,
    {
        if failed() {
            return None;
        }
        Python::attach(|py| {
            let method = choose(self.methods.as_ref()?)?;
            let answer = method.call1(py, arguments);
            match answer.and_then(|answer| self.refresh(py, Some(reason)).map(|()| answer)) {
                Ok(answer) => Some(answer),
                Err(error) => {
                    fail(py, error, &self.who);
                    None
                }
            }
        })
    }
}

/// Selects a method; optional methods may be missing.
type Choose = for<'m> fn(&'m Methods) -> Option<&'m Py<PyAny>>;

/// The exit reason where only the controller knows why slow start ended.
const ITS_OWN: ExitReason = ExitReason::Other("controller");

impl CongestionControl for PyController {
    fn needs(&self) -> Needs {
        self.needs
    }

    fn on_ack(&mut self, ack: &AckSample, path: &PathView) {
        self.call(|methods| Some(&methods.on_ack), (PyAck(*ack), PyPath(*path)), ITS_OWN);
    }

    fn on_congestion(&mut self, event: &CongestionEvent, path: &PathView) -> bool {
        let reason = match event.trigger {
            Trigger::Loss => ExitReason::Loss,
            Trigger::Ce => ExitReason::Ce,
            Trigger::Controller => ITS_OWN,
        };
        let arguments = (PyCongestion(*event), PyPath(*path));
        let Some(answer) = self.call(|methods| Some(&methods.on_congestion), arguments, reason) else {
            return false;
        };
        // A method that returns nothing counts as having reduced the window, because most do reduce it.
        Python::attach(|py| {
            let reduced = if answer.is_none(py) { Ok(true) } else { answer.is_truthy(py) };
            reduced.unwrap_or_else(|error| {
                fail(py, error, &self.who);
                false
            })
        })
    }

    fn on_rto(&mut self, new_episode: bool, path: &PathView) {
        self.call(|methods| Some(&methods.on_rto), (new_episode, PyPath(*path)), ExitReason::Loss);
    }

    fn on_established(&mut self, path: &PathView) {
        self.call(|methods| methods.on_established.as_ref(), (PyPath(*path),), ITS_OWN);
    }

    fn on_sent(&mut self, sent: &SentSegment, path: &PathView) {
        self.call(|methods| methods.on_sent.as_ref(), (PySentSegment(*sent), PyPath(*path)), ITS_OWN);
    }

    fn on_lost(&mut self, segment: &LostSegment, path: &PathView) {
        let arguments = (PyLostSegment(*segment), PyPath(*path));
        self.call(|methods| methods.on_lost.as_ref(), arguments, ExitReason::Loss);
    }

    fn on_tx_start(&mut self, idle: Duration, path: &PathView) {
        self.call(|methods| methods.on_tx_start.as_ref(), (idle.as_secs_f64(), PyPath(*path)), ITS_OWN);
    }

    fn on_cwnd_validation(&mut self, cwnd: Bytes, path: &PathView) {
        self.call(|methods| methods.on_cwnd_validation.as_ref(), (cwnd.get(), PyPath(*path)), ITS_OWN);
    }

    fn on_undo(&mut self, path: &PathView) {
        self.call(|methods| methods.on_undo.as_ref(), (PyPath(*path),), ITS_OWN);
    }

    fn on_recovered(&mut self, path: &PathView) {
        self.call(|methods| methods.on_recovered.as_ref(), (PyPath(*path),), ITS_OWN);
    }

    fn control(&self) -> Control {
        self.control
    }

    fn slow_start_exit(&self) -> Option<ExitReason> {
        self.exit
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        if failed() || self.probed.is_empty() {
            return;
        }
        let numbers = Python::attach(|py| {
            let probe = self.methods.as_ref().and_then(|methods| methods.probe.as_ref());
            probe.map_or_else(|| Ok(Vec::new()), |probe| numbers(probe.bind(py)))
        });
        match numbers {
            Ok(numbers) => {
                for &name in &self.probed {
                    let value = numbers.iter().find(|(own, _)| own == name).map(|(_, value)| *value);
                    out(name, value.unwrap_or(f64::NAN));
                }
            }
            Err(error) => Python::attach(|py| fail(py, error, &self.who)),
        }
    }
}

/// Returns the numbers that the controller reports now.
fn numbers(probe: &Bound<'_, PyAny>) -> PyResult<Vec<(String, f64)>> {
    let numbers = probe.call0()?;
    numbers.cast::<PyDict>()?.iter().map(|(name, value)| Ok((name.extract()?, value.extract()?))).collect()
}

impl fmt::Debug for PyController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PyController").field("control", &self.control).finish_non_exhaustive()
    }
}

/// Returns a name that lives as long as the process, as a recorder's columns require. The number of such names is
/// bounded by the numbers that classes report.
fn kept(name: String) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(leaked) = names.get(name.as_str()) {
        return leaked;
    }
    let name: &'static str = name.leak();
    names.insert(name);
    name
}
