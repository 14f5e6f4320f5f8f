import { join } from 'node:path';
import { createPendingClient, type PendingAnswer } from '@recourse/test-support/pending-client.ts';
import { type RunningProcess, startWorkerProcess } from '@recourse/test-support/start-process.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { beginCell, type Cell, EFFECTS, type Lab, startLab, toBody, untilTrue } from './deaths-lab.ts';

/**
 * How Redis loses what was written, and what ends a wait then. The Redis of a test keeps nothing on disk. What reads while it
 * restarts is told that the store is away.
 */
const LOSSES = {
  flushed: {
    lose: (lab: Lab) => lab.client.flushall(),
    polls: ['200 outcome_unknown'],
    requests: ['200 outcome_unknown'],
  },
  restarted: {
    lose: (lab: Lab) => lab.redis.restart(),
    polls: ['200 outcome_unknown', '404 result_not_kept'],
    requests: ['200 outcome_unknown', '202 pending'],
  },
} as const;

const toCode = ({ status, problem, results: [result] }: PendingAnswer): string =>
  `${status} ${problem ?? result?.error?.code ?? result?.outcome}`;

/** The names of the events of a stream that has ended. */
const readEvents = async (answer: Response): Promise<readonly string[]> =>
  [...(await answer.text()).matchAll(/^event: (\w+)$/gm)].map(([, name = '']) => name);

/** All that waits for a call: two long polls and a stream of events. */
const startWaiting = async (service: RunningProcess, { requestId }: Cell) => {
  const client = createPendingClient(service.url);
  const polls = ['all', 'any'].map((until) => client.ask(`/tool-calls/${requestId}?wait_ms=25000&until=${until}`));
  const events = await fetch(`${service.url}/tool-calls/${requestId}/events`);
  // What came before this has been read by the service: the polls wait.
  expect((await client.ask(`/tool-calls/${requestId}`)).status).toBe(202);
  return {
    polls: Promise.all(polls).then((answers) => answers.map(toCode)),
    events: readEvents(events),
  };
};

const lostCalls = async (opsPort: unknown): Promise<number> => {
  const text = await (await fetch(`http://127.0.0.1:${String(opsPort)}/metrics`)).text();
  return Number(/^recourse_worker_calls_total\{end="lost"\} (\d+)$/m.exec(text)?.[1] ?? 0);
};

/** A call that waits in its lane, two that run, and one that runs while the request that sent it waits. */
const startCells = async (service: RunningProcess, lab: Lab, loss: string, go: string) => {
  const queued = await beginCell(service, lab, { tool: 'frozen_write', name: `${loss} queued` });
  const running = await Promise.all(
    EFFECTS.map((effects) =>
      beginCell(service, lab, { tool: `other_${effects}`, name: `${loss} running ${effects}`, waitsFor: go }),
    ),
  );
  const name = `${loss} in its request`;
  const sent = createPendingClient(service.url).begin(toBody(lab, 'other_write', name, go), { wait: 25 });
  for (const cell of [...running, { name }])
    await untilTrue(() => lab.linesOf('begin', cell.name) === 1, `${cell.name} has begun`);
  return { queued, running, sent: sent.then(toCode), names: [...running.map((cell) => cell.name), name] };
};

test('what waits for calls that Redis has lost is answered, and their worker keeps nothing of them', {
  timeout: timeLimit(90_000),
}, async () => {
  const lab = await startLab();
  const [service, worker] = await Promise.all([
    lab.startApi(),
    startWorkerProcess({
      by: 'node',
      environment: { ...lab.environment, WORKER_LANES: 'default', OPS_PORT: '0' },
    }),
  ]);
  const opsPort = (await worker.logged('working'))['ops_port'];
  const client = createPendingClient(service.url);
  let lost = 0;
  for (const [loss, { lose, polls: ofPolls, requests }] of Object.entries(LOSSES)) {
    const go = join(lab.files.root, `go-${loss}`);
    const { queued, running, sent, names } = await startCells(service, lab, loss, go);
    const cells = [queued, ...running];
    const waits = await Promise.all(cells.map((cell) => startWaiting(service, cell)));
    await lose(lab);
    expect(await sent).toBeOneOf([...requests]);
    for (const { polls, events } of waits) {
      for (const end of await polls) expect(end).toBeOneOf([...ofPolls]);
      expect(await events).toEqual(['snapshot', 'result', 'done']);
    }
    lab.files.write(`go-${loss}`, '');
    lost += names.length;
    await untilTrue(async () => (await lostCalls(opsPort)) === lost, 'the worker has ended its calls');
    expect(names.map((name) => lab.linesOf('end', name))).toEqual(names.map(() => 1));
    for (const { requestId, handle } of cells) {
      expect(toCode(await client.ask(`/tool-calls/${requestId}`))).toBe('404 result_not_kept');
      expect(await lab.recordKeysOf(handle)).toEqual([]);
    }
    // The same processes go on.
    const next = await client.begin(toBody(lab, 'other_write', `after ${loss}`), { wait: 20 });
    expect(toCode(next)).toBe('200 success');
  }
  expect(lab.linesOf('begin', 'flushed queued') + lab.linesOf('begin', 'restarted queued')).toBe(0);
});
