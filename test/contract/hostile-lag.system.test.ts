import { expectResults, post } from '@recourse/test-support/check-answer.ts';
import { toolThat } from '@recourse/test-support/misbehaving-tools.ts';
import { expect, test } from 'vitest';
import { start, toBody, until } from './overload-lab.ts';

test('a tool that blocks the event loop is seen in the lag, and no batch is refused for that', async () => {
  const block = (): void => {
    const until = performance.now() + 1000;
    while (performance.now() < until);
  };
  const service = await start({}, [toolThat('blocks', block)]);
  expect(expectResults(await post(service.url, toBody(['blocks'])), 1)[0]?.success).toBe(true);
  await until(async () => ((await service.metric('recourse_event_loop_lag_seconds')) ?? 0) >= 0.8);
  expect(await service.metric('recourse_event_loop_utilization_ratio')).toBeGreaterThan(0);
  for (let batch = 0; batch < 20; batch += 1)
    expect(expectResults(await post(service.url, toBody(['echo'])), 1)[0]?.success).toBe(true);
  expect(await service.metric('recourse_shed_total{reason="event_loop"}')).toBe(0);
  // Intervals later it is still to be seen: whoever scrapes every 15 s must not miss it.
  for (let interval = 0; interval < 3; interval += 1) {
    const before = await service.metric('recourse_event_loop_utilization_ratio');
    await until(async () => (await service.metric('recourse_event_loop_utilization_ratio')) !== before);
  }
  expect(await service.metric('recourse_event_loop_lag_seconds')).toBeGreaterThan(0.8);
});

test('while the event loop keeps lagging part of the batches is refused, and all are taken again when it does not', async () => {
  const block = (): void => {
    const until = performance.now() + 300;
    while (performance.now() < until);
  };
  const service = await start({ MAX_EVENT_LOOP_LAG_MS: '100' }, [toolThat('blocks', block)]);
  const statuses: number[] = [];
  const refused = (): number => statuses.filter((status) => status === 503).length;
  await until(async () => {
    const answers = await Promise.all(Array.from({ length: 3 }, () => post(service.url, toBody(['blocks']))));
    statuses.push(...answers.map(({ status }) => status));
    expect((await fetch(`${service.url}/ready`)).status).toBe(200);
    return refused() > 0;
  });
  expect(new Set(statuses)).toEqual(new Set([200, 503]));
  expect(await service.metric('recourse_shed_total{reason="event_loop"}')).toBe(refused());
  await until(async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(service.url, toBody(['echo']))));
    return answers.every(({ status }) => status === 200);
  });
});
