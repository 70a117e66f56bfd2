//! `demo`: a Hub of its own inside this process, its sample model mounted in the foreground, and what to try. Needs neither
//! network nor account, and sends no token anywhere.

use crate::args::DemoArgs;
use crate::engine::{self, Options};
use crate::exit::{Outcome, io_fault};
use crate::{output, paths, wanted};
use std::path::Path;
use weightless_control::{AddMount, Mounted};
use weightless_hub_sim::HubSim;

/// The repo that is mounted; the demo's Hub has more of them.
const REPO: &str = weightless_hub_sim::DEMO_MODEL;

pub(crate) fn run(args: &DemoArgs) -> Outcome {
    let runtime = wanted::runtime()?;
    output::note("Starting a Hub of our own…");
    let repos = weightless_hub_sim::demo_repos(args.model_dir.as_deref())
        .map_err(|error| io_fault("the demo's model", &error))?;
    let sim =
        runtime.block_on(HubSim::builder().repos(repos).start()).map_err(|error| io_fault("the demo's Hub", &error))?;
    let temp = match args.dir {
        Some(_) => None,
        None => Some(tempfile::Builder::new().prefix("weightless-demo-").tempdir()),
    };
    let temp = temp.transpose().map_err(|error| io_fault("a temporary folder", &error))?;
    let dir = args.dir.as_deref().or(temp.as_ref().map(|temp| temp.path())).unwrap_or(Path::new("."));

    let request = AddMount {
        repo: REPO.to_owned(),
        dir: Some(paths::absolute(dir)?.to_string_lossy().into_owned()),
        endpoint: Some(sim.endpoint().to_owned()),
        ..AddMount::default()
    };
    // A real token is nothing for the demo's Hub.
    let options = Options::for_mount(request, Vec::new())?.anonymous().without_local();
    engine::run(&options, |mounted, notes| {
        notes.iter().for_each(output::note);
        if let Some(mounted) = mounted {
            tell(&mounted, sim.endpoint());
        }
        Ok(())
    })
}

fn tell(started: &Mounted, endpoint: &str) {
    for note in &started.notes {
        output::note(note);
    }
    let dir = &started.mount.dir;
    let weightless = own_name();
    output::exact(dir);
    output::note(format_args!(
        "
{REPO} is a folder now: nothing was downloaded, and only what is read will be.
In a second terminal, try:

  ls -l {dir}
  sha256sum {dir}/model.safetensors
  python3 -c 'from safetensors import safe_open; f = safe_open(\"{dir}/model.safetensors\", \"np\"); print(f.keys())'
  {weightless} status
  {weightless} ls {REPO} --endpoint {endpoint}
  {weightless} mount {REPO} ~/demo --endpoint {endpoint}

Ctrl-C here unmounts it."
    ));
}

/// What a second terminal calls this program: its name where the shell found it by that, else its path.
fn own_name() -> String {
    let called = std::env::args_os().next().map(std::path::PathBuf::from).unwrap_or_default();
    if called.components().count() == 1 {
        return called.display().to_string();
    }
    std::env::current_exe().unwrap_or(called).display().to_string()
}
