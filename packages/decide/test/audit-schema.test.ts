import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startService } from '@recourse/test-support/start-service.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { parseAuditLines, readAudit } from './audit-lab.ts';

const ROOT = join(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const createCheck = () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  return ajv.compile(JSON.parse(read('openapi/audit.schema.json')));
};

test('the page has a line of each kind, and all that it shows are as the schema says', () => {
  const [, examples = ''] = /```json\n([\s\S]*?)```/.exec(read('docs/audit.md')) ?? [];
  const lines = parseAuditLines(examples);
  const kinds = lines.map(({ kind }) => kind);
  expect(kinds).toEqual(['call', 'decision', 'verdict', 'contradiction']);
  const check = createCheck();
  for (const line of lines) expect(check(line), JSON.stringify(check.errors)).toBe(true);
});

test('the published schema takes the lines of a service, those of later versions with more in them, and no others', async () => {
  const path = join(makeDirectory().root, 'audit.jsonl');
  const service = await startService({ AUDIT: `file:${path}` });
  await service.call([{ id: 'a', name: 'echo', arguments: { text: 'x' } }, { id: 'b', name: 'none' }, 7]);
  await service.stop();
  const check = createCheck();
  const lines = readAudit(path);
  expect(lines).toHaveLength(3);
  for (const line of lines) {
    expect(check(line), JSON.stringify(check.errors)).toBe(true);
    expect(check({ ...line, later: 1 })).toBe(true);
    expect(check({ ...line, audit: 2 })).toBe(false);
    expect(check({ ...line, outcome: 'fine' })).toBe(false);
  }
});
