//! Starts child processes; no other crate does. Long-running ones (agents, gates) are supervised: each gets its own
//! session, its output is read within limits, and no process of it is left when its end is reported.

mod ancestors;
mod command;
pub mod editor;
pub mod git;
mod launched;
mod lock_file;
mod process_handle;
mod readers;
mod run_to_end;
mod signals;
mod stdin_writer;
mod supervise;
mod sweep;
mod sys;
mod terminal_signals;

pub use ancestors::{Ancestor, ancestors};
pub use command::command;
pub use lock_file::open_lock_file;
pub use run_to_end::{Finished, OutputShare, RunLimits, StopHandle, run_to_end, run_to_end_watched};
pub use signals::{StopSignal, on_stop_signals};
pub use supervise::{
    AfterReply, Ended, ExitReason, Input, ProcessEvent, ProcessSink, Spec, StdinReply, Supervised, start,
};
pub use sweep::{MARKER_VARIABLE, is_alive, kill_descendants, kill_leftovers, start_time};
pub use sys::{become_subreaper, give_memory_back, host};
pub use terminal_signals::{TerminalSignal, on_terminal_signals};
