import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import type { Job, JobQueue, LaneState } from '#src/jobs/job-queue.ts';
import { recordJobs, SOON } from './job-recorder.ts';

/** A queue that holds nothing yet, and is closed after the test. */
export type OpenJobQueue = () => Promise<JobQueue>;

const job = (call: string, tenant = 'a', lane = 'default'): Job => ({ call, tenant, lane });
const offerAll = async (queue: JobQueue, jobs: readonly Job[]): Promise<void> => {
  for (const one of jobs) await queue.offer(one);
};
const stateOf = async (queue: JobQueue, lane = 'default'): Promise<LaneState> => {
  const state = (await queue.lanes()).find((one) => one.lane === lane);
  if (state === undefined) throw new Error(`The queue tells nothing of the lane ${lane}.`);
  return state;
};
const numbered = (letter: string, count: number): readonly Job[] =>
  Array.from({ length: count }, (_, position) => job(`${letter}${position + 1}`, letter));

/** What a job queue promises, whatever it is made of. It knows the lanes `default` and `gpu`. */
export const describeJobQueue = (name: string, open: OpenJobQueue): void => {
  describe(`job queue: ${name}`, () => {
    test('a call that is offered often runs once, and again when it is offered after its end', async () => {
      const queue = await open();
      const jobs = recordJobs();
      await offerAll(queue, [job('c_1'), job('c_1'), job('c_2')]);
      expect(await stateOf(queue)).toMatchObject({ waiting: 2 });
      queue.take([{ lane: 'default', concurrency: 5 }], jobs.run);
      await jobs.untilStarted(2);
      await queue.offer(job('c_1'));
      jobs.end('c_1');
      jobs.end('c_2');
      await vi.waitFor(async () => {
        await queue.offer(job('c_1'));
        expect(jobs.started).toHaveLength(3);
      }, SOON);
      expect(jobs.started.toSorted()).toEqual(['c_1', 'c_1', 'c_2']);
      jobs.end('c_1');
    });

    test('a job that is offered again while it waits keeps its turn, and one that is not there is added', async () => {
      const queue = await open();
      const jobs = recordJobs('pass');
      await offerAll(queue, numbered('a', 2));
      for (const call of ['a2', 'a1', 'a3']) await queue.offerAgain(job(call));
      queue.take([{ lane: 'default', concurrency: 1 }], jobs.run);
      await jobs.untilStarted(3);
      expect(jobs.started).toEqual(['a1', 'a2', 'a3']);
    });

    test('tenants take turns, and the jobs of each run in the order in which they were offered', async () => {
      const queue = await open();
      const jobs = recordJobs('pass');
      await offerAll(queue, [...numbered('a', 4), ...numbered('b', 3), job('c1', 'c')]);
      queue.take([{ lane: 'default', concurrency: 1 }], jobs.run);
      await jobs.untilStarted(8);
      expect(jobs.started).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'b3', 'a4']);
    });

    test('the first job of a tenant starts next, however many another tenant has waiting', async () => {
      const queue = await open();
      const jobs = recordJobs();
      const many = numbered('a', 1000);
      for (let from = 0; from < many.length; from += 100)
        await Promise.all(many.slice(from, from + 100).map((one) => queue.offer(one)));
      queue.take([{ lane: 'default', concurrency: 1 }], jobs.run);
      for (let ended = 0; ended < 3; ended += 1) {
        await jobs.untilStarted(ended + 1);
        jobs.end(jobs.started[ended] ?? '');
      }
      await jobs.untilStarted(4);
      await queue.offer(job('b1', 'b'));
      jobs.end(jobs.started[3] ?? '');
      await jobs.untilStarted(5);
      expect(jobs.started[4]).toBe('b1');
      jobs.end('b1');
    });

    test('the calls of a tenant never hold all slots of a lane: each that has none running gets one at once', async () => {
      const queue = await open();
      const jobs = recordJobs();
      await offerAll(queue, numbered('a', 64));
      const taking = queue.take([{ lane: 'default', concurrency: 4 }], jobs.run);
      await jobs.untilStarted(3);
      await queue.offer(job('b1', 'b'));
      await jobs.untilStarted(4);
      await offerAll(queue, [job('b2', 'b'), job('c1', 'c')]);
      await pause(600);
      expect(jobs.started).toEqual(['a1', 'a2', 'a3', 'b1']);
      jobs.end('b1');
      await jobs.untilStarted(5);
      jobs.end(jobs.started[4] ?? '');
      await jobs.untilStarted(6);
      expect(jobs.started.slice(4).toSorted()).toEqual(['b2', 'c1']);
      taking.stop();
      for (const call of ['a1', 'a2', 'a3', jobs.started[5] ?? '']) jobs.end(call);
      await jobs.whenIdle();
      expect(jobs.most('default')).toBe(4);
    });

    test('a tenant that removes its jobs is not behind their turns', async () => {
      const queue = await open();
      const jobs = recordJobs('pass');
      await offerAll(queue, numbered('a', 20));
      for (const one of numbered('a', 19)) await queue.cancel(one);
      await offerAll(queue, numbered('b', 3));
      expect(await stateOf(queue)).toMatchObject({ waiting: 4 });
      queue.take([{ lane: 'default', concurrency: 1 }], jobs.run);
      await jobs.untilStarted(4);
      expect(jobs.started.indexOf('a20')).toBeLessThan(2);
    });

    test('no more jobs of a lane run at once than its concurrency, and lanes do not share it', async () => {
      const queue = await open();
      const jobs = recordJobs();
      await offerAll(queue, numbered('a', 6));
      await offerAll(queue, [job('g1', 'a', 'gpu'), job('g2', 'a', 'gpu')]);
      const lanes = [
        { lane: 'default', concurrency: 4 },
        { lane: 'gpu', concurrency: 1 },
      ];
      queue.take(lanes, jobs.run);
      await jobs.untilStarted(4);
      await pause(50);
      expect(jobs.started).toHaveLength(4);
      expect(jobs.running()).toBe(4);
      for (const call of ['a1', 'a2', 'a3', 'g1']) jobs.end(call);
      await jobs.untilStarted(8);
      for (const call of ['a4', 'a5', 'a6', 'g2']) jobs.end(call);
      await jobs.whenIdle();
      expect([jobs.most('default'), jobs.most('gpu')]).toEqual([3, 1]);
    });

    test('a worker takes no job of a lane that it does not name', async () => {
      const queue = await open();
      const [general, gpu] = [recordJobs('pass'), recordJobs('pass')];
      await offerAll(queue, [job('g1', 'a', 'gpu'), job('c_1')]);
      queue.take([{ lane: 'default', concurrency: 2 }], general.run);
      await general.untilStarted(1);
      await pause(50);
      expect(general.started).toEqual(['c_1']);
      expect(await stateOf(queue, 'gpu')).toMatchObject({ waiting: 1 });
      queue.take([{ lane: 'gpu', concurrency: 2 }], gpu.run);
      await gpu.untilStarted(1);
      expect(gpu.started).toEqual(['g1']);
    });

    test('a job that is cancelled while it waits never runs; one that runs goes on', async () => {
      const queue = await open();
      const jobs = recordJobs();
      queue.take([{ lane: 'default', concurrency: 1 }], jobs.run);
      await queue.offer(job('c_1'));
      await jobs.untilStarted(1);
      await offerAll(queue, [job('c_2'), job('c_3')]);
      await queue.cancel(job('c_2'));
      await queue.cancel(job('c_1'));
      await queue.cancel(job('c_unknown'));
      jobs.end('c_1');
      await jobs.untilStarted(2);
      expect(jobs.started).toEqual(['c_1', 'c_3']);
      jobs.end('c_3');
      await jobs.whenIdle();
      expect(await stateOf(queue)).toMatchObject({ waiting: 0, oldestWaitingMs: 0 });
    });

    test('a job that is given back comes again after its time, before those that had no turn', async () => {
      const queue = await open();
      const jobs = recordJobs();
      await offerAll(queue, numbered('a', 3));
      queue.take([{ lane: 'default', concurrency: 1 }], jobs.run);
      await jobs.untilStarted(1);
      jobs.end('a1', { kind: 'later', afterMs: 300 });
      await jobs.untilStarted(2);
      // Only a3: what comes again later does not wait for a worker yet.
      expect(await stateOf(queue)).toMatchObject({ waiting: 1 });
      await pause(400);
      jobs.end('a2');
      await jobs.untilStarted(3);
      expect(jobs.started).toEqual(['a1', 'a2', 'a1']);
      jobs.end('a1');
      await jobs.untilStarted(4);
      jobs.end('a3');
    });

    test('a job that is given back at once is another worker’s', async () => {
      const queue = await open();
      const [first, second] = [recordJobs(), recordJobs()];
      const taking = queue.take([{ lane: 'default', concurrency: 1 }], first.run);
      await queue.offer(job('c_1'));
      await first.untilStarted(1);
      taking.stop();
      first.end('c_1', { kind: 'later', afterMs: 0 });
      queue.take([{ lane: 'default', concurrency: 1 }], second.run);
      await second.untilStarted(1);
      expect([first.started, second.started]).toEqual([['c_1'], ['c_1']]);
      second.end('c_1');
    });

    test('a worker that was stopped takes nothing more, finishes what runs, and no job runs twice', async () => {
      const queue = await open();
      const [first, second] = [recordJobs(), recordJobs('pass')];
      const taking = queue.take([{ lane: 'default', concurrency: 3 }], first.run);
      await offerAll(queue, numbered('a', 6));
      await first.untilStarted(2);
      taking.stop();
      taking.stop();
      const running = [...first.started];
      for (const call of running) first.end(call);
      await first.whenIdle();
      await pause(50);
      expect(first.running()).toBe(0);
      expect(first.started).toEqual(running);
      queue.take([{ lane: 'default', concurrency: 1 }], second.run);
      await second.untilStarted(4);
      await pause(50);
      expect([...running, ...second.started].toSorted()).toEqual(['a1', 'a2', 'a3', 'a4', 'a5', 'a6']);
    });

    test('a worker that is stopped while a job is on its way does not run it, and another one does', async () => {
      const queue = await open();
      const [first, second] = [recordJobs('pass'), recordJobs('pass')];
      const late: string[] = [];
      for (let round = 0; round < 20; round += 1) {
        let isStopped = false;
        const taking = queue.take([{ lane: 'default', concurrency: 1 }], (one) => {
          if (isStopped) late.push(one.call);
          return first.run(one);
        });
        const offered = queue.offer(job(`c_${round}`));
        // From before it is added until after it has run.
        await pause(round / 2);
        taking.stop();
        isStopped = true;
        await offered;
        await first.whenIdle();
      }
      queue.take([{ lane: 'default', concurrency: 1 }], second.run);
      await vi.waitFor(() => expect(first.started.length + second.started.length).toBe(20), SOON);
      expect(late).toEqual([]);
      expect(new Set([...first.started, ...second.started]).size).toBe(20);
    });

    test('each lane says how many jobs wait and how long the oldest has', async () => {
      const queue = await open();
      const jobs = recordJobs();
      expect((await queue.lanes()).toSorted((a, b) => a.lane.localeCompare(b.lane))).toEqual([
        { lane: 'default', waiting: 0, oldestWaitingMs: 0 },
        { lane: 'gpu', waiting: 0, oldestWaitingMs: 0 },
      ]);
      const offeredFrom = performance.now();
      await queue.offer(job('a1'));
      const offeredBy = performance.now();
      await pause(200);
      await offerAll(queue, [job('b1', 'b'), job('b2', 'b')]);
      const askedFrom = performance.now();
      const { waiting, oldestWaitingMs } = await stateOf(queue);
      expect(waiting).toBe(3);
      // The clock of Redis has whole milliseconds.
      expect(oldestWaitingMs).toBeGreaterThanOrEqual(askedFrom - offeredBy - 2);
      expect(oldestWaitingMs).toBeLessThanOrEqual(performance.now() - offeredFrom + 2);
      queue.take([{ lane: 'default', concurrency: 1 }], jobs.run);
      await jobs.untilStarted(1);
      // a1 runs: the oldest is one of the others, which came 200 ms later.
      await vi.waitFor(async () => {
        const after = await stateOf(queue);
        expect(after.waiting).toBe(2);
        expect(after.oldestWaitingMs).toBeLessThanOrEqual(performance.now() - offeredBy - 190);
      }, SOON);
      jobs.end('a1');
    });

    test('a worker that is idle or busy does not look as if it had lost its queue', async () => {
      const queue = await open();
      const jobs = recordJobs();
      const before = performance.now();
      const taking = queue.take([{ lane: 'default', concurrency: 1 }], jobs.run);
      await queue.offer(job('c_1'));
      await jobs.untilStarted(1);
      await pause(50);
      expect(taking.lastFetchAt()).toBeGreaterThanOrEqual(before + 50);
      jobs.end('c_1');
    });

    test('closing waits for what runs', async () => {
      const queue = await open();
      const jobs = recordJobs();
      queue.take([{ lane: 'default', concurrency: 1 }], jobs.run);
      await offerAll(queue, numbered('a', 2));
      await jobs.untilStarted(1);
      const closed = vi.fn();
      const closing = queue.close().then(closed);
      await pause(50);
      expect(closed).not.toHaveBeenCalled();
      jobs.end('a1');
      await closing;
      expect(jobs.started).toEqual(['a1']);
    });
  });
};
