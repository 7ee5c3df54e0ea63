//! What doctor says of skills.

use insta::assert_snapshot;

use super::{doctor, healthy, only_looked};

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
        only_looked(&env),
        "exit 0\n\n",
        "the skill that ralph writes is one of them"
    );
}

#[test]
fn every_skill_that_agents_would_not_find_is_named_with_what_mends_it() {
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
    assert_snapshot!(only_looked(&env), @r#"
    exit 0
      warning  .claude/skills/I Name/SKILL.md: its name has other signs than a-z, 0-9 and single dashes between them, or more than 64
               → give it and its folder a name such as `deploy-to-staging`
      warning  .claude/skills/a-plain/SKILL.md: it does not begin with frontmatter between two lines `---`
               → begin it with `---`, `name: a-plain`, `description: WHAT IT IS GOOD FOR` and `---`, each on a line of its own
      warning  .claude/skills/b-yaml/SKILL.md: its frontmatter cannot be read: expected string scalar at line 2, column 7
               → mend it there; a value with `: ` or ` #` in it goes in quotes
      warning  .claude/skills/c-nameless/SKILL.md: its frontmatter has no name
               → add `name: c-nameless` to its frontmatter
      warning  .claude/skills/d-other/SKILL.md: its name is "other", and its folder is "d-other"
               → write `name: d-other` there, or give the folder its name
      warning  .claude/skills/e-silent/SKILL.md: its frontmatter has no description
               → add `description:` with what it is good for and when to use it; agents choose it by that
      warning  .claude/skills/f-missing/SKILL.md: it is not there, so agents do not find this skill
               → write it, with `name: f-missing` and a `description:` between two lines `---` in front; or remove .claude/skills/f-missing
      warning  .claude/skills/g-latin/SKILL.md: it is not UTF-8
               → save it as UTF-8
      warning  .claude/skills/h-folder/SKILL.md: it cannot be read: is a directory
               → put a file of text there that you may read
      warning  .claude/skills/j-long/SKILL.md: its description has 2000 characters; agents take at most 1024
               → say the rest below the frontmatter
      warning  .agents/skills/k-plain/SKILL.md: it does not begin with frontmatter between two lines `---`
               → begin it with `---`, `name: k-plain`, `description: WHAT IT IS GOOD FOR` and `---`, each on a line of its own
    "#);
}

#[test]
fn a_place_of_skills_that_is_no_folder_is_named() {
    let env = healthy();
    env.write(".agents/skills", "a file");
    assert_snapshot!(only_looked(&env), @"
    exit 0
      warning  .agents/skills: its skills cannot be listed: Not a directory (os error 20)
               → it has to be a folder that you may read
    ");
}
