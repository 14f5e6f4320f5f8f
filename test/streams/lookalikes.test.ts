import { ALL_FORMATS } from '@recourse/test-support/formats/all-formats.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AnyCalls, askInEveryWay, askMcp, askPlainly, GIVE, saysTheSameInFormat, toMcp } from './lookalikes.ts';

let service: RunningService;
beforeAll(async () => {
  service = await startService({ CIRCUIT_FAILURES: '0' }, [GIVE]);
});
afterAll(() => service.stop());

test(
  'whatever a value looks like, each way of an answer says of it what the plain body says',
  async () => {
    const { url } = service;
    await fc.assert(
      fc.asyncProperty(AnyCalls, async (calls) => {
        const said = await askPlainly(url, calls);
        expect(await askInEveryWay(url, calls)).toEqual(Array.from({ length: 10 }, () => said));
        expect(await askMcp(url, calls)).toEqual([toMcp(said[0]), toMcp(said[0])]);
      }),
      { numRuns: 30, seed: 20_261_128 },
    );
  },
  timeLimit(60_000),
);

test.each(ALL_FORMATS)(
  'and each way of an answer gives the model the same messages (%s)',
  async (format) => {
    const { url } = service;
    await fc.assert(saysTheSameInFormat(url, format), { numRuns: 4, seed: 20_261_128 });
  },
  timeLimit(30_000),
);
