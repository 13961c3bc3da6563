//! Cost of a run over its whole tree of processes.
//!
//! Every reply of every process of a run is one line of one ledger. The outermost process makes the ledger; its
//! sub-agents are told where it is and append to the same file, so a budget holds for all of them together and nothing
//! is counted twice. A process reports what it and everything below it cost.

use crate::client::Usage;
use crate::price::dollars;
use marvin_base::ledger::chain::{Break, Walk};
use marvin_base::ledger::{self, Durability, Ledger, LedgerError};
use marvin_base::redact::Redactor;
use marvin_base::run_record::{CostReport, MarvinCost, TokenCount};
use marvin_base::{atomic, clock};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// One reply, as the ledger keeps it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Spend {
    /// When.
    pub timestamp: String,
    /// Which processes, outermost first, the last being the one that asked.
    pub lineage: Vec<u32>,
    pub provider: String,
    /// The model.
    pub model: String,
    /// The tokens.
    #[serde(flatten)]
    pub usage: Usage,
    /// Nano-dollars; absent when no price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_nanos: Option<u64>,
}

/// The sum of many replies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// Nano-dollars.
    pub cost: u64,
    /// Replies.
    pub turns: u64,
    /// Replies by model.
    pub model_turns: BTreeMap<String, u64>,
    /// Nano-dollars by model.
    pub model_cost: BTreeMap<String, u64>,
    /// Tokens by provider, as (input, output).
    pub tokens: BTreeMap<String, (u64, u64)>,
    /// Replies by provider.
    pub provider_turns: BTreeMap<String, u64>,
    /// Models whose price is not known: their cost is missing from the sum.
    pub unpriced: BTreeSet<String>,
}

impl Totals {
    fn add(&mut self, spend: &Spend) {
        let cost = spend.cost_nanos.unwrap_or(0);
        self.cost = self.cost.saturating_add(cost);
        self.turns += 1;
        *self.model_turns.entry(spend.model.clone()).or_default() += 1;
        *self.model_cost.entry(spend.model.clone()).or_default() += cost;
        *self.provider_turns.entry(spend.provider.clone()).or_default() += 1;
        let tokens = self.tokens.entry(spend.provider.clone()).or_default();
        tokens.0 += spend.usage.input;
        tokens.1 += spend.usage.output;
        if spend.cost_nanos.is_none() {
            self.unpriced.insert(spend.model.clone());
        }
    }

    /// The object behind `MARVIN_COST:`: exactly four keys.
    #[must_use]
    pub fn marvin_cost(&self) -> MarvinCost {
        MarvinCost {
            session_cost: dollars(self.cost),
            llm_turns: self.turns,
            model_turns: self.model_turns.clone(),
            model_cost: self.model_cost.iter().map(|(model, cost)| (model.clone(), dollars(*cost))).collect(),
        }
    }

    /// The cost in a result object: the four keys, tokens, and models without a price.
    #[must_use]
    pub fn report(&self) -> CostReport {
        let tokens = self.tokens.iter().map(|(provider, (input, output))| {
            (provider.clone(), TokenCount { input: *input, output: *output })
        });
        CostReport {
            total: self.marvin_cost(),
            tokens: tokens.collect(),
            unpriced_models: self.unpriced.iter().cloned().collect(),
        }
    }
}

/// The cost ledger as one process sees it.
#[derive(Debug)]
pub struct CostLedger {
    path: PathBuf,
    lineage: Vec<u32>,
    limit: Option<u64>,
    ledger: Mutex<Ledger>,
    calls: Mutex<BTreeMap<String, u64>>,
    summed: Mutex<CostTotal>,
}

/// Sum of the ledger so far, which is asked for before every request.
#[derive(Debug, Default)]
struct CostTotal {
    walk: Walk,
    cost: u64,
}

