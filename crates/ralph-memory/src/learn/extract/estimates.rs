//! Extracts estimates: for tasks of similar complexity, the number of iterations and their duration.

use std::collections::{BTreeSet, HashMap};

use ralph_model::{Complexity, ExtractedLearning, Facts, LearningKind, PastEnd, PastIteration, TaskType, estimate_of};

/// The counted iterations of a task, and the files they changed.
#[derive(Default)]
struct Work<'h> {
    iterations: Vec<&'h PastIteration>,
    files: BTreeSet<&'h str>,
}

impl Work<'_> {
    fn complexity(&self) -> Complexity {
        Complexity::of(self.iterations.len(), self.files.len())
    }
}

/// The estimates for one kind of work, one per complexity.
pub(super) fn of(task_type: TaskType, iterations: &[&PastIteration]) -> Vec<ExtractedLearning> {
    let works = works(iterations);
    let of_complexity = |complexity: &Complexity| {
        let alike: Vec<&Work<'_>> = works.iter().filter(|work| work.complexity() == *complexity).collect();
        estimate(task_type, *complexity, &alike)
    };
    Complexity::ALL.iter().filter_map(of_complexity).collect()
}

/// The tasks, in the order in which they were started.
fn works<'h>(iterations: &[&'h PastIteration]) -> Vec<Work<'h>> {
    let mut works: Vec<Work<'h>> = Vec::new();
    let mut places: HashMap<Option<&str>, usize> = HashMap::new();
    let counts = |iteration: &&&PastIteration| match iteration.end {
        PastEnd::Completed | PastEnd::Failed => true,
        PastEnd::Unproven | PastEnd::Other => false,
    };
    for iteration in iterations.iter().filter(counts) {
        let place = *places.entry(iteration.task.as_deref()).or_insert(works.len());
        if place == works.len() {
            works.push(Work::default());
        }
        if let Some(work) = works.get_mut(place) {
            work.iterations.push(iteration);
            work.files.extend(iteration.files.iter().map(String::as_str));
        }
    }
    works
}

/// The estimate for tasks of one complexity; `None` if none was completed.
fn estimate(task_type: TaskType, complexity: Complexity, works: &[&Work<'_>]) -> Option<ExtractedLearning> {
    let all: Vec<&PastIteration> = works.iter().flat_map(|work| work.iterations.iter().copied()).collect();
    let done: Vec<&PastIteration> = all
        .iter()
        .copied()
        .filter(|iteration| iteration.end == PastEnd::Completed)
        .collect();
    if done.is_empty() {
        return None;
    }
    let time: f64 = done.iter().map(|iteration| iteration.duration_ms).sum();
    let success_rate = done.len() as f64 / all.len() as f64;
    let facts = Facts::Estimate {
        avg_iteration_time: time / done.len() as f64,
        total_iterations: all.len() as f64 / works.len() as f64,
        complexity: complexity.word().to_owned(),
        success_rate,
        sampled: u32::try_from(done.len()).unwrap_or(u32::MAX),
    };
    Some(ExtractedLearning {
        kind: LearningKind::Estimate,
        task_type,
        content: estimate_of(task_type, complexity.word()),
        tags: Vec::new(),
        confidence: facts.confidence().unwrap_or_default(),
        facts,
        success_rate,
        journal: all.iter().filter_map(|iteration| iteration.journal).collect(),
        signatures: Vec::new(),
    })
}
