import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { cleanEnvironment, ROOT } from '@recourse/test-support/start-process.ts';
import * as z from 'zod';
import { type ClientUnderTest, Outcome } from './contract-case.ts';

const Said = z.strictObject({
  id: z.number(),
  outcomes: z.array(Outcome).optional(),
  broken: z.string().optional(),
});

/** The Python client in one process of its own, which runs cases side by side. */
export const startPythonClient = (): ClientUnderTest => {
  const child = spawn('python3', [join(ROOT, 'test/clients/contract/drive.py')], {
    env: cleanEnvironment({ PYTHONDONTWRITEBYTECODE: '1' }),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'close');
  const waiting = new Map<number, PromiseWithResolvers<readonly Outcome[]>>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { id, outcomes, broken } = Said.parse(JSON.parse(line));
    if (outcomes === undefined) waiting.get(id)?.reject(new Error(broken));
    else waiting.get(id)?.resolve(outcomes);
  });
  child.on('close', () => {
    for (const { reject } of waiting.values()) reject(new Error('The process of the Python client has ended.'));
  });
  const ask = (what: object): Promise<readonly Outcome[]> => {
    const answer = Promise.withResolvers<readonly Outcome[]>();
    const id = waiting.size;
    waiting.set(id, answer);
    child.stdin.write(`${JSON.stringify({ ...what, id })}\n`);
    return answer.promise;
  };
  return {
    run: ask,
    toRetryAfterMs: async (text, nowMs) => (await ask({ retry_after: text, now_ms: nowMs }))[0]?.returns,
    toWaitMs: async (...wait) => (await ask({ wait }))[0]?.returns,
    stop: async () => {
      child.stdin.end();
      await exited;
    },
  };
};