impl CostLedger {
    /// Opens the ledger at `path`. `above` are the processes above this one; `limit` is in nano-dollars.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open(
        path: &Path,
        above: &[u32],
        limit: Option<u64>,
        durability: Durability,
        redactor: Arc<Redactor>,
    ) -> Result<Self, LedgerError> {
        let mut lineage = above.to_vec();
        lineage.push(std::process::id());
        let ledger = Mutex::new(Ledger::open_shared_chained(path, durability, redactor)?);
        Ok(CostLedger {
            path: path.to_path_buf(),
            lineage,
            limit,
            ledger,
            calls: Mutex::default(),
            summed: Mutex::default(),
        })
    }

    /// The path of the ledger, for sub-agents.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The processes down to this one, for sub-agents.
    #[must_use]
    pub fn lineage(&self) -> &[u32] {
        &self.lineage
    }

    /// The budget, in nano-dollars.
    #[must_use]
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// Writes down one reply.
    ///
    /// # Errors
    /// When the ledger cannot be appended to.
    pub fn record(
        &self,
        provider: &str,
        model: &str,
        usage: Usage,
        cost: Option<u64>,
    ) -> Result<(), LedgerError> {
        let spend = Spend {
            timestamp: clock::now_stamp(),
            lineage: self.lineage.clone(),
            provider: provider.to_string(),
            model: model.to_string(),
            usage,
            cost_nanos: cost,
        };
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner).append(&spend).map(|_| ())
    }

    /// Counts one call of a tool, for lifetime usage.
    pub fn count_call(&self, tool: &str) {
        *self.calls.lock().unwrap_or_else(PoisonError::into_inner).entry(tool.to_string()).or_default() += 1;
    }

    /// How often each tool was called by this process.
    #[must_use]
    pub fn calls(&self) -> BTreeMap<String, u64> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Cost of this process and everything below it.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn totals(&self) -> Result<Totals, LedgerError> {
        self.sum(|spend| spend.lineage.starts_with(&self.lineage))
    }

    /// Cost of the whole tree, which a budget is compared with.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn tree(&self) -> Result<Totals, LedgerError> {
        self.sum(|_| true)
    }

    fn sum(&self, counts: impl Fn(&Spend) -> bool) -> Result<Totals, LedgerError> {
        let mut totals = Totals::default();
        for entry in ledger::read_chained(&self.path)?.entries {
            if let Ok(spend) = serde_json::from_value::<Spend>(entry)
                && counts(&spend)
            {
                totals.add(&spend);
            }
        }
        Ok(totals)
    }

    /// Is the budget of the whole tree spent?
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn is_spent(&self) -> Result<bool, LedgerError> {
        match self.limit {
            None => Ok(false),
            Some(limit) => Ok(self.spent()? >= limit),
        }
    }

    /// Cost of the whole tree in nano-dollars; reads only lines that are new since the last call.
    fn spent(&self) -> Result<u64, LedgerError> {
        let mut summed = self.summed.lock().unwrap_or_else(PoisonError::into_inner);
        let broken = |found| LedgerError::Broken { path: self.path.display().to_string(), found };
        let read = |from: u64| -> std::io::Result<(Vec<u8>, u64)> {
            let mut file = File::open(&self.path)?;
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(from))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok((bytes, length))
        };
        let Ok((bytes, length)) = read(summed.walk.bytes) else { return Ok(self.tree()?.cost) };
        if length < summed.walk.bytes {
            return Err(broken(Break::Shorter { expected: summed.walk.bytes, found: length }));
        }
        for line in bytes.split_inclusive(|byte| *byte == b'\n').filter_map(|line| line.strip_suffix(b"\n")) {
            summed.walk.step(line).map_err(broken)?;
            if let Ok(spend) = serde_json::from_slice::<Spend>(line) {
                summed.cost = summed.cost.saturating_add(spend.cost_nanos.unwrap_or(0));
            }
        }
        Ok(summed.cost)
    }
}

/// Lifetime usage, `usage.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lifetime {
    /// Dollars.
    pub total_cost: f64,
    /// Replies.
    pub total_llm_turns: u64,
    /// Replies of Ollama, which are free.
    pub total_ollama_turns: u64,
    pub total_provider_tokens: BTreeMap<String, Tokens>,
    /// Calls by tool.
    pub total_calls: BTreeMap<String, u64>,
    /// Replies by model.
    pub total_model_turns: BTreeMap<String, u64>,
}

/// Tokens read and written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tokens {
    /// Read.
    pub input: u64,
    /// Written.
    pub output: u64,
}

