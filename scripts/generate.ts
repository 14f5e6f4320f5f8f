import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createGeneratedDocuments } from './generated-documents.ts';

const ROOT = join(import.meta.dirname, '..');
const check = process.argv.includes('--check');

const stale: string[] = [];
for (const [path, text] of await createGeneratedDocuments()) {
  const file = join(ROOT, path);
  if (existsSync(file) && readFileSync(file, 'utf8') === text) continue;
  stale.push(path);
  if (check) continue;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  console.log(`wrote ${path}`);
}

if (stale.length === 0) console.log('Generated documents are up to date.');
if (check && stale.length > 0) {
  console.error(`Out of date: ${stale.join(', ')}. Run npm run generate and commit the result.`);
  process.exitCode = 1;
}
