import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTester } from 'recourse-server/testing';
import { createForecast } from '../forecast.ts';

test('the model reads what to do about a city that is not known', async () => {
  const tester = createTester(createForecast(async () => null));
  const result = await tester.call('forecast', { city: 'Olm' });
  assert(!result.success);
  assert.equal(result.error.code, 'retry_requested');
  assert.match(result.message, /^There is no city 'Olm'\. Give its English name\./);
});

test('a defect of the tool shows what was thrown', async () => {
  const tester = createTester(
    createForecast(async () => {
      throw new TypeError('degrees is not a function');
    }),
  );
  const result = await tester.call('forecast', { city: 'Ulm' });
  assert(!result.success);
  assert.equal(result.error.code, 'tool_exception');
  assert(result.thrown instanceof TypeError);
});

test('two calls of one batch get two results, each in its place', async () => {
  const tester = createTester(
    createForecast(async (city) => city.length),
    { now: new Date('2026-01-01') },
  );
  const results = await tester.batch([
    { name: 'forecast', arguments: { city: 'Ulm' } },
    { name: 'forecast', arguments: { city: 'Berlin' } },
  ]);
  const values = results.map(({ value, duration_ms }) => ({ value, duration_ms }));
  assert.deepEqual(values, [
    { value: { city: 'Ulm', degrees: 3 }, duration_ms: 0 },
    { value: { city: 'Berlin', degrees: 6 }, duration_ms: 0 },
  ]);
});
