import { createTester } from 'recourse-server/testing';
import { expect, test } from 'vitest';
import { createForecast } from '../forecast.ts';

const forecast = createForecast(async (city) => (city === 'Ulm' ? 3 : null));

test('a city has a forecast', async () => {
  const tester = createTester(forecast);
  const result = await tester.call('forecast', { city: 'Ulm' });
  expect(result).toMatchObject({ success: true, value: { city: 'Ulm', degrees: 3 } });
  expect(tester.logs).toMatchObject([{ level: 'info', message: 'asked for a forecast', fields: { city: 'Ulm' } }]);
});

test('wrong arguments are named, and the handler does not run', async () => {
  const tester = createTester(forecast);
  const result = await tester.call('forecast', { town: 'Ulm' });
  expect(result.error?.issues.map(({ path }) => path)).toEqual(['city', 'town']);
  expect(result.executed).toBe('no');
});

test('an upstream that does not answer ends the call after 5 seconds', async () => {
  const tester = createTester(createForecast(() => new Promise(() => undefined)));
  const running = tester.call('forecast', { city: 'Ulm' });
  await tester.clock.advance(5_000);
  expect(await running).toMatchObject({ outcome: 'retry', error: { code: 'timeout' } });
});

test('after two failed rounds the tool is blocked, for 15 minutes', async () => {
  const tester = createTester(forecast);
  const session = tester.session('agent-1');
  const ask = async (city: string) => (await session.call('forecast', { city })).error?.code;
  expect(await ask('Olm')).toBe('retry_requested');
  expect(await ask('Alm')).toBe('retry_requested');
  expect(await ask('Ulm')).toBe('retry_budget_exhausted');
  await tester.clock.advance(15 * 60_000);
  expect(await ask('Ulm')).toBeUndefined();
});
