//! Child processes: the only place that starts one. Those that run for long (agents, gates) are supervised: each gets a
//! session of its own, its output is read within limits, and nothing of it is left when its end is told.

mod ancestors;
mod command;
pub mod editor;
pub mod git;
mod hold;
mod launched;
mod lock_file;
mod readers;
mod run_to_end;
mod signals;
mod supervise;
mod sweep;
mod sys;
mod terminal_signals;
mod voice;

pub use ancestors::{Ancestor, ancestors};
pub use command::command;
pub use lock_file::open_lock_file;
pub use run_to_end::{Finished, OutputShare, RunLimits, StopHandle, run_to_end, run_to_end_watched};
pub use signals::{StopSignal, on_stop_signals};
pub use supervise::{Answer, Ended, HowEnded, Input, ProcessEvent, ProcessSink, Spec, Supervised, Then, start};
pub use sweep::{MARKER_VARIABLE, is_alive, kill_descendants, kill_leftovers, start_time};
pub use sys::{become_subreaper, give_memory_back, host};
pub use terminal_signals::{TerminalSignal, on_terminal_signals};
