import { codesOf, createActor, fail, freshName, type Lab, startLab } from '@recourse/test-support/keyed-client.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { RetryableToolError, TerminalToolError } from '#src/tools/tool-errors.ts';

const stateOf = ({ service }: Lab) => service.metric('recourse_circuit_state{tool="upstream"}');
const OPEN = 2;
const HALF_OPEN = 1;
const CLOSED = 0;

/** No two calls are the same. */
const call = (more: Readonly<Record<string, unknown>> = {}) => ({
  name: 'upstream',
  arguments: { only: freshName(), ...more },
});

const untilOpen = async (lab: Lab, batches = 2): Promise<void> => {
  for (let batch = 0; batch < batches; batch += 1) await lab.post([call()]);
  expect(await stateOf(lab)).toBe(OPEN);
};

const start = (actor: ReturnType<typeof createActor>, more: Readonly<Record<string, string>> = {}): Promise<Lab> =>
  startLab([actor], { CIRCUIT_FAILURES: '2', CIRCUIT_OPEN_MS: '60000', ...more });

const waitForAbort = (_input: unknown, { signal }: { readonly signal: AbortSignal }): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => resolve());
  return promise;
};

test('faults of two batches open it; what it refuses is told for how long, is not charged and costs no retry', async () => {
  const upstream = createActor('upstream', { retries: 2 }, fail);
  const lab = await start(upstream);
  const id = freshName();
  const send = () => lab.post({ session_id: id, calls: [call()] });
  expect(codesOf(await send())).toEqual(['tool_exception']);
  expect(await stateOf(lab)).toBe(CLOSED);
  expect((await send()).results[0]?.retry).toMatchObject({ used: 1, remaining: 1 });
  expect(await stateOf(lab)).toBe(OPEN);
  const before = await lab.session(id);
  for (let time = 0; time < 5; time += 1) {
    const [refused] = (await send()).results;
    expect(refused).toMatchObject({ outcome: 'refused', executed: 'no', error: { code: 'circuit_open' } });
    expect(refused?.message).toMatch(
      /^Not executed: 'upstream' is temporarily disabled after repeated failures; available again in \d+ seconds\. Use another tool, or say what could not be done\.$/,
    );
    expect(refused?.error?.retry_after_ms).toBeGreaterThan(0);
    expect(refused?.error?.retry_after_ms).toBeLessThanOrEqual(60_000);
  }
  const after = await lab.session(id);
  expect(after.tools).toEqual(before.tools);
  expect(after.session.retries_used).toBe(1);
  expect(after.session.calls).toBe(2);
  expect(upstream.asked).toHaveLength(2);
});

test('a tool’s own time-outs open it; those at a limit that the call or its batch shortened do not', async () => {
  const upstream = createActor('upstream', { timeoutMs: 200 }, waitForAbort);
  const lab = await start(upstream);
  for (let batch = 0; batch < 4; batch += 1) {
    expect(codesOf(await lab.post([{ ...call(), timeout_ms: 10 }]))).toEqual(['timeout']);
    expect(codesOf(await lab.post({ deadline_ms: 10, calls: [call()] }))).toEqual(['timeout']);
  }
  expect(await stateOf(lab)).toBe(CLOSED);
  await untilOpen(lab);
});

test('what the model does wrong, and what a tool says on purpose, opens nothing', async () => {
  const upstream = createActor('upstream');
  const lab = await start(upstream);
  const ends = [
    () => {
      throw new RetryableToolError('Say which.');
    },
    () => {
      throw new TerminalToolError('There is none.');
    },
  ];
  for (const end of ends) {
    upstream.act(end);
    for (let batch = 0; batch < 4; batch += 1) await lab.post([call(), { name: 'upstream', arguments: '[' }]);
  }
  expect(await stateOf(lab)).toBe(CLOSED);
});

test('a success between two faults begins the count anew', async () => {
  const upstream = createActor('upstream', {}, ({ bad }) => (bad === true ? fail() : 'well'));
  const lab = await start(upstream);
  for (let turn = 0; turn < 3; turn += 1) {
    await lab.post([call({ bad: true })]);
    await lab.post([call()]);
  }
  expect(await stateOf(lab)).toBe(CLOSED);
});

