import { createCircuitLab, createTool, ENDS } from '@recourse/test-support/circuit-lab.ts';
import { expect, test } from 'vitest';

const tool = createTool('search');
const FAULT = { tool: 'search', tenant: 'anonymous', requestId: 'r-1', code: 'tool_exception', message: 'For tests.' };

test('a circuit is listed while it is not closed, with the call that opened it', async () => {
  const lab = createCircuitLab({ failures: 2, openMs: 10_000 });
  await lab.run(tool, ['fault']);
  expect(lab.list()).toEqual([]);
  lab.clock.nowMs = 700;
  await lab.run(tool, ['fault']);
  const open = { name: 'search', kind: 'tool', openedAt: 700 };
  expect(lab.list()).toEqual([{ ...open, state: 'open', openUntil: 10_700, fault: { ...FAULT, at: 700 } }]);
  lab.clock.nowMs = 11_000;
  const end = lab.start(tool);
  expect(lab.list()).toMatchObject([{ ...open, state: 'half_open', openUntil: 10_700 }]);
  end(ENDS.fault, 'own');
  expect(lab.list()).toEqual([{ ...open, state: 'open', openUntil: 21_000, fault: { ...FAULT, at: 11_000 } }]);
  lab.clock.nowMs = 21_000;
  await lab.run(tool, ['success']);
  expect(lab.list()).toEqual([]);
});

test('tools that share an upstream have one entry, under its name', async () => {
  const lab = createCircuitLab({ failures: 1 });
  const shared = { ...tool, upstream: { name: 'mcp:crm', concurrency: 4 } };
  await lab.run(shared, ['fault']);
  expect(lab.list()).toMatchObject([{ name: 'mcp:crm', kind: 'upstream', fault: { tool: 'search' } }]);
  expect([lab.close('search'), lab.close('mcp:crm'), lab.close('mcp:crm')]).toEqual([false, true, false]);
});

test('a circuit that a person closes lets calls run, and counts from 0', async () => {
  const lab = createCircuitLab({ failures: 2 });
  await lab.run(tool, ['fault', 'fault']);
  expect(lab.close('search')).toBe(true);
  expect([lab.list(), lab.refusal(tool), lab.changes.at(-1)]).toEqual([[], null, 'search closed']);
  await lab.run(tool, ['fault']);
  expect(lab.refusal(tool)).toBeNull();
  await lab.run(tool, ['fault']);
  expect(lab.refusal(tool)).toBe(10_000);
});

test('a probe that was on its way when a person closed the circuit opens it no more', async () => {
  const lab = createCircuitLab({ failures: 1 });
  await lab.run(tool, ['fault']);
  lab.clock.nowMs = 10_000;
  const end = lab.start(tool);
  expect(lab.close('search')).toBe(true);
  end(ENDS.fault, 'own');
  expect(lab.list()).toEqual([]);
});

test('all upstreams of a tool are closed by its name, and the messages of at most 200 circuits are kept', async () => {
  const lab = createCircuitLab({ failures: 1 });
  const openMany = async (name: string, hosts: number) => {
    const fetching = createTool(name, { breakerKey: 'host' });
    for (let host = 0; host < hosts; host += 1) await lab.run(fetching, ['fault'], { input: { host: `h${host}` } });
    return fetching;
  };
  const fetching = await openMany('fetch', 200);
  await openMany('later', 2);
  const listed = () => lab.list().map(({ name, fault }) => `${name} ${fault?.message ?? 'none'}`);
  expect(listed()).toEqual(Array.from({ length: 200 }, () => 'fetch For tests.'));
  expect(lab.close('fetch')).toBe(true);
  for (const host of ['h0', 'h199']) expect(lab.refusal(fetching, { host })).toBeNull();
  expect(listed()).toEqual(['later none', 'later none']);
});
