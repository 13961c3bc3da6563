//! Layer 7: the Model Context Protocol, both sides.
//!
//! [`serve`] offers tools of Marvin to other programs, over standard input and output or over HTTP on this machine; every
//! call passes the [`marvin_agent::ToolCaller`], so it is judged and recorded like a call of Marvin's own agents. [`client`]
//! offers the tools of other servers to Marvin's agents, as tools like any other.
//!
//! Limits: of the protocol only tools and log messages are implemented; no prompts, resources, sampling, elicitation or
//! tasks, and none of them is declared.

pub mod client;
pub mod serve;
