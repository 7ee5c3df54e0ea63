//! Refuses what could never be done: tasks that wait for one another in a ring.
//!
//! A task begins after everything that it waits for has ended, and after its parent could begin; it ends after it has
//! begun, and after its children have ended. So every task is two points, its beginning and its end, and a ring is a way
//! from a point back to itself.

use std::collections::HashMap;

use ralph_model::TaskId;
use rusqlite::Transaction;

use super::task_rows::ids;

/// A point in the life of a task.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Point {
    Begin(TaskId),
    End(TaskId),
}

/// How far a point has been looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    OnTheWay,
    Finished,
}

/// A point on the way, with the points before it that are still to be looked at.
struct Stop {
    point: Point,
    ahead: Vec<Point>,
}

/// A wait that was taken away because it was part of a ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BrokenRing {
    /// The task that waited.
    pub(super) task: TaskId,
    /// What it waited for.
    pub(super) after: TaskId,
    /// The ring, a step a sentence, from that wait on.
    pub(super) steps: Vec<String>,
}

/// How a search goes on that has met a ring.
enum Then {
    /// Not at all.
    Stop,
    /// From the first so many stops of the way, without the rest of it.
    GoOnFrom(usize),
}

/// Looks for a ring through one of these tasks: its steps, each a sentence; none when there is no ring.
pub(super) fn ring(transaction: &Transaction<'_>, tasks: &[TaskId]) -> rusqlite::Result<Option<Vec<String>>> {
    let mut found = None;
    search(transaction, tasks, |way, meets| {
        let from = way.iter().position(|stop| stop.point == *meets).unwrap_or_default();
        found = Some(steps(&ring_of(way, from, meets)));
        Ok(Then::Stop)
    })?;
    Ok(found)
}

/// Takes one wait out of every ring through one of these tasks: the last on its way that may go.
pub(super) fn break_rings(
    transaction: &Transaction<'_>,
    tasks: &[TaskId],
    may_go: impl Fn(&TaskId, &TaskId) -> bool,
) -> rusqlite::Result<Vec<BrokenRing>> {
    let mut broken = Vec::new();
    search(transaction, tasks, |way, meets| {
        let from = way.iter().position(|stop| stop.point == *meets).unwrap_or_default();
        let mut points = ring_of(way, from, meets);
        let last = points.windows(2).rposition(|pair| match pair {
            [Point::Begin(task), Point::End(after)] => may_go(task, after),
            _ => false,
        });
        let Some(last) = last else {
            return Ok(Then::GoOnFrom(way.len()));
        };
        // From the wait that goes all the way round to it.
        points.pop();
        points.rotate_left(last);
        points.extend(points.first().cloned());
        if let [Point::Begin(task), Point::End(after), ..] = points.as_slice() {
            let sql = "DELETE FROM dependencies WHERE task = ?1 AND after = ?2";
            transaction
                .prepare_cached(sql)?
                .execute([task.as_str(), after.as_str()])?;
            broken.push(BrokenRing {
                task: task.clone(),
                after: after.clone(),
                steps: steps(&points),
            });
        }
        Ok(Then::GoOnFrom(from + last + 1))
    })?;
    Ok(broken)
}

/// Goes back from these tasks, point by point, and tells of every ring that it meets: the way, and the point of it that comes
/// again.
fn search(
    transaction: &Transaction<'_>,
    tasks: &[TaskId],
    mut met: impl FnMut(&[Stop], &Point) -> rusqlite::Result<Then>,
) -> rusqlite::Result<()> {
    let mut marks: HashMap<Point, Mark> = HashMap::new();
    for task in tasks {
        let start = Point::End(task.clone());
        if marks.contains_key(&start) {
            continue;
        }
        marks.insert(start.clone(), Mark::OnTheWay);
        let ahead = what_comes_before(transaction, &start)?;
        let mut way = vec![Stop { point: start, ahead }];
        while let Some(stop) = way.last_mut() {
            let Some(next) = stop.ahead.pop() else {
                marks.insert(stop.point.clone(), Mark::Finished);
                way.pop();
                continue;
            };
            match marks.get(&next) {
                Some(Mark::Finished) => {}
                Some(Mark::OnTheWay) => match met(&way, &next)? {
                    Then::Stop => return Ok(()),
                    Then::GoOnFrom(kept) => {
                        // What was on the rest of the way may still be reached on another.
                        for stop in way.drain(kept..) {
                            marks.remove(&stop.point);
                        }
                    }
                },
                None => {
                    marks.insert(next.clone(), Mark::OnTheWay);
                    let ahead = what_comes_before(transaction, &next)?;
                    way.push(Stop { point: next, ahead });
                }
            }
        }
    }
    Ok(())
}

/// The points that must be reached before a point, the last one first.
fn what_comes_before(transaction: &Transaction<'_>, point: &Point) -> rusqlite::Result<Vec<Point>> {
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

/// The points of a ring, from the stop that comes again to itself.
fn ring_of(way: &[Stop], from: usize, meets: &Point) -> Vec<Point> {
    let points = way.iter().skip(from).map(|stop| &stop.point).chain([meets]);
    points.cloned().collect()
}

fn steps(points: &[Point]) -> Vec<String> {
    points
        .windows(2)
        .filter_map(|pair| match pair {
            [Point::Begin(task), Point::End(other)] => Some(format!("{task} waits for {other}")),
            [Point::Begin(task), Point::Begin(parent)] => Some(format!("{task} is a part of {parent}")),
            [Point::End(task), Point::End(child)] => Some(format!("{task} is done when {child} is")),
            // That a task ends after it began is nothing to tell.
            _ => None,
        })
        .collect()
}
