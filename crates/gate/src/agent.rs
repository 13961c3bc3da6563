//! May this agent start another one? Never deeper than the person allows, never with more rights than its own, and never in a
//! directory that it could not work in itself.

use crate::access::Access;
use crate::intent::Context;
use crate::refusal::{Refusal, RefusalKind};
use crate::verdict::Verdict;
use marvin_base::settings::table;

/// The rule that bounds how deep agents nest.
pub const DEPTH: &str = "agent.depth";
/// The rule that keeps an agent from handing on rights that it does not have.
pub const ACCESS: &str = "agent.access";
/// The rule on where a sub-agent works.
pub const DIRECTORY: &str = "agent.folder";

/// Judges a sub-agent with this access in this directory of the workspace (none: the workspace itself).
pub(crate) fn judge(access: &Access, directory: Option<&str>, context: &Context<'_>) -> Verdict {
    let deepest = context.settings.whole(&table::MAX_DEPTH);
    let depth = context.settings.whole(&table::DEPTH).saturating_add(1);
    if depth > deepest {
        return Verdict::deny(
            DEPTH,
            format!(
                "a sub-agent of this agent would be {depth} levels deep, and {deepest} are allowed (limits.depth)"
            ),
            "Do this part of the work yourself, or report what is left to do.",
        );
    }
    if !context.access.covers(access) {
        return Verdict::deny(
            ACCESS,
            format!("a sub-agent may not do more than this agent: {}", context.access.describe()),
            "Start one that only looks, or report what should be changed.",
        );
    }
    match directory.map_or(Ok(()), |directory| is_directory(directory, context)) {
        Ok(()) => Verdict::allow("agent.start", "the sub-agent stays within the rights of this agent"),
        Err(refusal) => Verdict { rule: DIRECTORY.into(), ..refusal.verdict() },
    }
}

fn is_directory(directory: &str, context: &Context<'_>) -> Result<(), Refusal> {
    let refuse = |reason: String| {
        Refusal::new(
            RefusalKind::Workspace,
            reason,
            "Name a directory inside the working directory that exists.",
        )
    };
    let Some(workspace) = context.workspace else {
        return Err(refuse("no working directory is set".into()));
    };
    let path = workspace.path(directory).map_err(|refusal| workspace.explain(refusal))?;
    // An agent that works there writes there: not in the record, the tickets or the history.
    workspace.writable(&path)?;
    let closed =
        |part: &str| [".marvin", ".git", ".tickets"].iter().any(|own| part.eq_ignore_ascii_case(own));
    if path.to_string().split('/').any(closed) {
        return Err(refuse(format!("agents do not work in `{path}`")));
    }
    if workspace.metadata(&path)?.is_dir() {
        return Ok(());
    }
    Err(refuse(format!("`{path}` is not a directory")))
}

#[cfg(test)]
mod tests {
    use crate::{Access, Context, Decision, Duty, Intent, Layers, Workspace, judge};
    use marvin_base::environment::Environment;
    use marvin_base::redact::Redactor;
    use marvin_base::settings::{Settings, Sources};
    use std::path::Path;

    fn ask(
        variables: &[(&str, &str)],
        parent: &Access,
        child: Access,
        directory: Option<&str>,
    ) -> (Decision, String) {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("sub/.marvin")).unwrap();
        std::fs::write(root.path().join("file"), "").unwrap();
        std::os::unix::fs::symlink("/usr", root.path().join("out")).unwrap();
        let workspace = Workspace::open(root.path(), Path::new("/nowhere")).unwrap();
        let environment = Environment::from_iter(variables.iter().copied());
        let settings = Settings::load(&Sources { environment, ..Sources::default() }).unwrap();
        let context = Context {
            workspace: Some(&workspace),
            home: Path::new("/nowhere"),
            access: parent,
            attended: false,
            may_execute: true,
            duty: &Duty::default(),
            settings: &settings,
            redactor: &Redactor::patterns_only(),
            layers: &Layers::none(),
        };
        let intent = Intent::SubAgent { access: child, directory: directory.map(str::to_string) };
        let verdict = judge(&intent, &context);
        (verdict.decision, verdict.rule)
    }

    #[test]
    fn depth_is_bounded() {
        let at = |depth: &str, deepest: &str| {
            ask(&[("MARVIN_DEPTH", depth), ("MARVIN_MAX_DEPTH", deepest)], &Access::Full, Access::Full, None)
                .0
        };
        assert_eq!(
            (at("0", "3"), at("2", "3"), at("3", "3")),
            (Decision::Allow, Decision::Allow, Decision::Deny)
        );
        assert_eq!((at("0", "0"), at("9", "3")), (Decision::Deny, Decision::Deny));
    }

    #[test]
    fn rights_never_grow() {
        let list = |names: &[&str]| Access::writable(names.iter().map(ToString::to_string));
        let may = |parent: &Access, child: Access| ask(&[], parent, child, None).0 == Decision::Allow;
        for child in [Access::Full, Access::Readonly, list(&["a"])] {
            assert!(may(&Access::Full, child));
        }
        assert!(may(&Access::Readonly, Access::Readonly));
        assert!(!may(&Access::Readonly, Access::Full) && !may(&Access::Readonly, list(&["a"])));
        let two = list(&["a", "b"]);
        assert!(may(&two, Access::Readonly) && may(&two, list(&["b"])));
        assert!(!may(&two, list(&["b", "c"])) && !may(&two, Access::Full));
    }

    #[test]
    fn directories_lie_inside() {
        let at = |directory: &str| ask(&[], &Access::Full, Access::Full, Some(directory));
        assert_eq!(at("sub").0, Decision::Allow);
        for directory in ["..", "/usr", "out", "file", "nowhere", "sub/.marvin", ".tickets"] {
            assert_eq!(at(directory), (Decision::Deny, super::DIRECTORY.to_string()), "{directory}");
        }
    }
}
