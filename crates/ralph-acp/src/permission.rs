//! Answers permission requests of agents. The answer depends on the kind of tool, never on the name of a tool or
//! option.
//!
//! | kind of tool | read-only | `edit` | `full` |
//! |---|---|---|---|
//! | read, search: all that they name is inside the project | yes | yes | yes |
//! | edit, move: the same, they name something, and it is not git's own | no | yes | yes |
//! | the same otherwise | no | no | yes |
//! | think | yes | yes | yes |
//! | execute: a memory command of ralph, a gate, or what `[agent] allow` has | no | yes | yes |
//! | any other execute; delete, fetch, `switch_mode`, any other | no | no | yes |

use std::path::{Component, Path, PathBuf};

use ralph_agent::{Access, Denial, is_allowed_command, permitting_line};
use ralph_model::config::Permissions;
use serde_json::Value;

use crate::schema::ToolKind;
use crate::tools::Call;

/// The answer to a permission request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Allow,
    Deny,
}

/// Whether a call is allowed.
pub(crate) fn verdict(access: Access, call: &Call, folders: &[PathBuf], allowed_commands: &[String]) -> Verdict {
    let below = |path: &PathBuf| folders.iter().find_map(|folder| below(folder, path));
    let is_inside = |path: &PathBuf| below(path).is_some();
    let is_work = |path: &PathBuf| below(path).is_some_and(|inside| !is_in_git_folder(&inside));
    let is_allowed = match (access, call.kind) {
        (Access::Work(Permissions::Full), _) | (_, ToolKind::Think) => true,
        (_, ToolKind::Read | ToolKind::Search) => !call.has_more_paths && call.paths.iter().all(is_inside),
        // Without a path, it is unknown what the call would write.
        (Access::Work(Permissions::Edit), ToolKind::Edit | ToolKind::Move) => {
            !call.paths.is_empty() && !call.has_more_paths && call.paths.iter().all(is_work)
        }
        (Access::Work(Permissions::Edit), ToolKind::Execute) => call
            .command()
            .is_some_and(|command| is_allowed_command(command, allowed_commands)),
        (Access::Work(Permissions::Edit) | Access::ReadOnly, _) => false,
    };
    if is_allowed { Verdict::Allow } else { Verdict::Deny }
}

/// The option with the narrowest scope; `None` if no matching option is offered.
pub(crate) fn option(options: &Value, verdict: Verdict) -> Option<&str> {
    let kinds = match verdict {
        Verdict::Allow => ["allow_once", "allow_always"],
        Verdict::Deny => ["reject_once", "reject_always"],
    };
    let options = options.as_array()?;
    let of_kind = |kind: &&str| {
        let fits = |option: &&Value| option.get("kind").and_then(Value::as_str) == Some(kind);
        options.iter().find(fits)?.get("optionId")?.as_str()
    };
    kinds.iter().find_map(of_kind)
}

/// The denial of a call, with the line that would allow it.
pub(crate) fn denial(call: &Call) -> Denial {
    let command = call.command().filter(|_| call.kind == ToolKind::Execute);
    Denial {
        tool: call.name(),
        about: call.about(),
        permit: Some(permitting_line(command.unwrap_or_default())),
    }
}

/// The real path relative to a folder; `None` if it is outside or cannot be resolved.
fn below(folder: &Path, path: &Path) -> Option<PathBuf> {
    let place = real(&folder.join(path))?;
    Some(place.strip_prefix(real(folder)?).ok()?.to_owned())
}

/// The real path of a file that may not exist yet. `None` for a dangling link, because the target of a write through it
/// is unchecked.
fn real(path: &Path) -> Option<PathBuf> {
    let mut place = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                place.pop();
            }
            part => place.push(part),
        }
        if place.is_symlink() {
            place = place.canonicalize().ok()?;
        }
    }
    Some(place)
}

