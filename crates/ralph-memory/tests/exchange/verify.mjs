// Takes a store from standard input as the earlier tool would: refuses it where its checksum is wrong, and tells what is in it.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

const store = JSON.parse(readFileSync(0, 'utf8'));
const checksum = createHash('sha256').update(JSON.stringify(store.learnings, null, 0)).digest('hex');
if (store.checksum !== checksum) {
  console.error('the checksum is wrong');
  process.exit(1);
}
const { version, lastUpdated, learnings, stats } = store;
console.log(JSON.stringify({ version, lastUpdated, ids: learnings.map((learning) => learning.id), stats }));
