//! Congestion controls of scenarios in a kernel: their names there, and the parameters that can be set.

use forebay_experiment::topology::Route;
use forebay_experiment::transport::{Chosen, Transport};
use forebay_kernel::congestion_controls::{GUEST_CCS, PARAMS, guest_cc};
use forebay_types::param::Value;

/// A congestion control that the kernel has.
struct KernelCc {
    /// Its name in scenarios.
    name: &'static str,
    /// Its name in the kernel (`TCP_CONGESTION`).
    kernel: &'static str,
    /// Parameters that are constants in the kernel: key, value and source line. The congestion control ignores parameters that are not listed.
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

/// The congestion controls of a kernel as it is.
const CONGESTION_CONTROLS: &[KernelCc] = &[
    // The stack decides which recovery is used.
    KernelCc { name: "newreno", kernel: "reno", fixed: &[] },
    KernelCc { name: "reno", kernel: "reno", fixed: &[] },
    KernelCc {
        name: "cubic",
        kernel: "cubic",
        fixed: &[
            ("c", Fixed::Float(0.4), "tcp_cubic.c: bic_scale 41 of 1024, and cube_rtt_scale"),
            ("beta", Fixed::Float(0.7), "tcp_cubic.c: beta 717 of 1024"),
            ("fast-convergence", Fixed::Bool(true), "tcp_cubic.c: fast_convergence"),
            ("reno-friendly", Fixed::Bool(true), "tcp_cubic.c: tcp_friendliness"),
        ],
    },
    KernelCc {
        name: "dctcp",
        kernel: "dctcp",
        fixed: &[
            ("g", Fixed::Float(0.0625), "tcp_dctcp.c: dctcp_shift_g 4"),
            ("alpha", Fixed::Float(1.0), "tcp_dctcp.c: dctcp_alpha_on_init 1024 of 1024"),
            ("min-cwnd", Fixed::Float(2.0), "tcp_dctcp.c: dctcp_ssthresh"),
            ("no-growth-on-ece", Fixed::Bool(false), "tcp_dctcp.c: cong_avoid is that of Reno"),
        ],
    },
    KernelCc { name: "bbr", kernel: "bbr", fixed: &[] },
];

/// Name of the congestion control of `t` in the guest, and its parameters if it is ours; or the reason why the guest cannot run it as the scenario
/// requires. `route` is that of any of its connections.
pub(crate) fn cc(t: &Transport, route: Option<&Route>) -> Result<(&'static str, [u64; PARAMS]), String> {
    match guest_cc(t, route)? {
        Some(ours) => Ok((ours.name, ours.param)),
        None => Ok((kernel_name(&t.cc)?, [0; PARAMS])),
    }
}

/// Returns true if the guest uses our implementation of the congestion control of `t`.
pub(crate) fn is_ours(t: &Transport) -> bool {
    guest_cc(t, None).is_ok_and(|cc| cc.is_some())
}

/// TCP Prague, which is in the kernels of L4STeam only.
const PRAGUE: &str = "prague";

/// Kernel name of `cc`, or the reason why the kernel cannot run it as the scenario requires.
fn kernel_name(cc: &Chosen) -> Result<&'static str, String> {
    let Some(known) = CONGESTION_CONTROLS.iter().find(|l| l.name == cc.name) else {
        let ours =
            GUEST_CCS.iter().map(|l| l.1).filter(|name| CONGESTION_CONTROLS.iter().all(|l| l.name != *name) && *name != "prin");
        let names: Vec<String> =
            CONGESTION_CONTROLS.iter().map(|l| l.name).chain(ours).map(|name| format!("\"{name}\"")).collect();
        let why = if cc.name == PRAGUE { ", nor the Accurate ECN (RFC 9768) that it needs" } else { "" };
        return Err(format!("this kernel has no congestion control `{}`{why}; legal: {}", cc.name, names.join(", ")));
    };
    for (key, value) in &cc.values.0 {
        if let Some((_, fixed, source)) = known.fixed.iter().find(|f| f.0 == *key)
            && !fixed.is(value)
        {
            return Err(format!("`{key}` of `{}` cannot be set in the kernel; legal: {} ({source})", cc.name, fixed.text()));
        }
    }
    Ok(known.kernel)
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_types::param::Values;

    fn cc(name: &'static str, values: Vec<(&'static str, Value)>) -> Chosen {
        Chosen { name, values: Values(values) }
    }

    #[test]
    fn kernel_names_or_legal_values() {
        assert_eq!(kernel_name(&cc("newreno", vec![])), Ok("reno"));
        assert_eq!(
            kernel_name(&cc("dctcp", vec![("g", Value::Float(0.0625)), ("arithmetic", Value::Text("paper".into()))])),
            Ok("dctcp")
        );
        let why = kernel_name(&cc("dctcp", vec![("g", Value::Float(0.5))])).unwrap_err();
        assert!(why.contains("`g` of `dctcp`") && why.contains("legal: 0.0625"), "{why}");
        let why = kernel_name(&cc("prague", vec![])).unwrap_err();
        assert!(why.contains("no congestion control `prague`, nor the Accurate ECN"), "{why}");
        let why = kernel_name(&cc("pfabric", vec![])).unwrap_err();
        assert!(why.contains("no congestion control `pfabric`") && why.contains("\"cubic\""), "{why}");
    }
}
