//! The phases of a pipeline.

use std::fmt;

/// A phase, in the order of execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Writing the specification and the user's view.
    Specification,
    /// Reviewing and fixing both.
    SpecificationReview,
    /// Architecture and test plan.
    Design,
    /// Reviewing and fixing the design.
    DesignReview,
    /// Writing tests of functions, which must fail.
    FunctionalTests,
    /// Writing tests of the whole, which must fail, and the checks of the running application.
    IntegrationTests,
    /// Writing the code.
    Implementation,
    /// Fixing the code until the tests pass.
    Debug,
    /// Checking the running application.
    EndToEnd,
    /// Checking the pages for a browser.
    Frontend,
    /// Adversarial testing.
    Quality,
}

impl Phase {
    pub const ALL: [Phase; 11] = [
        Phase::Specification,
        Phase::SpecificationReview,
        Phase::Design,
        Phase::DesignReview,
        Phase::FunctionalTests,
        Phase::IntegrationTests,
        Phase::Implementation,
        Phase::Debug,
        Phase::EndToEnd,
        Phase::Frontend,
        Phase::Quality,
    ];

    /// The name in `pipeline_state`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Phase::Specification => "1a",
            Phase::SpecificationReview => "1a_review",
            Phase::Design => "1b",
            Phase::DesignReview => "1b_review",
            Phase::FunctionalTests => "2a",
            Phase::IntegrationTests => "2b",
            Phase::Implementation => "3",
            Phase::Debug => "4a",
            Phase::EndToEnd => "4b",
            Phase::Frontend => "4c",
            Phase::Quality => "5",
        }
    }

    /// The phase of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Phase> {
        Phase::ALL.into_iter().find(|phase| phase.name() == name)
    }

    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Phase::Specification => "Specification and user experience",
            Phase::SpecificationReview => "Review of the specification",
            Phase::Design => "Architecture and test plan",
            Phase::DesignReview => "Review of the design",
            Phase::FunctionalTests => "Functional tests, red",
            Phase::IntegrationTests => "Integration tests, red",
            Phase::Implementation => "Implementation",
            Phase::Debug => "Debugging until the tests are green",
            Phase::EndToEnd => "The application, started and asked",
            Phase::Frontend => "What it serves to a browser",
            Phase::Quality => "Adversarial testing",
        }
    }

    /// Work and exit criterion, for `marvin pipeline explain`.
    #[must_use]
    pub fn explanation(self) -> &'static str {
        match self {
            Phase::Specification => {
                "One agent writes .marvin/spec.md, then another one .marvin/ux.md; each may write only its own file, with create_file \
                 and append_file. Over when both have 1,000 bytes and the required headings; else the file is deleted \
                 and written again, three times at most."
            }
            Phase::SpecificationReview | Phase::DesignReview => {
                "Reviewers that may only read look at each document, three at once in the first round. Their findings become typed records \
                 in .marvin/review-history-<document>.md, and a fixer that may write only that document fixes them. Over when no \
                 critical or major finding is left; four rounds at most. A review that does not say what was checked is an error."
            }
            Phase::Design => {
                "One agent writes .marvin/design.md from both documents, with the test plan. Checked like the specification."
            }
            Phase::FunctionalTests => {
                "An agent that may write only tests and manifests writes the tests of the test plan. Over when the project's own test \
                 runner knows them, each fails because what it needs does not exist yet, none uses a mock, and reviewers \
                 have no critical or major finding."
            }
            Phase::IntegrationTests => {
                "As 2a for tests of the whole; then .marvin/e2e.json says how the application is started and what it must answer. After \
                 this phase all tests, that file and the configuration of the test runners are closed: they are the oracle."
            }
            Phase::Implementation => {
                "An agent writes the code. Its claim is checked by the tests before it counts; changed tests are restored, \
                 and that is a failed attempt. Reviewers look at the code."
            }
            Phase::Debug => {
                "The pipeline runs the project's tests itself. If tests fail, an agent fixes the code and they are run again, MARVIN_DEBUG_ROUNDS \
                 times at most. Over when the runner's own report counts at least one test and no failure."
            }
            Phase::EndToEnd => {
                "The application is started as .marvin/e2e.json says, in the sandbox, with one port to listen on, and gets HTTP requests; a program \
                 is run with its arguments. Over when every answer is as that file says, and the tests still pass; \
                 MARVIN_E2E_ROUNDS rounds at most."
            }
            Phase::Frontend => {
                "Every page is fetched, and every script, style and image that it references. Skipped, with the reason, where nothing is served; \
                 MARVIN_FE_ROUNDS rounds at most."
            }
            Phase::Quality => {
                "Four testers that may only read look for mistakes and give each with a command or a request that shows it. The pipeline \
                 runs it: what it cannot reproduce does not count. What it can is fixed and run again, MARVIN_QA_ROUNDS rounds at \
                 most. At the end everything is verified once more."
            }
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phase_names_round_trip_in_order() {
        for phase in Phase::ALL {
            assert_eq!(Phase::find(phase.name()), Some(phase));
        }
        assert!(Phase::ALL.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(Phase::find("6"), None);
    }
}
