//! Congestion controls written in Python: registration with the simulator for the time of a run.

mod arguments;
mod object;

pub(crate) use arguments::{Ack, Event, Reduction, Window};
pub(crate) use object::Raised;

use crate::errors;
use forebay_experiment::registry::CcEntry;
use forebay_experiment::transport::Ecn;
use forebay_experiment::worlds::Worlds;
use forebay_sim::cc::external_control::Registration;
use forebay_types::param::Entry;
use object::PyFactory;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// Properties of a congestion control that the reader of scenarios needs.
#[derive(Debug, Clone, PartialEq)]
struct Properties {
    name: String,
    ecn: Ecn,
    paces: bool,
}

/// Congestion controls of a run, registered until `close`.
#[pyclass(frozen)]
pub(crate) struct Controls {
    registered: Mutex<Vec<Registration>>,
    pub(crate) worlds: &'static Worlds,
    pub(crate) raised: Arc<Raised>,
}

#[pymethods]
impl Controls {
    /// Registers congestion controls: for each its name, a callable that makes the object of a connection, the ECN mode (`off`, `classic`,
    /// `dctcp`, `accurate` or `l4s`), and whether it sets the pacing rate.
    #[new]
    fn new(list: Vec<(String, Py<PyAny>, String, bool)>) -> PyResult<Controls> {
        let raised = Arc::new(Raised::default());
        let (mut registered, mut properties) = (Vec::new(), Vec::new());
        for (name, make, ecn, paces) in list {
            let ecn = match ecn.as_str() {
                "off" => Ecn::Off,
                "classic" => Ecn::Classic,
                "dctcp" => Ecn::Dctcp,
                "accurate" => Ecn::Accurate,
                "l4s" => Ecn::L4s,
                other => {
                    let message =
                        format!("`ecn` of `{name}` is {other:?}; legal: \"off\", \"classic\", \"dctcp\", \"accurate\", \"l4s\"");
                    return Err(PyValueError::new_err(message));
                }
            };
            let factory = Arc::new(PyFactory { make, paces, raised: raised.clone() });
            registered.push(Registration::new(&name, factory).map_err(|e| errors::engine(&e.message))?);
            properties.push(Properties { name, ecn, paces });
        }
        Ok(Controls { registered: Mutex::new(registered), worlds: worlds(properties), raised })
    }

    /// Ends the registration.
    fn close(&self) {
        self.registered.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// The backends with the congestion controls of a caller.
type Extended = (Vec<Properties>, &'static Worlds);

/// Backends with these congestion controls. Scenarios refer to entries for the life of the process: equal lists share theirs.
fn worlds(properties: Vec<Properties>) -> &'static Worlds {
    static KNOWN: Mutex<Vec<Extended>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, worlds)) = known.iter().find(|(of, _)| *of == properties) {
        return worlds;
    }
    let entries = properties.iter().map(entry).collect();
    let worlds: &'static Worlds = Box::leak(Box::new(forebay_backends::all().with_congestion_controls(entries)));
    known.push((properties, worlds));
    worlds
}

fn entry(p: &Properties) -> CcEntry<()> {
    CcEntry {
        entry: Entry { name: p.name.clone().leak(), summary: "congestion control of the caller", params: &[] },
        needs_marks: false,
        needs_sack: false,
        paces: p.paces,
        plb: false,
        ecn: p.ecn,
        recovery: None,
        adjust: None,
        build: |_| (),
    }
}