/// Whether the path is inside git's own folder, where a write could run commands.
fn is_in_git_folder(inside: &Path) -> bool {
    inside.iter().any(|part| part.eq_ignore_ascii_case(".git"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(access: impl Into<Access>, kind: ToolKind, paths: &[&str], expected: Verdict) {
        let mut call = Call::default();
        call.kind = kind;
        call.paths = paths.iter().map(PathBuf::from).collect();
        let folders = [PathBuf::from("/p"), PathBuf::from("/real/p")];
        assert_eq!(
            verdict(access.into(), &call, &folders, &[]),
            expected,
            "{kind:?} {paths:?}"
        );
    }

    #[test]
    fn edit_allows_reading_and_editing_inside_the_project() {
        let check = |kind, paths: &[&str], expected| check(Permissions::Edit, kind, paths, expected);
        for kind in [ToolKind::Read, ToolKind::Search] {
            check(kind, &[], Verdict::Allow);
            check(kind, &["/p/.git/config"], Verdict::Allow);
        }
        for kind in [ToolKind::Edit, ToolKind::Move] {
            // The target is unknown.
            check(kind, &[], Verdict::Deny);
            for hook in [".git/hooks/pre-commit", "/p/.git", "/p/lib/.GIT/config", "a/../.git/x"] {
                check(kind, &["/p/a.rs", hook], Verdict::Deny);
            }
            check(kind, &[".gitignore", ".github/x"], Verdict::Allow);
        }
        for kind in [ToolKind::Read, ToolKind::Search, ToolKind::Edit, ToolKind::Move] {
            check(kind, &["/p/a.rs", "b/c.rs", "/real/p/x"], Verdict::Allow);
            check(kind, &["/p/a.rs", "/etc/passwd"], Verdict::Deny);
            check(kind, &["/p/../q"], Verdict::Deny);
            check(kind, &["../q"], Verdict::Deny);
            check(kind, &["/pq"], Verdict::Deny);
        }
        check(ToolKind::Think, &[], Verdict::Allow);
        for kind in [
            ToolKind::Execute,
            ToolKind::Delete,
            ToolKind::Fetch,
            ToolKind::SwitchMode,
            ToolKind::Other,
        ] {
            check(kind, &["/p/a.rs"], Verdict::Deny);
        }
    }

    #[test]
    fn link_out_of_the_project_is_outside() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("project");
        let links = [
            ("out", "../elsewhere"),
            ("in", "src"),
            ("nowhere", "../missing"),
            ("hooks", ".git/hooks"),
        ];
        for folder in ["project/src", "project/.git/hooks", "elsewhere/deep"] {
            std::fs::create_dir_all(place.path().join(folder)).unwrap();
        }
        for (name, target) in links {
            std::os::unix::fs::symlink(target, root.join(name)).unwrap();
        }
        let by_link = place.path().join("link");
        std::os::unix::fs::symlink(&root, &by_link).unwrap();
        let edit = |path: &str| {
            let mut call = Call::default();
            call.kind = ToolKind::Edit;
            call.paths = [PathBuf::from(path)].into();
            [&root, &by_link].map(|folder| verdict(Permissions::Edit.into(), &call, std::slice::from_ref(folder), &[]))
        };
        for path in ["src/a", "in/a", "in/new/b", "src/../c"] {
            assert_eq!(edit(path), [Verdict::Allow; 2], "{path}");
        }
        for path in [
            "out/a",
            "out/deep/../a",
            "in/../../x",
            "nowhere",
            "nowhere/x",
            "hooks/pre-commit",
        ] {
            assert_eq!(edit(path), [Verdict::Deny; 2], "{path}");
        }
    }

    #[test]
    fn read_only_allows_reading_inside_the_project() {
        let check = |kind, paths: &[&str], expected| check(Access::ReadOnly, kind, paths, expected);
        for kind in [ToolKind::Read, ToolKind::Search, ToolKind::Think] {
            check(kind, &["/p/a.rs"], Verdict::Allow);
        }
        for kind in [ToolKind::Read, ToolKind::Search] {
            check(kind, &["/etc/passwd"], Verdict::Deny);
        }
        for kind in [
            ToolKind::Edit,
            ToolKind::Move,
            ToolKind::Delete,
            ToolKind::Execute,
            ToolKind::Fetch,
            ToolKind::SwitchMode,
            ToolKind::Other,
        ] {
            check(kind, &["/p/a.rs"], Verdict::Deny);
        }
    }

    #[test]
    fn full_allows_everything() {
        check(Permissions::Full, ToolKind::Delete, &["/etc"], Verdict::Allow);
        check(Permissions::Full, ToolKind::Other, &[], Verdict::Allow);
    }

    #[test]
    fn narrowest_option_of_the_kind_is_chosen() {
        let all = json!([
            {"optionId": "always", "kind": "allow_always"}, {"optionId": "once", "kind": "allow_once"}, 7,
            {"optionId": "never", "kind": "reject_always"}, {"optionId": "no", "kind": "reject_once"},
        ]);
        assert_eq!(option(&all, Verdict::Allow), Some("once"));
        assert_eq!(option(&all, Verdict::Deny), Some("no"));
        let named = json!([{"optionId": "allow", "name": "Allow", "kind": "reject_always"}, {"optionId": "x"}]);
        assert_eq!(option(&named, Verdict::Allow), None);
        assert_eq!(option(&named, Verdict::Deny), Some("allow"));
        assert_eq!(option(&Value::Null, Verdict::Allow), None);
    }
}
