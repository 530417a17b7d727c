//! `forebay tune`: parameters of what is attached, while it runs.

use crate::catalog::{Program, assignment};
use crate::state::{self, Attachment};
use crate::{Error, counters};
use libbpf_rs::MapHandle;

/// The attachment of that name, or the only one of the program of that name.
pub(crate) fn named(name: &str) -> Result<Attachment, Error> {
    let all = state::all()?;
    let of_program: Vec<&Attachment> = all.iter().filter(|a| a.program == name).collect();
    match (all.iter().find(|a| a.name == name), of_program.as_slice()) {
        (Some(a), _) => Ok(a.clone()),
        (None, [a]) => Ok((*a).clone()),
        (None, []) => {
            let names: Vec<&str> = all.iter().map(|a| a.name.as_str()).collect();
            let fix = match names.as_slice() {
                [] => "no program is attached; `forebay detach --all` also finds programs without a state file".into(),
                names => format!("attached are: {}", names.join(", ")),
            };
            Err(Error::new(format!("`{name}` is not attached")).fix(fix))
        }
        (None, several) => {
            let names: Vec<&str> = several.iter().map(|a| a.name.as_str()).collect();
            Err(Error::new(format!("`{name}` is attached more than once")).fix(format!("name one of: {}", names.join(", "))))
        }
    }
}

/// Sets parameters (`name=value`) of an attachment, and returns all of them as they are then.
pub fn tune(name: &str, values: &[String]) -> Result<Vec<(String, u64)>, Error> {
    let attachment = named(name)?;
    let program = Program::named(&attachment.program)?;
    let values = values.iter().map(|text| {
        let (key, value) = assignment(text)?;
        program.param(key, value).map(|(p, v)| (p.name, v))
    });
    let values = values.collect::<Result<Vec<_>, Error>>()?;
    if program.params.is_empty() {
        return Ok(Vec::new());
    }
    let path = attachment.pins().map(|p| p.join("params")).unwrap_or_default();
    let map = MapHandle::from_pinned_path(&path).map_err(|e| Error::bpf(path.display(), &e))?;
    if !values.is_empty() {
        counters::set_params(program, &map, &values)?;
    }
    counters::params(program, &map)
}
