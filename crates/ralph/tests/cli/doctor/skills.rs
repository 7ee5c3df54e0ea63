//! Tests of doctor's checks of skills.

use insta::assert_snapshot;

use super::{doctor, healthy, only_checked};

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
    assert_snapshot!(only_checked(&env), @r#"
    exit 0
      warning  .claude/skills/I Name/SKILL.md: its name must be at most 64 characters: a-z, 0-9, and single dashes in between
               → give it and its folder a name such as `deploy-to-staging`
      warning  .claude/skills/a-plain/SKILL.md: it does not start with frontmatter between `---` lines
               → start it with the lines `---`, `name: a-plain`, `description: WHAT IT DOES` and `---`
      warning  .claude/skills/b-yaml/SKILL.md: its frontmatter cannot be read: expected string scalar at line 2, column 7
               → fix the file; quote values that contain `: ` or ` #`
      warning  .claude/skills/c-nameless/SKILL.md: its frontmatter has no name
               → add `name: c-nameless` to its frontmatter
      warning  .claude/skills/d-other/SKILL.md: its name is "other", but its folder is "d-other"
               → write `name: d-other` there, or give the folder its name
      warning  .claude/skills/e-silent/SKILL.md: its frontmatter has no description
               → add a `description:` of what it does and when to use it; agents choose skills by it
      warning  .claude/skills/f-missing/SKILL.md: it is missing, so agents do not find this skill
               → create it with `name: f-missing` and `description:` between two `---` lines at the top, or remove .claude/skills/f-missing
      warning  .claude/skills/g-latin/SKILL.md: it is not UTF-8
               → save it as UTF-8
      warning  .claude/skills/h-folder/SKILL.md: it cannot be read: is a directory
               → make it a readable text file
      warning  .claude/skills/j-long/SKILL.md: its description has 2000 characters; agents accept at most 1024
               → move the rest below the frontmatter
      warning  .agents/skills/k-plain/SKILL.md: it does not start with frontmatter between `---` lines
               → start it with the lines `---`, `name: k-plain`, `description: WHAT IT DOES` and `---`
    "#);
}

#[test]
fn a_skills_path_that_is_not_a_folder_is_reported() {
    let env = healthy();
    env.write(".agents/skills", "a file");
    assert_snapshot!(only_checked(&env), @"
    exit 0
      warning  .agents/skills: skills cannot be listed: Not a directory (os error 20)
               → it must be a readable folder
    ");
}