impl Lifetime {
    /// Reads `usage.json`; a file that does not exist is all zeros.
    ///
    /// # Errors
    /// When it cannot be read or is not what it should be; it is then left alone.
    pub fn read(path: &Path) -> std::io::Result<Self> {
        match std::fs::read_to_string(path) {
            Ok(text) => serde_json::from_str(&text).map_err(std::io::Error::from),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Lifetime::default()),
            Err(error) => Err(error),
        }
    }

    /// Adds a run to `usage.json`, safely beside other processes that do the same.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn add(path: &Path, totals: &Totals, calls: &BTreeMap<String, u64>) -> std::io::Result<()> {
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory)?;
        }
        let lock =
            OpenOptions::new().create(true).truncate(false).write(true).open(path.with_extension("lock"))?;
        lock.lock()?;
        let mut lifetime = Lifetime::read(path)?;
        lifetime.total_cost += dollars(totals.cost);
        lifetime.total_llm_turns += totals.turns;
        lifetime.total_ollama_turns += totals.provider_turns.get("ollama").copied().unwrap_or(0);
        for (model, turns) in &totals.model_turns {
            *lifetime.total_model_turns.entry(model.clone()).or_default() += turns;
        }
        for (provider, (input, output)) in &totals.tokens {
            let tokens = lifetime.total_provider_tokens.entry(provider.clone()).or_default();
            tokens.input += input;
            tokens.output += output;
        }
        for (tool, count) in calls {
            *lifetime.total_calls.entry(tool.clone()).or_default() += count;
        }
        let mut text = serde_json::to_string_pretty(&lifetime)?;
        text.push('\n');
        atomic::replace(path, text.as_bytes()).map_err(|error| error.source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(path: &Path, above: &[u32], limit: Option<u64>) -> CostLedger {
        CostLedger::open(path, above, limit, Durability::System, Arc::new(Redactor::patterns_only())).unwrap()
    }

    #[test]
    fn a_tree_shares_one_budget_and_each_reports_its_own_part() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cost.jsonl");
        let parent = open(&path, &[], Some(100));
        let usage = Usage { input: 10, output: 5, cached: 0 };
        parent.record("openai", "gpt", usage, Some(40)).unwrap();
        // Another process below: its lineage begins with the parent's.
        let mut child = open(&path, parent.lineage(), Some(100));
        child.lineage = vec![parent.lineage[0], 999_999];
        child.record("ollama", "qwen", usage, Some(50)).unwrap();
        assert_eq!(child.totals().unwrap().cost, 50);
        assert_eq!(parent.totals().unwrap().cost, 90);
        assert!(!parent.is_spent().unwrap());
        parent.record("openai", "gpt", usage, Some(10)).unwrap();
        assert!(child.is_spent().unwrap(), "the budget is the tree's");
        assert!(parent.is_spent().unwrap(), "also where a part was read before");
        assert_eq!((parent.spent().unwrap(), child.spent().unwrap()), (100, 100));
        let report = parent.totals().unwrap().marvin_cost();
        assert_eq!(
            report.to_string(),
            r#"{"session_cost":1e-7,"llm_turns":3,"model_turns":{"gpt":2,"qwen":1},"model_cost":{"gpt":5e-8,"qwen":5e-8}}"#
        );
    }

    #[test]
    fn lifetime_usage_adds_up() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("usage.json");
        let mut totals = Totals { cost: 2_000_000_000, turns: 3, ..Totals::default() };
        totals.tokens.insert("gemini".into(), (7, 8));
        Lifetime::add(&path, &totals, &BTreeMap::from([("tree".into(), 2)])).unwrap();
        Lifetime::add(&path, &totals, &BTreeMap::new()).unwrap();
        let lifetime = Lifetime::read(&path).unwrap();
        assert!((lifetime.total_cost - 4.0).abs() < 1e-9);
        assert_eq!(lifetime.total_provider_tokens["gemini"], Tokens { input: 14, output: 16 });
        assert_eq!(lifetime.total_calls["tree"], 2);
        std::fs::write(&path, "not json").unwrap();
        assert!(Lifetime::add(&path, &totals, &BTreeMap::new()).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "not json", "nothing is lost");
    }
}
