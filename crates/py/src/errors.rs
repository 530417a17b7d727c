//! Errors as Python exceptions, with the text that the command line prints.

use forebay_experiment::report::RunError;
use forebay_runner::sweep::SweepError;
use forebay_scenario::Errors;
use forebay_store::StoreError;
use pyo3::{PyErr, import_exception};

import_exception!(forebay._errors, InternalError);
import_exception!(forebay._errors, ModelError);
import_exception!(forebay._errors, ScenarioError);
mod store {
    pyo3::import_exception!(forebay._errors, StoreError);
}

/// One error: message, file, line, column, help.
type ErrorTuple = (String, Option<String>, Option<usize>, Option<usize>, Option<String>);

/// An invalid scenario.
pub(crate) fn scenario(errors: &Errors) -> PyErr {
    let tuples: Vec<ErrorTuple> = (errors.list().iter())
        .map(|e| {
            let place = e.line_column();
            let owned = |s: &str| s.to_owned();
            (owned(e.message()), e.file().map(owned), place.map(|p| p.0), place.map(|p| p.1), e.help().map(owned))
        })
        .collect();
    ScenarioError::new_err((errors.render(), tuples))
}

/// A valid scenario that the engine refuses, such as one with an unreachable host.
pub(crate) fn engine(message: &str) -> PyErr {
    let tuples: Vec<ErrorTuple> = vec![(message.to_owned(), None, None, None, None)];
    ScenarioError::new_err((format!("error: {message}\n"), tuples))
}

/// Results that cannot be written or read.
pub(crate) fn store(error: &StoreError) -> PyErr {
    let help = error.help();
    store::StoreError::new_err((format!("error: {error}\n  = {help}\n"), error.to_string(), help))
}

/// Error that ended a sweep.
pub(crate) fn sweep(e: &SweepError) -> PyErr {
    match e {
        SweepError::Scenario(e) => scenario(e),
        SweepError::Store(e) => store(e),
        SweepError::Run {
            error: RunError::Unroutable(_) | RunError::Unknown(_) | RunError::World(_) | RunError::Invalid(_),
            ..
        }
        | SweepError::File(..)
        | SweepError::NoThread(_)
        | SweepError::Foreign
        | SweepError::Missing { .. }
        | SweepError::Different(..) => engine(&e.to_string()),
        SweepError::Run { .. } | SweepError::Interrupted { .. } => internal(e),
    }
}

/// An argument outside the range that a model is defined on.
pub(crate) fn model(argument: &str, message: String) -> PyErr {
    ModelError::new_err((argument.to_owned(), message))
}

/// A defect in forebay.
pub(crate) fn internal(message: impl ToString) -> PyErr {
    InternalError::new_err((message.to_string(),))
}
