// Writes the golden files of this folder: stores as a JavaScript program keeps them, with their checksums.
// Run it with `node write.mjs` in this folder; what it writes must not change.
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';

const hash = (list) => createHash('sha256').update(JSON.stringify(list, null, 0)).digest('hex');

function tally(learnings, key, always = []) {
  const counts = Object.fromEntries(always.map((word) => [word, 0]));
  for (const learning of learnings) {
    counts[learning[key]] = (counts[learning[key]] ?? 0) + 1;
  }
  return counts;
}

function keep(name, learnings) {
  const store = {
    version: '1.0.0',
    checksum: hash(learnings),
    lastUpdated: '2026-02-03T10:30:00.000Z',
    learnings,
    stats: {
      totalLearnings: learnings.length,
      byType: tally(learnings, 'type', ['strategy', 'antipattern', 'estimate', 'convention']),
      byTaskType: tally(learnings, 'taskType'),
    },
  };
  writeFileSync(`${name}.json`, JSON.stringify(store, null, 2));
}

const learning = (id, description, more = {}) => ({
  id,
  type: 'strategy',
  taskType: 'bug-fix',
  content: { description, effectiveness: 0.85, iterations: 12 },
  confidence: 0.85,
  sourceLoops: ['loop-1', 'loop-2'],
  createdAt: '2026-02-01T15:00:00.000Z',
  updatedAt: '2026-02-03T10:30:00.000Z',
  useCount: 5,
  successRate: 0.9,
  ...more,
});

keep('plain', [
  learning('learn-one', 'Reproduce the fault before fixing it'),
  learning('learn-two', 'Avoid: editing generated files', {
    type: 'antipattern',
    content: { description: 'Avoid: editing generated files', occurrences: 3, impact: 'high' },
    successRate: 0,
  }),
  learning('learn-three', '', {
    type: 'estimate',
    taskType: 'test-fix',
    content: { avgIterationTime: 45000, totalIterations: 3, complexity: 'medium', successRate: 0.85 },
    confidence: 0.6,
  }),
  learning('learn-four', '', {
    type: 'convention',
    taskType: 'general',
    content: { pattern: 'Tests stand beside what they test', examples: ['src/a.test.ts', 'src/b.test.ts'] },
    successRate: 1.0,
  }),
]);

keep('numbers', [
  learning('learn-numbers', 'Count with care', {
    // What is 1 in the program is 1 in the file, whatever the source said.
    confidence: 1.0,
    measured: [1.0, 0.85, 1e-7, 1e21, -0, 0.1 + 0.2, 123456789012345680000, 5e-324, 1.7976931348623157e308, NaN, Infinity],
    negative: [-1, -0.5, -1e-7, -1e21],
  }),
]);

keep('texts', [
  learning('learn-texts', 'Mind the gap 🚧 — «größer» 日本語 👩‍👩‍👧', {
    controls: '\u0000\u0001\b\t\n\u000b\f\r\u001b\u001f\u007f\u0080\u2028\u2029',
    pair: '\ud83d\ude00',
    marks: '"\\/\'<>&\ufeff\ufffd\uffff',
  }),
]);

keep('keys', [
  learning('learn-keys', 'Order matters', {
    zebra: 1,
    '02': 'no number',
    apple: { '-1': 'none', '1.5': 'none', '': 'empty', '😀': 'pair' },
    note: null,
    nested: [[], {}, [[]], { a: [] }],
  }),
  {
    successRate: 0.75,
    useCount: 1,
    type: 'strategy',
    id: 'learn-shuffled',
    content: { iterations: 2, description: 'Another order of the same names', tool: 'hammer' },
    sourceLoops: [],
    taskType: 'feature',
    confidence: 0.7,
    updatedAt: '2026-02-03T10:30:00.000Z',
    createdAt: '2026-02-01T15:00:00.000Z',
    owner: { team: 'blue', since: 2024 },
  },
]);

keep('empty', []);

const staged = [
  {
    id: 'stage-1770000000000-0',
    learning: {
      type: 'strategy',
      taskType: 'feature',
      content: { description: 'Draw the interface first', effectiveness: 0.75, iterations: 3 },
      confidence: 0.75,
      sourceLoops: ['loop-3'],
      successRate: 0.75,
    },
    status: 'pending',
    stagedAt: '2026-02-03T10:25:00.000Z',
  },
  {
    id: 'stage-1770000000000-1',
    learning: {
      type: 'convention',
      taskType: 'general',
      content: { pattern: 'Modules end in .mjs', examples: ['a.mjs'] },
      confidence: 0.8,
      sourceLoops: ['loop-3'],
      successRate: 1,
    },
    status: 'validated',
    stagedAt: '2026-02-03T10:25:00.000Z',
    validatedAt: '2026-02-03T10:26:00.000Z',
  },
  {
    id: 'stage-1770000000000-2',
    learning: {
      type: 'strategy',
      taskType: 'feature',
      content: { description: 'Hope for the best', effectiveness: 0.6, iterations: 1 },
      confidence: 0.2,
      sourceLoops: ['loop-3'],
      successRate: 0.6,
    },
    status: 'rejected',
    stagedAt: '2026-02-03T10:25:00.000Z',
    rejectionReason: 'Confidence too low (< 0.3)',
  },
];
writeFileSync(
  'staging.json',
  JSON.stringify({ version: '1.0.0', checksum: hash(staged), lastUpdated: '2026-02-03T10:26:00.000Z', staged }, null, 2),
);
