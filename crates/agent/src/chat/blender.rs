//! `!blender`: the tools of Blender in every request.

use super::{Chat, Reply};
use marvin_base::settings::table;
use marvin_tools::blender::Blender;
use std::sync::Arc;

/// Beginning of the names of Blender's tools.
const BLENDER_TOOLS: &str = "blender_";

impl Chat {
    /// Offers the tools of Blender in every request, or no longer; says whether Blender answers.
    pub(super) async fn toggle_blender(&self) -> Reply {
        let (settings, layout) = {
            let state = self.state();
            (state.project.settings.clone(), state.project.layout.clone())
        };
        let mut always = settings.list(&table::TOOLS_ALWAYS);
        let was_on = always.iter().any(|start| start == BLENDER_TOOLS);
        always.retain(|start| start != BLENDER_TOOLS);
        if !was_on {
            always.push(BLENDER_TOOLS.to_string());
        }
        match settings.with(&table::TOOLS_ALWAYS, &always.join(",")) {
            Ok(changed) => self.state().project.settings = Arc::new(changed),
            Err(error) => return Reply::Wrong(error.to_string()),
        }
        if was_on {
            return Reply::Changed("the tools of Blender are offered only where they are meant".into());
        }
        let version = match Blender::from_settings(&settings, &layout) {
            Ok(blender) => blender.version().await.map(|version| (version, blender.address())),
            Err(error) => Err(error),
        };
        Reply::Changed(match version {
            Ok((version, address)) => {
                format!("every request offers the tools of Blender; Blender {version} answers at {address}")
            }
            Err(error) => format!("every request offers the tools of Blender, but: {error}"),
        })
    }
}
