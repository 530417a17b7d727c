//! Counters and parameters of a program as named numbers: the fields of `struct counters` and `struct params` in its source, found
//! through the type information in its object.

use crate::Error;
use crate::catalog::Program;
use libbpf_rs::btf::types::{MemberAttr, Struct};
use libbpf_rs::btf::{Btf, BtfKind};
use libbpf_rs::{MapCore, MapFlags};

/// A field of a structure of whole numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Field {
    name: String,
    offset: usize,
    size: usize,
}

/// The fields of a structure in a program.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    fields: Vec<Field>,
}

impl Layout {
    /// Layout of `struct counters` or `struct params`; empty if the program has none.
    pub(crate) fn of(program: &Program, structure: &str) -> Result<Layout, Error> {
        let unreadable = |e: String| Error::new(format!("type information of `{}`: {e}", program.name));
        let btf = Btf::from_raw(program.name, program.object()?).map_err(|e| unreadable(e.to_string()))?;
        let mut fields = Vec::new();
        if let Some(found) = btf.as_ref().and_then(|b| b.type_by_name::<Struct<'_>>(structure)) {
            let btf = btf.as_ref().expect("something was found in it");
            for member in found.iter() {
                let name = member.name.map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
                let MemberAttr::Normal { offset } = member.attr else {
                    return Err(unreadable(format!("{structure}.{name} is a bit field")));
                };
                let size = btf.type_by_id::<libbpf_rs::btf::BtfType<'_>>(member.ty).map(|t| t.skip_mods_and_typedefs());
                let size = match size {
                    Some(t) if t.kind() == BtfKind::Int => {
                        libbpf_rs::btf::types::Int::try_from(t).map(|i| usize::from(i.bits) / 8).unwrap_or(0)
                    }
                    _ => 0,
                };
                if size == 0 || size > 8 {
                    return Err(unreadable(format!("{structure}.{name} is not a whole number")));
                }
                fields.push(Field { name, offset: offset as usize / 8, size });
            }
        }
        Ok(Layout { fields })
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|f| f.name.as_str())
    }

    fn read(&self, bytes: &[u8]) -> impl Iterator<Item = (&str, u64)> {
        self.fields.iter().map(|f| {
            let mut number = [0; 8];
            if let Some(part) = bytes.get(f.offset..f.offset + f.size) {
                number[..f.size].copy_from_slice(part);
            }
            (f.name.as_str(), u64::from_le_bytes(number))
        })
    }

    /// The field of that name, at the beginning of `bytes`; 0 where there is none.
    pub(crate) fn number(&self, bytes: &[u8], name: &str) -> u64 {
        self.read(bytes).find(|(n, _)| *n == name).map_or(0, |(_, value)| value)
    }

    /// Writes a field. The caller must ensure that it exists and that the value fits.
    pub(crate) fn write(&self, bytes: &mut [u8], name: &str, value: u64) {
        if let Some(f) = self.fields.iter().find(|f| f.name == name)
            && let Some(part) = bytes.get_mut(f.offset..f.offset + f.size)
        {
            part.copy_from_slice(&value.to_le_bytes()[..f.size]);
        }
    }
}

/// The counters, summed over the CPUs.
pub(crate) fn counters(program: &Program, map: &impl MapCore) -> Result<Vec<(String, u64)>, Error> {
    let layout = Layout::of(program, "counters")?;
    let failed = |e| Error::bpf(format!("counters of `{}`", program.name), &e);
    let cpus = map.lookup_percpu(&0u32.to_ne_bytes(), MapFlags::ANY).map_err(failed)?.unwrap_or_default();
    let mut sums: Vec<(String, u64)> = layout.names().map(|n| (n.to_owned(), 0)).collect();
    for cpu in &cpus {
        for ((_, sum), (_, n)) in sums.iter_mut().zip(layout.read(cpu)) {
            *sum = sum.wrapping_add(n);
        }
    }
    Ok(sums)
}

/// The parameters as they are now.
pub(crate) fn params(program: &Program, map: &impl MapCore) -> Result<Vec<(String, u64)>, Error> {
    let layout = Layout::of(program, "params")?;
    let bytes = value(program, map)?;
    Ok(layout.read(&bytes).map(|(n, v)| (n.to_owned(), v)).collect())
}

/// Sets parameters; those that are not named stay as they are.
pub(crate) fn set_params(program: &Program, map: &impl MapCore, values: &[(&str, u64)]) -> Result<(), Error> {
    let layout = Layout::of(program, "params")?;
    let mut bytes = value(program, map)?;
    for (name, v) in values {
        layout.write(&mut bytes, name, *v);
    }
    map.update(&0u32.to_ne_bytes(), &bytes, MapFlags::ANY)
        .map_err(|e| Error::bpf(format!("parameters of `{}`", program.name), &e))
}

fn value(program: &Program, map: &impl MapCore) -> Result<Vec<u8>, Error> {
    let failed = |e| Error::bpf(format!("parameters of `{}`", program.name), &e);
    Ok(map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).map_err(failed)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::PROGRAMS;

    /// The parameters of the catalog and of the programs are the same.
    #[test]
    fn catalogue_parameters_match_the_programs() {
        for p in PROGRAMS {
            let known: Vec<&str> = p.params.iter().map(|p| p.name).collect();
            let layout = Layout::of(p, "params").unwrap();
            assert_eq!(known, layout.names().collect::<Vec<_>>(), "{}", p.name);
            for (param, field) in p.params.iter().zip(&layout.fields) {
                assert!(
                    field.size == 8 || param.max < 1 << (field.size * 8),
                    "{}.{} does not hold its greatest value",
                    p.name,
                    param.name
                );
            }
            assert!(Layout::of(p, "counters").unwrap().names().count() > 0, "{}", p.name);
        }
    }
}
