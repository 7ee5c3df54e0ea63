//! The agent that follows a script; see `ralph_testkit::scripted`.

fn main() {
    ralph_testkit::scripted::perform();
}