test('a call that was admitted before the circuit opened and waits for its slot is refused, and gives all back', async () => {
  const gates = { fault: Promise.withResolvers<void>(), hold: Promise.withResolvers<void>() };
  const upstream = createActor('upstream', {}, async () => {
    await gates.fault.promise;
    fail();
  });
  const hold = createActor('hold', {}, () => gates.hold.promise);
  const lab = await startLab([upstream, hold], { CIRCUIT_FAILURES: '1', MAX_CONCURRENT_CALLS: '2' });
  const queued = (count: number) =>
    expect.poll(() => lab.service.metric('recourse_calls_queued{pool="inline"}')).toBe(count);
  const id = freshName();
  const faulty = lab.post([call()]);
  await expect.poll(() => upstream.asked).toHaveLength(1);
  const holding = [lab.post([{ name: 'hold' }])];
  await expect.poll(() => hold.asked).toHaveLength(1);
  holding.push(lab.post([{ name: 'hold', arguments: { n: 1 } }]));
  await queued(1);
  const waiting = lab.post({ session_id: id, calls: [call()] });
  await queued(2);
  gates.fault.resolve();
  expect(codesOf(await faulty)).toEqual(['tool_exception']);
  expect(await stateOf(lab)).toBe(OPEN);
  gates.hold.resolve();
  expect(codesOf(await waiting)).toEqual(['circuit_open']);
  await Promise.all(holding);
  expect((await lab.session(id)).session.calls).toBe(0);
  await queued(0);
  expect(await lab.service.metric('recourse_calls_in_flight{pool="inline"}')).toBe(0);
});

test('when its time is over one call is the probe: those beside it are refused, its success closes, its fault opens', async () => {
  const gate = Promise.withResolvers<void>();
  const upstream = createActor('upstream', {}, fail);
  const lab = await start(upstream, { CIRCUIT_OPEN_MS: '200' });
  await untilOpen(lab);
  upstream.act(async () => {
    await gate.promise;
    return 'well';
  });
  const before = upstream.asked.length;
  const probes: Promise<unknown>[] = [];
  await expect
    .poll(
      () => {
        probes.push(lab.post([call()]));
        return upstream.asked.length;
      },
      { timeout: timeLimit(10_000), interval: 50 },
    )
    .toBe(before + 1);
  expect(await stateOf(lab)).toBe(HALF_OPEN);
  expect(codesOf(await lab.post([call(), call()]))).toEqual(['circuit_open', 'circuit_open']);
  gate.resolve();
  await Promise.all(probes);
  expect(await stateOf(lab)).toBe(CLOSED);
  upstream.act(fail);
  await untilOpen(lab);
  await expect
    .poll(async () => codesOf(await lab.post([call()])), { timeout: timeLimit(10_000), interval: 20 })
    .toEqual(['tool_exception']);
  expect(await stateOf(lab)).toBe(OPEN);
});

test('a probe in a session with a standing failure reserves its retry, and gives it back when it does well', async () => {
  const upstream = createActor('upstream', { retries: 3 }, fail);
  const lab = await start(upstream, { CIRCUIT_OPEN_MS: '200' });
  const id = freshName();
  const send = () => lab.post({ session_id: id, calls: [call()] });
  await send();
  await send();
  upstream.act(() => 'well');
  await expect.poll(async () => codesOf(await send()), { timeout: timeLimit(10_000), interval: 20 }).toEqual(['ok']);
  expect((await lab.session(id)).session.retries_used).toBe(0);
});

test('where an argument names the upstream one that is down closes the tool for its own calls only', async () => {
  const upstream = createActor('upstream', { breakerKey: ({ host }) => host }, ({ host }) =>
    host === 'down' ? fail() : 'well',
  );
  const lab = await start(upstream);
  for (let batch = 0; batch < 2; batch += 1) await lab.post([call({ host: 'down' }), call({ host: 'up' })]);
  expect(codesOf(await lab.post([call({ host: 'down' }), call({ host: 'up' }), call()]))).toEqual([
    'circuit_open',
    'ok',
    'ok',
  ]);
  expect(await stateOf(lab)).toBe(OPEN);
});

test('a write that its circuit refuses in a keyed batch leaves no mark: the same key runs it later', async () => {
  const upstream = createActor('upstream', { effects: 'write' }, fail);
  const lab = await start(upstream, { CIRCUIT_OPEN_MS: '200' });
  await untilOpen(lab);
  upstream.act(() => 'well');
  const [key, calls] = [freshName(), [call()]];
  expect(codesOf(await lab.post(calls, { key }))).toEqual(['circuit_open']);
  await expect
    .poll(async () => codesOf(await lab.post(calls, { key })), { timeout: timeLimit(10_000), interval: 20 })
    .toEqual(['ok']);
  expect(upstream.asked).toHaveLength(3);
});
