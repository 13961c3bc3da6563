//! Layer 7: the Model Context Protocol, both sides.
//!
//! [`serve`] gives tools of Marvin to other programs, over standard input and output or over HTTP on this machine; every
//! call goes through the [`marvin_agent::ToolCaller`], so it is judged and recorded like a call of an agent of ours. [`client`]
//! gives the tools of other servers to Marvin's agents, as tools like any other.
//!
//! Limits: of the protocol only tools and log messages are there; no prompts, resources, sampling, questions to the person
//! or tasks, and none of them is declared.

pub mod client;
pub mod serve;
