//! The gate's verdict on a command line, without running it.
//!
//! No family has this tool: Marvin's own agents get the verdict when they call. It is for other programs' agents, which run
//! their commands themselves.

use crate::context::ToolContext;
use crate::result::{Output, ToolError};
use crate::tool::Tool;
use async_trait::async_trait;
use marvin_base::truncate;
use marvin_gate::effects::{Grounds, SegmentJudgement};
use marvin_gate::layers::{Place, Ruling};
use marvin_gate::{Decision, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Commands of one line that are listed; only a constructed line has more.
const MAX_SEGMENTS: usize = 200;
const MAX_COMMAND_LINE_BYTES: usize = 64 * 1024;

#[derive(Debug, Clone, Copy)]
pub struct GateExplain;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainInput {
    /// The command line, as the shell would get it.
    command_line: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Explanation {
    /// allow, ask or deny.
    verdict: &'static str,
    layer: &'static str,
    rule: String,
    reason: String,
    /// What to do instead; empty when there is nothing to fix.
    how_to_fix: String,
    /// A command that does what was most likely meant, with less harm.
    #[serde(skip_serializing_if = "Option::is_none")]
    safer: Option<String>,
    /// Uncertainties of the judgement.
    doubts: Vec<String>,
    segments: Vec<Segment>,
}

/// One command of a line.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Segment {
    /// Unknown words are `…`.
    words: Vec<String>,
    /// Programs that start it.
    through: Vec<String>,
    effects: Vec<EffectFact>,
    /// allow, ask or deny.
    verdict: &'static str,
    rule: String,
    reason: String,
}

/// Something that a command does.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EffectFact {
    /// Such as read, write or delete.
    act: &'static str,
    target: String,
    /// The kind of place.
    place: &'static str,
}

#[async_trait]
impl Tool for GateExplain {
    type Input = ExplainInput;
    type Data = Explanation;
    const NAME: &'static str = "gate_explain";
    const DESCRIPTION: &'static str = "Say whether a shell command would be allowed here, and why: the verdict (allow, ask or deny), \
         the rule, each command of the line with what it would do, and a safer command where one is known. Nothing is run.";
    const EXAMPLE: &'static str = r#"{"command_line":"git push --force origin main"}"#;
    // Not `command`: other programs' gates that look for commands to judge would stop the question.
    const FIELDS: &'static [(&'static str, &'static str)] =
        &[("command", "command_line"), ("line", "command_line")];
    const TOUCHES: Touches = Touches::NOTHING;

    async fn call(
        &self,
        input: ExplainInput,
        context: &ToolContext,
    ) -> Result<Output<Explanation>, ToolError> {
        if input.command_line.len() > MAX_COMMAND_LINE_BYTES {
            return Err(ToolError::Usage(format!(
                "a command line of more than {MAX_COMMAND_LINE_BYTES} bytes is not judged"
            )));
        }
        let directory = context.workspace()?.root().display().to_string();
        let home = context.layout.home().display().to_string();
        let place = Place { directory: &directory, grounds: Grounds { workspace: &directory, home: &home } };
        // As a run judges it: names may be links that lead elsewhere.
        let found = context.layers.look(&input.command_line, place);
        let explanation = explain(&context.layers.rule(&input.command_line, place, found));
        let line = truncate::line(&context.redactor.text(&input.command_line), 120);
        Ok(Output::new(format!("{}: {line}", explanation.verdict), text(&explanation), explanation))
    }
}

fn explain(ruling: &Ruling) -> Explanation {
    let segment = |one: &SegmentJudgement| Segment {
        words: one.words.clone(),
        through: one.through.clone(),
        effects: one
            .effects
            .iter()
            .map(|effect| EffectFact {
                act: effect.act.verb(),
                target: effect.target.clone(),
                place: effect.class,
            })
            .collect(),
        verdict: one.verdict.decision.word(),
        rule: one.verdict.rule.clone(),
        reason: one.verdict.reason.clone(),
    };
    let segments = &ruling.judgement.segments;
    let stopped = segments.iter().filter(|one| one.verdict.decision != Decision::Allow);
    let safer = stopped.into_iter().find_map(|one| one.safer.clone());
    Explanation {
        verdict: ruling.verdict.decision.word(),
        layer: ruling.layer.word(),
        rule: ruling.verdict.rule.clone(),
        reason: ruling.verdict.reason.clone(),
        how_to_fix: ruling.verdict.how_to_fix.clone(),
        safer: safer.filter(|_| ruling.verdict.decision != Decision::Allow),
        doubts: ruling.judgement.doubts.iter().map(ToString::to_string).collect(),
        segments: segments.iter().take(MAX_SEGMENTS).map(segment).collect(),
    }
}

fn text(explanation: &Explanation) -> String {
    let mut text = format!("{}: {} [{}]\n", explanation.verdict, explanation.reason, explanation.rule);
    if !explanation.how_to_fix.is_empty() {
        text.push_str(&format!("{}\n", explanation.how_to_fix));
    }
    if let Some(safer) = &explanation.safer {
        text.push_str(&format!("safer: {safer}\n"));
    }
    for one in &explanation.segments {
        text.push_str(&format!("- {}: {}\n", one.verdict, truncate::line(&one.words.join(" "), 200)));
        for effect in &one.effects {
            text.push_str(&format!("  would {} {}\n", effect.act, truncate::line(&effect.target, 120)));
        }
        if one.verdict != Decision::Allow.word() {
            text.push_str(&format!("  {} [{}]\n", one.reason, one.rule));
        }
    }
    for doubt in &explanation.doubts {
        text.push_str(&format!("- not certain: {doubt}\n"));
    }
    text
}
