import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createGeneratedDocuments } from '../../scripts/generated-documents.ts';

const ROOT = join(import.meta.dirname, '../..');

test('every generated document says what the code says', async () => {
  const documents = await createGeneratedDocuments();
  expect([...documents.keys()]).toEqual([
    'openapi/openapi.json',
    'src/http/openapi.json',
    'openapi/audit.schema.json',
    'clients/typescript/src/generated/api.ts',
    'clients/python/src/recourse_client/wire.py',
    'docs/failures.md',
    'docs/configuration.md',
    '.env.example',
    'docs/metrics.md',
    'docs/one-call.md',
    'docs/cli.md',
    'docs/tools.md',
    'test/extensions/audit/answers.md',
    'deploy/grafana/dashboards/recourse.json',
    'package.json',
    'Dockerfile',
  ]);
  for (const [path, text] of documents) expect(readFileSync(join(ROOT, path), 'utf8'), path).toBe(text);
});

test('every reference of the OpenAPI document leads somewhere', () => {
  const document: unknown = JSON.parse(readFileSync(join(ROOT, 'openapi/openapi.json'), 'utf8'));
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path]) => path ?? '');
  expect(references.length).toBeGreaterThan(5);
  const lookUp = (path: string): unknown =>
    path
      .split('/')
      .reduce<unknown>(
        (part, key) => (typeof part === 'object' && part !== null ? Reflect.get(part, key) : undefined),
        document,
      );
  expect(references.filter((path) => lookUp(path) === undefined)).toEqual([]);
});
