use super::*;
use marvin_gate::Access;
use marvin_tools::{Mode, Toolbox};

fn names(specs: &[ToolSpec]) -> Vec<&str> {
    specs.iter().map(|spec| spec.name.as_str()).collect()
}

fn offering(setting: &str, coding: bool) -> (Arc<Offering>, Vec<ToolSpec>) {
    let settings = Settings::defaults().unwrap().with(&table::TOOLS_OFFER, setting).unwrap();
    let offering = Offering::new(&settings, coding, []);
    let mode = if coding { Mode::Coding } else { Mode::Assistant };
    let mut toolbox = Toolbox::new(mode, &Access::Full);
    offering.tool().into_iter().for_each(|tool| toolbox.add(Arc::new(tool)));
    (offering, toolbox.specs())
}

#[test]
fn c9_a_plain_question_offers_the_core() {
    let (chat, all) = offering("auto", false);
    let asked = [Message::user("How far is it to the moon?")];
    let offered = chat.offer(all.clone(), &asked);
    assert_eq!(
        names(&offered),
        ["convert_units", "find_tools", "get_usage", "read_note", "web_fetch", "web_search", "write_note"]
    );
    assert!(all.len() > 20 && offered[1].description.contains("github_search"), "{offered:#?}");
    let (every, all) = offering("all", false);
    assert_eq!(every.offer(all.clone(), &asked).len(), all.len());
    assert!(!names(&all).contains(&"find_tools"));
}

#[test]
fn c9_words_calls_and_searches_add_tools_behind_the_others() {
    let (chat, all) = offering("auto", false);
    let first = chat.offer(all.clone(), &[Message::user("What is new in this feed?")]);
    assert!(names(&first).ends_with(&["read_rss", "web_fetch", "web_search", "write_note"]), "{first:#?}");
    let core = chat.offer(all.clone(), &[Message::user("Hello")]);
    assert_eq!(core, first, "what was offered stays");
    assert_eq!(names(&chat.search("clone a repository from GitHub"))[0], "github_clone");
    chat.bring("clone a repository from GitHub");
    let more = chat.offer(all, &[Message::user("Hello")]);
    assert_eq!(more[..first.len()], first[..]);
    assert!(names(&more).contains(&"github_clone") && !names(&more).contains(&"read_lines"), "{more:#?}");
}

#[test]
fn every_row_names_tools_that_exist() {
    let all = crate::agent_toolbox::testing::every_tool();
    let known = |start: &str| all.iter().any(|spec| spec.name.starts_with(start));
    let topics = TOPICS.iter().flat_map(|(_, tools)| tools.iter());
    let starts = WORDS.iter().flat_map(|(_, tools)| tools.iter()).chain(topics);
    let missing: Vec<&str> =
        starts.chain(&CORE_CHAT).chain(&CORE_CODING).copied().filter(|start| !known(start)).collect();
    assert_eq!(missing, Vec::<&str>::new());
}

/// Requests with the tool that each needs, by family, and those that need none.
#[derive(Debug, Deserialize)]
struct FamilyRequests {
    none: Vec<String>,
    #[serde(flatten)]
    families: std::collections::BTreeMap<String, Vec<(String, String)>>,
}

fn requests() -> FamilyRequests {
    toml::from_str(include_str!("../../data/offering_requests.toml")).unwrap()
}

/// The offering of a conversation over every tool of a session's agent.
fn whole_chat() -> (Arc<Offering>, Vec<ToolSpec>) {
    let offering = Offering::new(&Settings::defaults().unwrap(), false, []);
    let mut all = crate::agent_toolbox::testing::every_tool();
    let mut toolbox = Toolbox::new(Mode::Assistant, &Access::Readonly);
    toolbox.keep(&[]);
    offering.tool().into_iter().for_each(|tool| toolbox.add(Arc::new(tool)));
    all.extend(toolbox.specs());
    (offering, all)
}

