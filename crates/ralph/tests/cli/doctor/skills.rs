//! Tests of doctor's checks of skills.

use super::{check, doctor, healthy, only_checked};

const GOOD: &str = "---\nname: good\ndescription: What it is good for.\n---\n\n# Good\n";

#[test]
fn skills_with_a_name_and_a_description_are_fine() {
    let env = healthy();
    env.write(".claude/skills/good/SKILL.md", GOOD);
    env.write(".agents/skills/good/SKILL.md", GOOD);
    env.write(".claude/skills/README.md", "No folder, no skill.");
    env.write(".claude/skills/.git/HEAD", "No skill either.");
    let looked = doctor(&env, []).run();
    let ending = "skills\n  ok       2 skills have a name and a description\n\nEverything is fine.\n";
    assert!(looked.stdout.ends_with(ending), "{looked}");
    env.ok(["setup", "claude", "--yes"]);
    assert_eq!(
        only_checked(&env),
        "exit 0\n\n",
        "the skill that ralph writes is one of them"
    );
}

#[test]
fn invalid_skills_are_reported_with_a_remedy() {
    let env = healthy();
    env.write(".claude/skills/a-plain/SKILL.md", "# Deploy\n");
    env.write(".claude/skills/b-yaml/SKILL.md", "---\nname: [b-yaml\n---\n");
    env.write(".claude/skills/c-nameless/SKILL.md", "---\ndescription: x\n---\n");
    env.write(
        ".claude/skills/d-other/SKILL.md",
        "---\nname: other\ndescription: x\n---\n",
    );
    env.write(
        ".claude/skills/e-silent/SKILL.md",
        "---\nname: e-silent\ndescription: ' '\n---\n",
    );
    env.write(".claude/skills/f-missing/skill.md", GOOD);
    env.write(".claude/skills/g-latin/SKILL.md", b"---\xe9\n");
    env.write(".claude/skills/h-folder/SKILL.md/x", "");
    env.write(
        ".claude/skills/I Name/SKILL.md",
        "---\nname: I Name\ndescription: x\n---\n",
    );
    env.write(
        ".claude/skills/j-long/SKILL.md",
        format!("---\nname: j-long\ndescription: {}\n---\n", "x".repeat(2000)),
    );
    env.write(".agents/skills/k-plain/SKILL.md", "");
    let expected = [
        [
            "claude/skills/I Name/SKILL.md: its name must be at most 64",
            "`deploy-to-staging`",
        ],
        [
            "claude/skills/a-plain/SKILL.md: it does not start with frontmatter",
            "`name: a-plain`",
        ],
        [
            "claude/skills/b-yaml/SKILL.md: its frontmatter cannot be read",
            "fix the file",
        ],
        [
            "claude/skills/c-nameless/SKILL.md: its frontmatter has no name",
            "`name: c-nameless`",
        ],
        [
            "claude/skills/d-other/SKILL.md: its name is \"other\"",
            "`name: d-other`",
        ],
        [
            "claude/skills/e-silent/SKILL.md: its frontmatter has no description",
            "`description:`",
        ],
        ["claude/skills/f-missing/SKILL.md: it is missing", "`name: f-missing`"],
        ["claude/skills/g-latin/SKILL.md: it is not UTF-8", "save it as UTF-8"],
        [
            "claude/skills/h-folder/SKILL.md: it cannot be read",
            "readable text file",
        ],
        [
            "claude/skills/j-long/SKILL.md: its description has 2000 characters",
            "below the frontmatter",
        ],
        [
            "agents/skills/k-plain/SKILL.md: it does not start with frontmatter",
            "`name: k-plain`",
        ],
    ];
    let expected = expected.map(|[problem, remedy]| ["warning", problem, remedy]);
    check(&only_checked(&env), 0, &expected);
}

#[test]
fn a_skills_path_that_is_not_a_folder_is_reported() {
    let env = healthy();
    env.write(".agents/skills", "a file");
    let problem = ".agents/skills: skills cannot be listed: Not a directory";
    check(&only_checked(&env), 0, &[["warning", problem, "readable folder"]]);
}
