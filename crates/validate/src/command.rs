//! Shell commands of scripts. No shell runs: commands that set a kernel parameter are interpreted, others are reported.

/// Effect of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Sets `net.ipv4.tcp_...` (without `net.ipv4.`) or a parameter of a kernel module.
    Set(String, String),
    /// No effect on a simulated endpoint.
    None,
    /// Something else: the command.
    Other(String),
}

/// Parameters that `defaults.sh`, at the start of the public scripts, sets to other values than a kernel's defaults.
const DEFAULTS: &[(&str, &str)] = &[
    ("tcp_rmem", "4096 540000 15728640"),
    ("tcp_wmem", "4096 262144 4194304"),
    ("tcp_timestamps", "1"),
    ("tcp_frto", "2"),
    ("tcp_sack", "1"),
    ("tcp_dsack", "1"),
    ("tcp_reordering", "3"),
    ("tcp_congestion_control", "cubic"),
    ("tcp_slow_start_after_idle", "0"),
    ("tcp_early_retrans", "4"),
    ("tcp_recovery", "1"),
    ("tcp_ecn", "0"),
    ("tcp_pacing_ss_ratio", "200"),
    ("tcp_pacing_ca_ratio", "120"),
];

/// Effects of the lines of a backquoted text.
pub(crate) fn effects(text: &str) -> Vec<Effect> {
    let joined = text.replace("\\\n", " ");
    let mut all = Vec::new();
    for line in joined.lines().flat_map(|l| without_comment(l).split(';').map(str::to_owned).collect::<Vec<_>>()) {
        for command in line.split("&&").map(str::trim).filter(|c| !c.is_empty()) {
            all.extend(effect(command));
        }
    }
    all
}

fn without_comment(line: &str) -> &str {
    match line.find('#') {
        Some(0) => "",
        Some(i) if line[..i].ends_with(char::is_whitespace) => &line[..i],
        _ => line,
    }
}

/// Words of a command, without quotes.
fn words(command: &str) -> Vec<String> {
    let mut all = vec![];
    let mut word = String::new();
    let mut quote = None;
    for c in command.chars() {
        match (c, quote) {
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(q)) if c == q => quote = None,
            (c, None) if c.is_whitespace() => {
                if !word.is_empty() {
                    all.push(std::mem::take(&mut word));
                }
            }
            (c, _) => word.push(c),
        }
    }
    if !word.is_empty() {
        all.push(word);
    }
    all
}

fn effect(command: &str) -> Vec<Effect> {
    let words = words(command);
    let Some(first) = words.first() else { return vec![] };
    let program = first.rsplit('/').next().unwrap_or(first);
    let set = |assignment: &str| match assignment.split_once('=') {
        Some((name, value)) => Effect::Set(parameter(name), value.trim().into()),
        None => Effect::Other(command.into()),
    };
    match program {
        "defaults.sh" => DEFAULTS.iter().map(|(n, v)| Effect::Set((*n).into(), (*v).into())).collect(),
        "set_sysctls.py" => words[1..].iter().map(|w| set(w)).collect(),
        "sysctl" => words[1..].iter().filter(|w| !w.starts_with('-')).map(|w| set(w)).collect(),
        // It restores what the tool changed for the whole machine; a simulated endpoint has parameters of its own.
        _ if program.starts_with("sysctl_restore") => vec![Effect::None],
        "echo" => match words.iter().position(|w| w == ">") {
            Some(2) if words.len() == 4 => vec![Effect::Set(parameter(&words[3]), words[1].clone())],
            _ => vec![Effect::Other(command.into())],
        },
        "true" | "sleep" => vec![Effect::None],
        // Metrics of earlier connections: there are none.
        "ip" if words[1..].iter().take(2).eq(["tcp_metrics", "flush"]) => vec![Effect::None],
        // Segmentation offload: the simulator's segments are never larger than the MSS.
        "ethtool" => vec![Effect::None],
        // The simulated endpoint has a FIFO in front of the tool's device.
        "tc" if words.last().is_some_and(|w| w == "pfifo") => vec![Effect::None],
        _ => vec![Effect::Other(command.into())],
    }
}

/// The short name of a parameter: `/proc/sys/net/ipv4/tcp_x` and `net.ipv4.tcp_x` are both `tcp_x`.
fn parameter(name: &str) -> String {
    let dots = name.trim().trim_start_matches("/proc/sys/").trim_start_matches('/').replace('/', ".");
    dots.trim_start_matches("net.ipv4.").trim_start_matches("sys.module.").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_command_effects() {
        let set = |n: &str, v: &str| Effect::Set(n.into(), v.into());
        assert_eq!(
            effects(
                "../common/set_sysctls.py /proc/sys/net/ipv4/tcp_ecn=1 \\\n /proc/sys/net/ipv4/tcp_wmem=\"1 2 3\"\nsysctl -q net.ipv4.tcp_sack=0 # off"
            ),
            [set("tcp_ecn", "1"), set("tcp_wmem", "1 2 3"), set("tcp_sack", "0")]
        );
        assert_eq!(
            effects("echo 3 > /sys/module/tcp_cubic/parameters/hystart_detect"),
            [set("tcp_cubic.parameters.hystart_detect", "3")]
        );
        assert_eq!(effects("nstat > /dev/null"), [Effect::Other("nstat > /dev/null".into())]);
        assert!(effects("../common/defaults.sh").contains(&set("tcp_ecn", "0")));
        assert_eq!(effects("/tmp/sysctl_restore_${PPID}.sh"), [Effect::None]);
    }
}