#[test]
fn needed_tools_are_offered_at_once_or_after_one_search() {
    let (_, all) = whole_chat();
    let all_requests = requests();
    let count = all_requests.none.len() + all_requests.families.values().map(Vec::len).sum::<usize>();
    assert!(count >= 300 && all_requests.none.len() >= 60, "{count} requests");
    for (family, requests) in all_requests.families {
        assert!(requests.len() >= 20, "{family}");
        let coding = family == "coding";
        let (mut late, mut lost) = (Vec::new(), Vec::new());
        for (text, tool) in &requests {
            assert!(all.iter().any(|spec| spec.name == *tool), "{tool} does not exist");
            let offering = Offering::new(&Settings::defaults().unwrap(), coding, []);
            let asked = [Message::user(text.clone())];
            let has = |offering: &Offering| {
                offering.offer(all.clone(), &asked).iter().any(|spec| spec.name == *tool)
            };
            if !has(&offering) {
                late.push(text);
                offering.bring(text);
                if !has(&offering) {
                    lost.push(text);
                }
            }
        }
        assert!(late.len() * 20 <= requests.len(), "{family}: not offered at once: {late:#?}");
        assert_eq!(lost, Vec::<&String>::new(), "{family}: not found");
    }
}

#[test]
fn requests_without_a_need_bring_hardly_a_tool() {
    let (_, all) = whole_chat();
    let mut further = 0;
    let requests = requests().none;
    for text in &requests {
        let offering = Offering::new(&Settings::defaults().unwrap(), false, []);
        further += offering.offer(all.clone(), &[Message::user(text.clone())]).len() - CORE_CHAT.len() - 1;
    }
    assert!(further <= requests.len() / 2, "{further} tools for {} requests", requests.len());
}

#[test]
fn choosing_among_many_tools_is_quick() {
    let (_, all) = whole_chat();
    let mut many = all.clone();
    while many.len() < 1_000 {
        let number = many.len();
        let renamed = |spec: &ToolSpec| ToolSpec { name: format!("{}_{number}", spec.name), ..spec.clone() };
        many.extend(all.iter().map(renamed));
    }
    let offering = Offering::new(&Settings::defaults().unwrap(), false, []);
    let asked = [Message::user("Is there a good ramen place near me, and will it rain?")];
    offering.offer(many.clone(), &asked);
    let started = marvin_testing::CpuTimer::start();
    offering.offer(many, &asked);
    // The bound is 5 ms in a release build; tests are built without optimisation and share the machine.
    assert!(started.elapsed() < std::time::Duration::from_millis(500), "{:?}", started.elapsed());
}

#[test]
fn tools_that_the_person_wants_always_are_in_every_request() {
    let settings = Settings::defaults().unwrap().with(&table::TOOLS_ALWAYS, "blender_,wiki_search").unwrap();
    let offering = Offering::new(&settings, false, []);
    let (_, all) = whole_chat();
    let offered = offering.offer(all, &[Message::user("How far is it to the moon?")]);
    let further =
        names(&offered).into_iter().filter(|name| name.starts_with("blender_") || *name == "wiki_search");
    assert_eq!(further.count(), 9);
}

#[test]
fn names_in_the_settings_that_no_tool_has_are_told() {
    let (chat, all) = offering("read_note, no_such_tool,,", false);
    let tools: BTreeSet<String> = all.iter().map(|spec| spec.name.clone()).collect();
    let told = chat.unknown_names(&tools).unwrap();
    assert!(told.contains(": no_such_tool ("), "{told}");
    assert_eq!(offering("auto", false).0.unknown_names(&tools), None);
    let settings = Settings::defaults().unwrap().with(&table::TOOLS_ALWAYS, "blender_,wikipedia_").unwrap();
    let told = Offering::new(&settings, false, []).unknown_names(&tools).unwrap();
    assert!(told.contains(": wikipedia_ ("), "{told}");
}
