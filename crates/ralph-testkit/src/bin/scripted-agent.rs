//! The scripted agent; see `ralph_testkit::scripted`.

fn main() {
    ralph_testkit::scripted::perform();
}
