//! Skills: procedures in files of their own, which coding agents find by the name and the description in front of them.
//! They are only read here; what they say is the agents' own matter.

use serde::Deserialize;

use crate::knowledge::{MAX_FRONTMATTER_BYTES, YamlProblem, halves, read_yaml};

/// The largest file that is read as a skill.
const MAX_BYTES: usize = 4 << 20;
/// The longest name and description, in characters: agents do not take longer ones.
const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 1024;

/// What an agent knows of a skill before it opens it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Its name.
    pub name: String,
    /// What it is good for.
    pub description: String,
}

/// Why agents do not find a skill.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SkillProblem {
    /// It is too large.
    #[error("it has more than {} MiB", MAX_BYTES >> 20)]
    TooLarge,
    /// It is no text.
    #[error("it is not UTF-8")]
    NotText,
    /// It does not begin with a line `---`, or there is no second one.
    #[error("it does not begin with frontmatter between two lines `---`")]
    NoFrontmatter,
    /// What stands in front is too large.
    #[error("its frontmatter has more than {} KiB", MAX_FRONTMATTER_BYTES >> 10)]
    LargeFrontmatter,
    /// What stands in front cannot be read.
    #[error("its frontmatter cannot be read: {0}")]
    BadYaml(String),
    /// It has no name.
    #[error("its frontmatter has no name")]
    NoName,
    /// Its name is not that of its folder.
    #[error("its name is {name:?}, and its folder is {folder:?}")]
    OtherName {
        /// Its name.
        name: String,
        /// The name of the folder that it lies in.
        folder: String,
    },
    /// Its name is none that agents take.
    #[error("its name has other signs than a-z, 0-9 and single dashes between them, or more than {MAX_NAME}")]
    BadName,
    /// It does not say what it is good for.
    #[error("its frontmatter has no description")]
    NoDescription,
    /// It says too much of what it is good for.
    #[error("its description has {characters} characters; agents take at most {MAX_DESCRIPTION}")]
    LongDescription {
        /// How many it has.
        characters: usize,
    },
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
    /// Reads the file of a skill that lies in a folder of this name.
    ///
    /// # Errors
    /// When agents would not find it, or not under its name.
    pub fn parse(bytes: &[u8], folder: &str) -> Result<Self, SkillProblem> {
        if bytes.len() > MAX_BYTES {
            return Err(SkillProblem::TooLarge);
        }
        let text = std::str::from_utf8(bytes).map_err(|_not_utf8| SkillProblem::NotText)?;
        let (front, _) = halves(text).ok_or(SkillProblem::NoFrontmatter)?;
        let front = text.get(front.start()..front.end()).unwrap_or_default();
        let keys: Option<Keys> = read_yaml(front)?;
        let keys = keys.ok_or(SkillProblem::NoName)?;
        let said = |value: Option<String>| value.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let name = said(keys.name).ok_or(SkillProblem::NoName)?;
        if name != folder {
            let folder = folder.to_owned();
            return Err(SkillProblem::OtherName { name, folder });
        }
        if !is_name(&name) {
            return Err(SkillProblem::BadName);
        }
        let description = said(keys.description).ok_or(SkillProblem::NoDescription)?;
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
    fn a_skill_is_read_by_its_frontmatter() {
        let text = "---\nname: deploy-it\ndescription: >-\n  How to deploy,\n  and when not to.\nallowed-tools: [Bash]\n---\n# Deploy\n";
        let skill = Skill::parse(text.as_bytes(), "deploy-it").unwrap();
        assert_eq!(skill.description, "How to deploy, and when not to.");
        assert!(Skill::parse(text.replace('\n', "\r\n").as_bytes(), "deploy-it").is_ok());
    }

    #[test]
    fn what_agents_would_not_find_is_named_in_one_line() {
        let deep = format!("---\nx: {}{}\n---\n", "[".repeat(50), "]".repeat(50));
        let long = format!("---\nname: x\ndescription: {}\n---\n", "é".repeat(1025));
        for (text, problem) in [
            ("", "it does not begin with frontmatter between two lines `---`"),
            (
                "# Deploy\n",
                "it does not begin with frontmatter between two lines `---`",
            ),
            (
                "---\nname: x\n",
                "it does not begin with frontmatter between two lines `---`",
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
                "its name is \"y\", and its folder is \"x\"",
            ),
            ("---\nname: x\n---\n", "its frontmatter has no description"),
            (
                "---\nname: x\ndescription:\n---\n",
                "its frontmatter has no description",
            ),
            (&long, "its description has 1025 characters; agents take at most 1024"),
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
