//! Reads skills: procedures in their own files, which coding agents find by the name and description in the
//! frontmatter.

use serde::Deserialize;

use crate::knowledge::{MAX_FRONTMATTER_BYTES, YamlProblem, read_yaml, split_frontmatter};

const MAX_BYTES: usize = 4 << 20;
/// The longest name and description, in characters, that agents accept.
const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 1024;

/// What an agent knows of a skill before it opens the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    pub description: String,
}

/// Why agents cannot find a skill.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SkillProblem {
    #[error("it is larger than {} MiB", MAX_BYTES >> 20)]
    TooLarge,
    #[error("it is not UTF-8")]
    NotText,
    #[error("it does not start with frontmatter between `---` lines")]
    NoFrontmatter,
    #[error("its frontmatter is larger than {} KiB", MAX_FRONTMATTER_BYTES >> 10)]
    LargeFrontmatter,
    #[error("its frontmatter cannot be read: {0}")]
    BadYaml(String),
    #[error("its frontmatter has no name")]
    NoName,
    #[error("its name is {name:?}, but its folder is {folder:?}")]
    OtherName { name: String, folder: String },
    #[error("its name must be at most {MAX_NAME} characters: a-z, 0-9, and single dashes in between")]
    BadName,
    #[error("its frontmatter has no description")]
    NoDescription,
    #[error("its description has {characters} characters; agents accept at most {MAX_DESCRIPTION}")]
    LongDescription { characters: usize },
}

impl From<YamlProblem> for SkillProblem {
    fn from(problem: YamlProblem) -> Self {
        match problem {
            YamlProblem::TooLarge => Self::LargeFrontmatter,
            YamlProblem::Bad(why) => Self::BadYaml(why),
        }
    }
}

#[derive(Deserialize)]
struct Keys {
    name: Option<String>,
    description: Option<String>,
}

impl Skill {
    /// Reads the file of the skill in this folder.
    ///
    /// # Errors
    /// If agents would not find the skill under its name.
    pub fn parse(bytes: &[u8], folder: &str) -> Result<Self, SkillProblem> {
        if bytes.len() > MAX_BYTES {
            return Err(SkillProblem::TooLarge);
        }
        let text = std::str::from_utf8(bytes).map_err(|_not_utf8| SkillProblem::NotText)?;
        let (front, _) = split_frontmatter(text).ok_or(SkillProblem::NoFrontmatter)?;
        let front = text.get(front.start()..front.end()).unwrap_or_default();
        let keys: Option<Keys> = read_yaml(front)?;
        let keys = keys.ok_or(SkillProblem::NoName)?;
        let non_blank =
            |value: Option<String>| value.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let name = non_blank(keys.name).ok_or(SkillProblem::NoName)?;
        if name != folder {
            let folder = folder.to_owned();
            return Err(SkillProblem::OtherName { name, folder });
        }
        if !is_name(&name) {
            return Err(SkillProblem::BadName);
        }
        let description = non_blank(keys.description).ok_or(SkillProblem::NoDescription)?;
        let characters = description.chars().count();
        if characters > MAX_DESCRIPTION {
            return Err(SkillProblem::LongDescription { characters });
        }
        Ok(Self { name, description })
    }
}

fn is_name(name: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    name.len() <= MAX_NAME && name.split('-').all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skill_is_read_from_its_frontmatter() {
        let text = "---\nname: deploy-it\ndescription: >-\n  How to deploy,\n  and when not to.\nallowed-tools: [Bash]\n---\n# Deploy\n";
        let skill = Skill::parse(text.as_bytes(), "deploy-it").unwrap();
        assert_eq!(skill.description, "How to deploy, and when not to.");
        assert!(Skill::parse(text.replace('\n', "\r\n").as_bytes(), "deploy-it").is_ok());
    }

    #[test]
    fn skill_problems_are_reported_in_one_line() {
        let deep = format!("---\nx: {}{}\n---\n", "[".repeat(50), "]".repeat(50));
        let long = format!("---\nname: x\ndescription: {}\n---\n", "é".repeat(1025));
        for (text, problem) in [
            ("", "it does not start with frontmatter between `---` lines"),
            ("# Deploy\n", "it does not start with frontmatter between `---` lines"),
            (
                "---\nname: x\n",
                "it does not start with frontmatter between `---` lines",
            ),
            ("---\nname: [x\n---\n", "its frontmatter cannot be read: "),
            (
                "---\nname: &a x\ndescription: *a\n---\n",
                "its frontmatter cannot be read: ",
            ),
            (&deep, "its frontmatter cannot be read: "),
            ("---\n---\n", "its frontmatter has no name"),
            ("---\ndescription: y\n---\n", "its frontmatter has no name"),
            ("---\nname: ' '\ndescription: y\n---\n", "its frontmatter has no name"),
            (
                "---\nname: y\ndescription: z\n---\n",
                "its name is \"y\", but its folder is \"x\"",
            ),
            ("---\nname: x\n---\n", "its frontmatter has no description"),
            (
                "---\nname: x\ndescription:\n---\n",
                "its frontmatter has no description",
            ),
            (&long, "its description has 1025 characters; agents accept at most 1024"),
        ] {
            let found = Skill::parse(text.as_bytes(), "x").unwrap_err().to_string();
            assert!(found.starts_with(problem), "{found}");
            assert_eq!(found.lines().count(), 1, "{found}");
        }
        assert_eq!(Skill::parse(b"---\xff", "x"), Err(SkillProblem::NotText));
        assert_eq!(
            Skill::parse(&vec![b'x'; MAX_BYTES + 1], "x"),
            Err(SkillProblem::TooLarge)
        );
        for name in ["Deploy It", "-x", "x--y", "ä", &"x".repeat(65)] {
            let text = format!("---\nname: {name:?}\ndescription: y\n---\n");
            assert_eq!(
                Skill::parse(text.as_bytes(), name),
                Err(SkillProblem::BadName),
                "{name}"
            );
        }
    }
}
