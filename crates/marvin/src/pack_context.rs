//! The contribution of packs to a session: guidance for its prompt, and lessons that its memory can find.

use marvin_agent::ProjectContext;
use marvin_agent::compose::{FROM_REPOSITORY, PromptExtra};
use marvin_agent::session::{ExtraContext, Offer};
use marvin_base::layout::Layout;
use marvin_base::settings::table;
use marvin_base::signature;
use marvin_gate::layers::Trust;
use marvin_hooks::packs::{self, Packs};
use marvin_memory::index::{Document, Kind};

/// The guidance that an agent with file tools gets when it starts.
pub(crate) fn guidance(context: &ProjectContext) -> Option<PromptExtra> {
    let cap = context.settings.count(&table::PACKS_TOKENS);
    let mut text = context.coding.then(|| packs::at_start(&context.layout, cap)).flatten()?;
    let trust = Trust::read(&context.layout.trusted());
    if !context.layout.pack_files().iter().all(|file| trust.holds_file(file)) {
        text.insert_str(0, &format!("{FROM_REPOSITORY}\n"));
    }
    Some(PromptExtra { name: "What is known of this project's files".into(), text, priority: 80 })
}

/// The guidance and the lessons for a session.
pub(crate) fn extra_context(context: &ProjectContext) -> ExtraContext {
    ExtraContext {
        guidance: guidance(context).into_iter().collect(),
        offered: vec![lessons(&context.layout)],
    }
}

/// The lessons of all packs, as documents for the memory's index.
pub(crate) fn lessons(layout: &Layout) -> Offer {
    let packs = Packs::load(&layout.packs());
    let mut documents = Vec::new();
    for pack in packs.all() {
        for lesson in &pack.lessons {
            documents.push(Document {
                id: format!("{}/{}", pack.name(), lesson.title),
                text: format!("{}\n{}", lesson.title, lesson.actionable),
                source: "pack".into(),
                component: pack.name().to_string(),
                tags: vec![lesson.category.to_string()],
                ..Document::default()
            });
        }
    }
    let all: Vec<(&str, &str)> = documents.iter().map(|one| (one.id.as_str(), one.text.as_str())).collect();
    Offer { kind: Kind::PackLesson, stamp: signature::hash(&all), documents }
}
