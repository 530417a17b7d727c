//! `forebay new`: a commented scenario to start from, with the switch and the speed of the operator.

use crate::terminal::failure::Failure;
use crate::terminal::output::print;
use crate::terminal::style::{self, NAME, paint};
use clap::builder::PossibleValuesParser;
use forebay_experiment::topology::{SPEEDS, SWITCHES, Speed, speed};
use forebay_platform::files;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::PathBuf;

/// A template: its name and its text, in which `{rate}`, `{k}` and `{switch}` stand for the arguments.
struct Template {
    name: &'static str,
    text: &'static str,
    rate: &'static str,
    switch: &'static str,
}

macro_rules! template {
    ($name:literal, $rate:literal, $switch:literal) => {
        Template { name: $name, text: include_str!(concat!("../../templates/", $name, ".toml")), rate: $rate, switch: $switch }
    };
}

/// All templates, with their default speed and switch.
const TEMPLATES: &[Template] = &[
    template!("storage-incast", "10Gbps", "trident2"),
    template!("web", "10Gbps", "trident2"),
    template!("hadoop", "10Gbps", "trident2"),
    template!("tenants", "10Gbps", "trident2"),
    template!("ai-allreduce", "100Gbps", "trident3"),
    template!("fabric", "10Gbps", "trident2"),
];

/// First line of a file, for editors: the schema beside it.
const SCHEMA: &str = "#:schema ./forebay.schema.json";

/// Write a commented scenario to start from; without a name, list the templates
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the template
    #[arg(value_parser = PossibleValuesParser::new(TEMPLATES.iter().map(|t| t.name)))]
    name: Option<String>,
    /// The file to write [default: NAME.toml]
    #[arg(long, value_name = "FILE", requires = "name")]
    out: Option<PathBuf>,
    /// Speed of the machines' links, which also sets the marking threshold: see `forebay list speeds`
    #[arg(long, value_name = "RATE", requires = "name", value_parser = PossibleValuesParser::new(SPEEDS.iter().map(|s| s.name)))]
    rate: Option<String>,
    /// The switch: see `forebay list switches`
    #[arg(long, value_name = "NAME", requires = "name", value_parser = PossibleValuesParser::new(SWITCHES.iter().map(|s| s.name)))]
    switch: Option<String>,
}

/// Writes the file, or prints the list.
pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let Some(template) = TEMPLATES.iter().find(|t| args.name.as_deref() == Some(t.name)) else { return print(&list()) };
    let (rate, switch) = (args.rate.as_deref().unwrap_or(template.rate), args.switch.as_deref().unwrap_or(template.switch));
    let path = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}.toml", template.name)));
    // The file has its own name in comments, where a line break would end the comment.
    if path.display().to_string().chars().any(char::is_control) {
        let text = format!("`{}` has control characters; choose a name without them with --out", path.display());
        return Err(Failure::Usage(text));
    }
    let text = fill(template, speed(rate).unwrap_or(&SPEEDS[0]), switch, &path.display().to_string());
    let text = format!("{SCHEMA}\n{text}");
    // Only a new file: existing files may have been edited and are never replaced.
    files::write_new(&path, text.as_bytes(), None).map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists => {
            Failure::Usage(format!("`{}` exists already and is not replaced; choose another file with --out", path.display()))
        }
        ErrorKind::NotFound => Failure::Usage(format!(
            "`{}` cannot be written: there is no such directory; create it, or choose another file with --out",
            path.display()
        )),
        _ => Failure::Machine(format!("`{}` cannot be written: {e}", path.display())),
    })?;
    let file = path.display();
    print(&format!(
        "wrote {file}: {}\nadapt it to your network, then:\n  forebay run {file}       simulates the network as it is\n  forebay advise {file}    ranks changes to it\nfor completion and checks in editors: forebay schema > forebay.schema.json\n",
        about(template)
    ))
}

/// The text with its places filled in.
fn fill(t: &Template, speed: &Speed, switch: &str, file: &str) -> String {
    t.text
        .replace("{rate}", speed.name)
        .replace("{k}", &format!("{}pkt", speed.k))
        .replace("{switch}", switch)
        .replace("forebay run FILE ", &format!("forebay run {file} "))
        .replace("forebay advise FILE ", &format!("forebay advise {file} "))
}

/// The first line of a template, its subject.
fn about(t: &Template) -> &'static str {
    t.text.lines().next().unwrap_or("").trim_start_matches("# ")
}

fn list() -> String {
    let width = TEMPLATES.iter().map(|t| t.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for t in TEMPLATES {
        let _ = writeln!(out, "{}  {}", paint(style::stdout(), NAME, &format!("{:width$}", t.name)), about(t));
    }
    out.push_str("\nforebay new NAME writes NAME.toml\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every template, at every speed and with every switch, is a scenario without notes, and all its places are filled in.
    #[test]
    fn templates_valid_at_every_speed() {
        let dir = std::env::temp_dir().join(format!("forebay-new-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        for t in TEMPLATES {
            let of = |s: &Speed, w: &str| {
                let text = fill(t, s, w, "x.toml");
                assert!(!text.contains("{rate}") && !text.contains("{k}") && !text.contains("{switch}"), "{}", t.name);
                let file = dir.join("x.toml");
                std::fs::write(&file, text).unwrap();
                let resolved = forebay_scenario::load(forebay_backends::all(), &file, &[], None).unwrap().resolve();
                let resolved = resolved.unwrap_or_else(|e| panic!("{} {} {w}: {}", t.name, s.name, e.render()));
                assert_eq!(resolved.notes, Vec::<String>::new(), "{}", t.name);
                assert_eq!(resolved.name, t.name);
                assert!(resolved.variants[0].config.network.nodes.iter().any(|n| n.shared_buffer.is_some()), "{}", t.name);
            };
            SPEEDS.iter().for_each(|s| of(s, t.switch));
            SWITCHES.iter().for_each(|w| of(speed(t.rate).unwrap(), w.name));
            assert!(t.text.contains("stack = \"linux\""), "{}: names its stack", t.name);
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
