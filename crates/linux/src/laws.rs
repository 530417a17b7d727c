//! Congestion control: which laws of scenarios a kernel has, what it calls them, and which of their parameters it can be given.

use forebay_experiment::topology::Route;
use forebay_experiment::transport::{Chosen, Transport};
use forebay_kernel::laws::{GUEST_LAWS, PARAMS, guest_law};
use forebay_param::Value;

/// A law that the kernel has.
struct KernelLaw {
    /// Its name in scenarios.
    name: &'static str,
    /// Its name in the kernel (`TCP_CONGESTION`).
    kernel: &'static str,
    /// Parameters that the kernel has built in, with their values and where they stand. Those that are not listed make no difference to it.
    fixed: &'static [(&'static str, Fixed, &'static str)],
}

/// A value that cannot be changed.
enum Fixed {
    Float(f64),
    Bool(bool),
}

impl Fixed {
    fn is(&self, value: &Value) -> bool {
        match (self, value) {
            (_, Value::Unset) => true,
            (Fixed::Float(own), Value::Float(v)) => own == v,
            (Fixed::Bool(own), Value::Bool(v)) => own == v,
            _ => false,
        }
    }

    fn text(&self) -> String {
        match self {
            Fixed::Float(v) => v.to_string(),
            Fixed::Bool(v) => v.to_string(),
        }
    }
}

/// The laws of a kernel as it is.
const LAWS: &[KernelLaw] = &[
    // Which recovery goes with them is a matter of the stack.
    KernelLaw { name: "newreno", kernel: "reno", fixed: &[] },
    KernelLaw { name: "reno", kernel: "reno", fixed: &[] },
    KernelLaw {
        name: "cubic",
        kernel: "cubic",
        fixed: &[
            ("c", Fixed::Float(0.4), "tcp_cubic.c: bic_scale 41 of 1024, and cube_rtt_scale"),
            ("beta", Fixed::Float(0.7), "tcp_cubic.c: beta 717 of 1024"),
            ("fast-convergence", Fixed::Bool(true), "tcp_cubic.c: fast_convergence"),
            ("reno-friendly", Fixed::Bool(true), "tcp_cubic.c: tcp_friendliness"),
        ],
    },
    KernelLaw {
        name: "dctcp",
        kernel: "dctcp",
        fixed: &[
            ("g", Fixed::Float(0.0625), "tcp_dctcp.c: dctcp_shift_g 4"),
            ("alpha", Fixed::Float(1.0), "tcp_dctcp.c: dctcp_alpha_on_init 1024 of 1024"),
            ("min-cwnd", Fixed::Float(2.0), "tcp_dctcp.c: dctcp_ssthresh"),
            ("no-growth-on-ece", Fixed::Bool(false), "tcp_dctcp.c: cong_avoid is that of Reno"),
        ],
    },
    KernelLaw { name: "bbr", kernel: "bbr", fixed: &[] },
];

/// What the guest calls the law of `t`, and its numbers where it is one of ours; or why it does not have it as the scenario wants it. `route` is
/// that of any of its connections.
pub(crate) fn law(t: &Transport, route: Option<&Route>) -> Result<(&'static str, [u64; PARAMS]), String> {
    match guest_law(t, route)? {
        Some(ours) => Ok((ours.name, ours.param)),
        None => Ok((kernel_name(&t.law)?, [0; PARAMS])),
    }
}

/// Whether the law of `t` in the guest is one of ours.
pub(crate) fn is_ours(t: &Transport) -> bool {
    guest_law(t, None).is_ok_and(|law| law.is_some())
}

/// What the kernel calls `law`, or why it does not have it as the scenario wants it.
fn kernel_name(law: &Chosen) -> Result<&'static str, String> {
    let Some(known) = LAWS.iter().find(|l| l.name == law.name) else {
        let ours = GUEST_LAWS.iter().map(|l| l.1).filter(|name| LAWS.iter().all(|l| l.name != *name) && *name != "prin");
        let names: Vec<String> = LAWS.iter().map(|l| l.name).chain(ours).map(|name| format!("\"{name}\"")).collect();
        return Err(format!("this kernel has no law `{}`; legal: {}", law.name, names.join(", ")));
    };
    for (key, value) in &law.values.0 {
        if let Some((_, fixed, source)) = known.fixed.iter().find(|f| f.0 == *key)
            && !fixed.is(value)
        {
            return Err(format!("`{key}` of `{}` cannot be set in the kernel; legal: {} ({source})", law.name, fixed.text()));
        }
    }
    Ok(known.kernel)
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_param::Values;

    fn law(name: &'static str, values: Vec<(&'static str, Value)>) -> Chosen {
        Chosen { name, values: Values(values) }
    }

    #[test]
    fn laws_are_named_as_the_kernel_names_them_or_refused_with_what_is_legal() {
        assert_eq!(kernel_name(&law("newreno", vec![])), Ok("reno"));
        assert_eq!(
            kernel_name(&law("dctcp", vec![("g", Value::Float(0.0625)), ("arithmetic", Value::Text("paper".into()))])),
            Ok("dctcp")
        );
        let why = kernel_name(&law("dctcp", vec![("g", Value::Float(0.5))])).unwrap_err();
        assert!(why.contains("`g` of `dctcp`") && why.contains("legal: 0.0625"), "{why}");
        let why = kernel_name(&law("pfabric", vec![])).unwrap_err();
        assert!(why.contains("no law `pfabric`") && why.contains("\"cubic\""), "{why}");
    }
}
