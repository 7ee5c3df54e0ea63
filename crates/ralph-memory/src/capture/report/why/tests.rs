//! What is picked of outputs of real tools.
use super::super::category::category_of;
use super::super::recorded::RECORDED;
use super::*;
#[test]
fn dump() {
    for r in RECORDED {
        let picked = why_lines(r.output, 500);
        println!(
            "=== {} | {} | {}\n{}",
            r.name,
            r.command,
            category_of(&picked).word(),
            picked
        );
    }
}
