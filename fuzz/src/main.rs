//! `marvin-fuzz TARGET SECONDS SEED DIRECTORY` runs the small mutator and writes a finding to
//! DIRECTORY; `marvin-fuzz --seeds TARGET DIRECTORY` writes the seeds of a target, for another
//! engine.

use marvin_fuzz::{Seeds, TARGETS, Target, mutate};
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

#[expect(clippy::print_stdout, reason = "the number of inputs is its output")]
fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, name, directory] = arguments.as_slice()
        && flag == "--seeds"
    {
        for (number, seed) in find(name)?.2.iter().enumerate() {
            std::fs::write(Path::new(directory).join(format!("seed-{number}")), seed)?;
        }
        return Ok(());
    }
    let [name, seconds, seed, directory] = arguments.as_slice() else {
        return Err("usage: marvin-fuzz TARGET SECONDS SEED DIRECTORY".into());
    };
    let (_, target, seeds) = find(name)?;
    let (until, mut last) = (Instant::now() + Duration::from_secs(seconds.parse()?), Vec::new());
    let run = catch_unwind(AssertUnwindSafe(|| {
        mutate::run(target, seeds, seed.parse().unwrap_or(1), |_, input| {
            last.clear();
            last.extend_from_slice(input);
            Instant::now() < until
        })
    }));
    match run {
        Ok(tried) => println!("{name}: {tried} inputs, no finding"),
        Err(_) => {
            let path = Path::new(directory).join(format!("crash-{name}"));
            std::fs::create_dir_all(directory)?;
            std::fs::write(&path, &last)?;
            return Err(format!("{name}: a finding, written to {}", path.display()).into());
        }
    }
    Ok(())
}

fn find(name: &str) -> Result<(&'static str, Target, Seeds), Box<dyn Error>> {
    let target = TARGETS.into_iter().find(|(known, ..)| *known == name);
    target.ok_or_else(|| format!("unknown target `{name}`").into())
}
