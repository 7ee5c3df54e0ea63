// Reads texts, one a line, each as a JSON text. Prints for each what JavaScript makes of it: the value without blanks, with
// an indent, and the hash of the first; or null where it is no JSON.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

const lines = readFileSync(0, 'utf8').split('\n').filter((line) => line !== '');
for (const line of lines) {
  const text = JSON.parse(line);
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    console.log('null');
    continue;
  }
  const compact = JSON.stringify(value);
  const hash = createHash('sha256').update(compact).digest('hex');
  console.log(JSON.stringify([compact, JSON.stringify(value, null, 2), hash]));
}
