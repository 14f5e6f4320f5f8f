import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createGeneratedDocuments } from '../../scripts/generated-documents.ts';

const ROOT = join(import.meta.dirname, '../..');

test('every generated document says what the code says', async () => {
  const documents = await createGeneratedDocuments();
  expect([...documents.keys()]).toEqual([
    'openapi/openapi.json',
    'docs/failures.md',
    'docs/configuration.md',
    'docs/metrics.md',
  ]);
  for (const [path, text] of documents) expect(readFileSync(join(ROOT, path), 'utf8'), path).toBe(text);
});
