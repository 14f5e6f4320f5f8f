import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test, vi } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';

/** A tool that does as its arguments and its health say, and the upstreams that its handler was asked for. */
const createUpstreamTool = () => {
  const health = { broken: true };
  const asked: string[] = [];
  const tool = defineTool({
    name: 'upstream',
    description: 'Talks to something.',
    input: z.object({ host: z.string(), slow: z.boolean().optional() }),
    effects: 'read',
    retries: 0,
    timeoutMs: 10_000,
    breakerKey: 'host',
    run: async ({ host, slow }, { signal }) => {
      asked.push(host);
      if (slow === true) await new Promise((resolve) => signal.addEventListener('abort', resolve));
      if (health.broken) throw new Error('connection refused');
      return host;
    },
  });
  return { tool, health, asked };
};

const start = async (environment: Readonly<Record<string, string>>) => {
  const upstream = createUpstreamTool();
  const service = await startService({ CIRCUIT_FAILURES: '2', ...environment }, [upstream.tool]);
  onTestFinished(async () => {
    expect(await service.metric('recourse_contract_violations_total')).toBe(0);
    await service.stop();
  });
  return { service, ...upstream };
};

const call = (host: string, more: Readonly<Record<string, unknown>> = {}) => ({
  name: 'upstream',
  arguments: { host, ...more },
});

/** The code of one call alone in its batch; null = it succeeded. */
const codeOf = async (service: RunningService, asked: unknown): Promise<string | null | undefined> => {
  const [result] = await service.call([asked]);
  return result?.error === null ? null : result?.error.code;
};

const stateOf = (service: RunningService) => service.metric('recourse_circuit_state{tool="upstream"}');

test('a circuit that opened refuses calls of all sessions, says for how long, and runs nothing', async () => {
  const { service, asked } = await start({ CIRCUIT_OPEN_MS: '60000' });
  expect(await stateOf(service)).toBe(0);
  for (let batch = 0; batch < 2; batch += 1) expect(await codeOf(service, call('one'))).toBe('tool_exception');
  const [refused] = await service.call([call('one')], { session_id: 'another' });
  expect(refused).toMatchObject({
    success: false,
    outcome: 'refused',
    executed: 'no',
    error: { code: 'circuit_open' },
  });
  expect(refused?.error?.retry_after_ms).toBeGreaterThan(50_000);
  expect(refused?.error?.retry_after_ms).toBeLessThanOrEqual(60_000);
  expect(asked).toEqual(['one', 'one']);
  expect(await stateOf(service)).toBe(2);
  expect(service.logLines().filter(({ msg }) => msg === 'circuit changed')).toMatchObject([
    { level: 40, tool: 'upstream', state: 'open' },
  ]);
  expect(await codeOf(service, call('two'))).toBe('tool_exception');
});

test('what a model does wrong, and time limits that it shortens, open nothing', async () => {
  const { service } = await start({ CIRCUIT_OPEN_MS: '60000' });
  for (let batch = 0; batch < 5; batch += 1) {
    expect(await codeOf(service, call('one', { host: 7 }))).toBe('invalid_arguments');
    expect(await codeOf(service, { ...call('one', { slow: true }), timeout_ms: 5 })).toBe('timeout');
  }
  expect(await codeOf(service, call('one'))).toBe('tool_exception');
  expect(await stateOf(service)).toBe(0);
});

test('many faults of one batch are one, and the next batch with a fault opens the circuit', async () => {
  const { service, asked } = await start({ CIRCUIT_OPEN_MS: '60000' });
  await service.call(Array.from({ length: 8 }, () => call('one')));
  expect(await stateOf(service)).toBe(0);
  await service.call([call('one')]);
  expect(await stateOf(service)).toBe(2);
  expect(asked).toHaveLength(9);
});

test('when its time is over one call of many is the probe, and its success closes the circuit', async () => {
  const { service, asked, health } = await start({ CIRCUIT_OPEN_MS: '100' });
  for (let batch = 0; batch < 2; batch += 1) await service.call([call('one')]);
  health.broken = false;
  asked.length = 0;
  const codes = await vi.waitUntil(
    async () => {
      const results = await service.call(Array.from({ length: 5 }, () => call('one')));
      return results.some(({ success }) => success) && results.map(({ error }) => error?.code ?? null);
    },
    { timeout: timeLimit(10_000), interval: 20 },
  );
  // Any of them: the circuit's time may be over between two calls of the batch.
  expect(codes.toSorted()).toEqual(['circuit_open', 'circuit_open', 'circuit_open', 'circuit_open', null]);
  expect(asked).toEqual(['one']);
  expect(await codeOf(service, call('one'))).toBeNull();
  expect(await stateOf(service)).toBe(0);
});

test('a refusal by the circuit costs no retry of a session', async () => {
  const { service, health } = await start({ CIRCUIT_OPEN_MS: '1000' });
  for (let batch = 0; batch < 2; batch += 1) await service.call([call('one')]);
  health.broken = false;
  const [refused] = await service.call([call('one')], { session_id: 's' });
  expect(refused?.error?.code).toBe('circuit_open');
  // The tool has no retry: one failed round of the session would block it.
  const result = await vi.waitUntil(
    async () => {
      const [one] = await service.call([call('one')], { session_id: 's' });
      return one?.error?.code !== 'circuit_open' && one;
    },
    { timeout: timeLimit(10_000), interval: 20 },
  );
  expect(result).toMatchObject({ success: true, value: 'one' });
});

test('a service that is told so has no breaker', async () => {
  const { service, asked } = await start({ CIRCUIT_FAILURES: '0' });
  for (let batch = 0; batch < 30; batch += 1) expect(await codeOf(service, call('one'))).toBe('tool_exception');
  expect(asked).toHaveLength(30);
});
