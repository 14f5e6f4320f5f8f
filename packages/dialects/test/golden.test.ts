import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ALL_FORMATS } from '@recourse/test-support/formats/all-formats.ts';
import { readAnswers } from '@recourse/test-support/formats/conversation.ts';
import { PUBLISHED, SCENARIOS, toPublishedTurn } from '@recourse/test-support/formats/scenarios.ts';
import { MESSAGE_FORMATS } from 'recourse-server/internal/contract/message-format.ts';
import { ToolResult } from 'recourse-server/internal/contract/tool-result.ts';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { DIALECTS, detectDialect } from '#src/dialects.ts';

const EXAMPLES = join(import.meta.dirname, '../../../openapi/examples/formats');

const Golden = z.strictObject({ request: z.unknown(), results: z.array(ToolResult), messages: z.array(z.unknown()) });

const NAMES = ['one-call', 'parallel-one-fails', 'bad-arguments', 'budget-exhausted', 'nothing-found'] as const;
const ALL = ALL_FORMATS.flatMap((format) => NAMES.map((name) => [format, name] as const));

test('every dialect has every example, and no file is left untried', () => {
  expect(globSync('*/*', { cwd: EXAMPLES }).sort()).toEqual(
    ALL.map(([format, name]) => `${format}/${name}.json`).sort(),
  );
  expect([...DIALECTS.keys()].sort()).toEqual(MESSAGE_FORMATS.filter((format) => format !== 'native').sort());
  expect([...Object.keys(PUBLISHED), ...Object.keys(SCENARIOS)].sort()).toEqual([...ALL_FORMATS, ...NAMES].sort());
});

test.for(ALL)('%s/%s: what the provider wrote is answered as the example says', ([format, name]) => {
  const { request, results, messages } = Golden.parse(
    JSON.parse(readFileSync(join(EXAMPLES, format, `${name}.json`), 'utf8')),
  );
  expect(request).toEqual(toPublishedTurn(format, name));
  expect(detectDialect(request)?.format ?? null).toBe(format === 'text' ? null : format);
  const turn = DIALECTS.get(format)?.parse(request);
  expect(turn?.calls).toHaveLength(results.length);
  expect(turn?.toMessages(results)).toEqual(messages);
});

test.for(ALL)('%s/%s: the answer is read back as the results say', ([format, name]) => {
  const { results, messages } = Golden.parse(JSON.parse(readFileSync(join(EXAMPLES, format, `${name}.json`), 'utf8')));
  const answers = readAnswers(format, messages);
  expect(answers.map(({ success }) => success)).toEqual(results.map(({ success }) => success));
  // A lone Gemini call has no id, and a plain observation never has one.
  if (format !== 'text') expect(answers.map(({ id }) => id)).toEqual(results.map(({ id }) => id));
  for (const [index, { text }] of answers.entries()) expect(text).toContain(results[index]?.error?.code ?? '');
});
