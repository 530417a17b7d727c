//! Explains a scenario file without the command-line program: `cargo run --example explain FILE [key=value]...`

#![expect(clippy::print_stdout, reason = "a program")]

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some((file, sets)) = args.split_first() else {
        eprintln!("usage: explain FILE [key=value]...");
        return;
    };
    match forebay_scenario::load(forebay_backends::all(), file.as_ref(), sets, None).and_then(|s| s.resolve()) {
        Ok(r) => print!("{}\n{}", r.explain(), r.variants[0].toml()),
        Err(e) => print!("{}", e.render()),
    }
}
