import { writeFileSync } from 'node:fs';
import { createPendingClient, type PendingAnswer } from '@recourse/test-support/pending-client.ts';
import { type RunningProcess, startWorkerProcess } from '@recourse/test-support/start-process.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { type Cell, describeAll, HOLDING, type Lab, makeHolds, startLab, toBody, untilTrue } from './deaths-lab.ts';

// Where the acceptance of a batch is when its service dies. created: there is a record, which is not confirmed. confirmed: it
// has no job. queued: it has one, and its sender knows nothing. answered: its sender was told 202.
const POINTS = ['answered', 'created', 'confirmed', 'queued'] as const;

const FIRST = 'first run, begun 1 times';

/** A keyed batch of one call. */
type Batch = { readonly name: string; readonly tool: string };

const send = (to: RunningProcess, lab: Lab, { name, tool }: Batch, wait = 0): Promise<PendingAnswer> => {
  const headers = { 'idempotency-key': `a batch that is ${name}` };
  return createPendingClient(to.url).begin(toBody(lab, tool, name), { headers, wait });
};

/** Again until the record of the batch is not that of the service that died any more. */
const sendAgain = async (to: RunningProcess, lab: Lab, batch: Batch): Promise<Cell> => {
  const { promise, resolve } = Promise.withResolvers<PendingAnswer>();
  await untilTrue(async () => {
    const answer = await send(to, lab, batch);
    if (answer.problem === 'idempotency_key_in_flight') return false;
    resolve(answer);
    return true;
  }, `${batch.name} is accepted again`);
  const { status, requestId, problem } = await promise;
  expect([batch.name, status, problem]).toEqual([batch.name, expect.toBeOneOf([200, 202]), null]);
  return { name: batch.name, requestId, handle: '' };
};

/** A service that accepts batches, and the answers to those that it had not answered when it was held. */
const startVictim = async (lab: Lab, prefix: string, tools: readonly string[]) => {
  const holds = makeHolds();
  const service = await lab.startApi(HOLDING, holds.environment);
  const batches = POINTS.flatMap((point) => tools.map((tool) => ({ name: `${prefix} ${point} ${tool}`, tool, point })));
  const answers: Promise<PendingAnswer | 'cut off'>[] = [];
  for (const { point, ...batch } of batches) {
    if (point !== 'answered') holds.hold('any', point);
    // Who waits reads the record once the call is queued.
    const answer = send(service, lab, batch, point === 'queued' ? 5 : 0);
    if (point === 'answered') expect((await answer).status).toBe(202);
    else {
      answers.push(answer.catch(() => 'cut off' as const));
      await holds.whenSoManyHeld(answers.length);
    }
  }
  return { service, batches, answers, go: holds.go };
};

test('a service that dies or freezes while it accepts a call, or after it has, doubles and loses nothing', {
  timeout: timeLimit(90_000),
}, async () => {
  const lab = await startLab();
  const [killed, frozen, service] = await Promise.all([
    startVictim(lab, 'killed', ['killed_write']),
    startVictim(lab, 'frozen', ['frozen_write', 'other_write']),
    lab.startApi(),
  ]);
  killed.service.send('SIGKILL', 'service');
  frozen.service.send('SIGSTOP', 'service');
  expect(await Promise.all(killed.answers)).toEqual(['cut off', 'cut off', 'cut off']);
  await startWorkerProcess({ by: 'node', environment: { ...lab.environment, WORKER_LANES: 'killed,default' } });

  // Nobody was told of it, and nobody asks again: a sweep finds it.
  await lab.passLook();
  await untilTrue(() => lab.linesOf('end', 'killed confirmed killed_write') === 1, 'the call without a job has run');
  // Accepted by nobody, it waits for its sender.
  expect(lab.linesOf('begin', 'killed created killed_write')).toBe(0);
  const ofKilled = await Promise.all(killed.batches.map((batch) => sendAgain(service, lab, batch)));
  expect(Object.values(await describeAll(service, lab, ofKilled))).toEqual([FIRST, FIRST, FIRST, FIRST]);

  // When the frozen service goes on, one half of its calls has ended, the other waits for a worker.
  const again = await Promise.all(frozen.batches.map((batch) => sendAgain(service, lab, batch)));
  const isEnded = ({ name }: { readonly name: string }): boolean => name.includes('other_write');
  await describeAll(service, lab, again.filter(isEnded));
  writeFileSync(frozen.go, '');
  frozen.service.send('SIGCONT', 'service');
  const late = (await Promise.all(frozen.answers)).filter((answer) => answer !== 'cut off');
  // Whoever does not wait is told of the acceptance alone, and asks for the end.
  expect(late.map(({ status }) => status)).toEqual([202, 202, 202, 202, 202, 200]);
  expect(lab.linesOf('begin', 'frozen queued frozen_write')).toBe(0);
  await startWorkerProcess({ by: 'node', environment: { ...lab.environment, WORKER_LANES: 'frozen' } });
  for (const asked of [service, frozen.service])
    expect(Object.values(await describeAll(asked, lab, again))).toEqual(again.map(() => FIRST));
  // Also under the ids of the requests that were answered late: an answer 202 says where its results are.
  for (const { requestId } of late) {
    const { results, problem } = await createPendingClient(service.url).finish(requestId);
    expect([problem, results[0]?.value]).toEqual([null, 'first run']);
  }
  await untilTrue(async () => !(await lab.hasJob('c_*')), 'no job is left');
  for (const { name } of [...killed.batches, ...frozen.batches])
    expect([name, lab.linesOf('begin', name), lab.linesOf('end', name)]).toEqual([name, 1, 1]);
});
