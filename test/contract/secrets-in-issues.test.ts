import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';

const square = defineTool({
  name: 'square',
  description: 'Squares a number.',
  effects: 'read',
  input: z.object({ x: z.number() }),
  run: ({ x }) => x * x,
});

let service: RunningService;
beforeAll(async () => {
  service = await startService({}, [square]);
});
afterAll(() => service.stop());

test('a secret sent as a wrong argument comes back in no part of the result', async () => {
  const [result] = await service.call([{ name: 'square', arguments: { x: 'sk-abcdefghijklmnopqrstuvwx' } }]);
  expect(result?.error?.issues).toEqual([
    {
      path: 'x',
      expected: 'a number',
      received: 'the string "[redacted key]"',
      message: 'expected a number, got the string "[redacted key]"',
    },
  ]);
  expect(JSON.stringify(result)).not.toContain('abcdefghijkl');
});
