//! Detects dependency cycles: tasks that could never be done because they wait for each other.
//!
//! A task begins after its dependencies have ended and after its parent could begin; it ends after it has begun and its
//! children have ended. So every task is two points, its beginning and its end, and a dependency cycle is a path from a
//! point back to itself.

use std::collections::HashMap;

use ralph_model::TaskId;
use rusqlite::Transaction;

use super::task_rows::ids;

/// The beginning or the end of a task.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Point {
    Begin(TaskId),
    End(TaskId),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    OnPath,
    Finished,
}

/// A point on the search path, with its predecessors that are still to be visited.
struct Frame {
    point: Point,
    ahead: Vec<Point>,
}

/// A dependency that was removed because it was part of a cycle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BrokenCycle {
    pub(super) task: TaskId,
    pub(super) after: TaskId,
    /// The cycle from that dependency on, one step per sentence.
    pub(super) steps: Vec<String>,
}

/// How the search continues after it found a cycle.
enum Next {
    Stop,
    /// With this many frames of the path; the rest is dropped.
    ContinueFrom(usize),
}

/// Looks for a dependency cycle through one of these tasks; returns its steps, one per sentence.
pub(super) fn dependency_cycle(
    transaction: &Transaction<'_>,
    tasks: &[TaskId],
) -> rusqlite::Result<Option<Vec<String>>> {
    let mut found = None;
    search(transaction, tasks, |path, repeated| {
        let from = path
            .iter()
            .position(|frame| frame.point == *repeated)
            .unwrap_or_default();
        found = Some(steps(&cycle_points(path, from, repeated)));
        Ok(Next::Stop)
    })?;
    Ok(found)
}

/// Removes one dependency from every cycle through one of these tasks: the last removable one on its path.
pub(super) fn break_cycles(
    transaction: &Transaction<'_>,
    tasks: &[TaskId],
    is_removable: impl Fn(&TaskId, &TaskId) -> bool,
) -> rusqlite::Result<Vec<BrokenCycle>> {
    let mut broken = Vec::new();
    search(transaction, tasks, |path, repeated| {
        let from = path
            .iter()
            .position(|frame| frame.point == *repeated)
            .unwrap_or_default();
        let mut points = cycle_points(path, from, repeated);
        let last = points.windows(2).rposition(|pair| match pair {
            [Point::Begin(task), Point::End(after)] => is_removable(task, after),
            _ => false,
        });
        let Some(last) = last else {
            return Ok(Next::ContinueFrom(path.len()));
        };
        // Start at the removed dependency and go round to it.
        points.pop();
        points.rotate_left(last);
        points.extend(points.first().cloned());
        if let [Point::Begin(task), Point::End(after), ..] = points.as_slice() {
            let sql = "DELETE FROM dependencies WHERE task = ?1 AND after = ?2";
            transaction
                .prepare_cached(sql)?
                .execute([task.as_str(), after.as_str()])?;
            broken.push(BrokenCycle {
                task: task.clone(),
                after: after.clone(),
                steps: steps(&points),
            });
        }
        Ok(Next::ContinueFrom(from + last + 1))
    })?;
    Ok(broken)
}

/// Searches backwards from these tasks and reports every cycle that it finds: the path, and the point of it that
/// repeats.
fn search(
    transaction: &Transaction<'_>,
    tasks: &[TaskId],
    mut on_cycle: impl FnMut(&[Frame], &Point) -> rusqlite::Result<Next>,
) -> rusqlite::Result<()> {
    let mut marks: HashMap<Point, Mark> = HashMap::new();
    for task in tasks {
        let start = Point::End(task.clone());
        if marks.contains_key(&start) {
            continue;
        }
        marks.insert(start.clone(), Mark::OnPath);
        let ahead = predecessors(transaction, &start)?;
        let mut path = vec![Frame { point: start, ahead }];
        while let Some(frame) = path.last_mut() {
            let Some(next) = frame.ahead.pop() else {
                marks.insert(frame.point.clone(), Mark::Finished);
                path.pop();
                continue;
            };
            match marks.get(&next) {
                Some(Mark::Finished) => {}
                Some(Mark::OnPath) => match on_cycle(&path, &next)? {
                    Next::Stop => return Ok(()),
                    Next::ContinueFrom(kept) => {
                        // The dropped points may still be reached by another path.
                        for frame in path.drain(kept..) {
                            marks.remove(&frame.point);
                        }
                    }
                },
                None => {
                    marks.insert(next.clone(), Mark::OnPath);
                    let ahead = predecessors(transaction, &next)?;
                    path.push(Frame { point: next, ahead });
                }
            }
        }
    }
    Ok(())
}

/// The direct predecessors of a point, last one first.
fn predecessors(transaction: &Transaction<'_>, point: &Point) -> rusqlite::Result<Vec<Point>> {
    let mut points = Vec::new();
    match point {
        Point::Begin(task) => {
            let parent = "SELECT parent FROM tasks WHERE id = ?1 AND parent IS NOT NULL";
            points.extend(ids(transaction, parent, [task.as_str()])?.into_iter().map(Point::Begin));
            let after = "SELECT after FROM dependencies WHERE task = ?1 ORDER BY after DESC";
            points.extend(ids(transaction, after, [task.as_str()])?.into_iter().map(Point::End));
        }
        Point::End(task) => {
            let children = "SELECT id FROM tasks WHERE parent = ?1 ORDER BY id DESC";
            points.extend(ids(transaction, children, [task.as_str()])?.into_iter().map(Point::End));
            points.push(Point::Begin(task.clone()));
        }
    }
    Ok(points)
}

/// The points of a cycle, from the repeated one back to itself.
fn cycle_points(path: &[Frame], from: usize, repeated: &Point) -> Vec<Point> {
    let points = path.iter().skip(from).map(|frame| &frame.point).chain([repeated]);
    points.cloned().collect()
}

fn steps(points: &[Point]) -> Vec<String> {
    points
        .windows(2)
        .filter_map(|pair| match pair {
            [Point::Begin(task), Point::End(other)] => Some(format!("{task} depends on {other}")),
            [Point::Begin(task), Point::Begin(parent)] => Some(format!("{task} is a subtask of {parent}")),
            [Point::End(task), Point::End(child)] => Some(format!("{task} needs {child} to be done")),
            // That a task ends after it began is not worth a sentence.
            _ => None,
        })
        .collect()
}
