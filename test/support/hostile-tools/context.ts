import { defineTool, z } from 'recourse-server';

export const reports = defineTool({
  name: 'reports_its_context',
  description: 'Says what it is told of its call.',
  effects: 'read',
  input: z.object({ fails: z.boolean().default(false), round: z.number().optional() }),
  run: (
    { fails },
    { session, callId, retriesLeft, isLastAttempt, timeoutMs, idempotencyKey, signal, log, progress },
  ) => {
    log.warn('seen from inside', { fails, nested: { row: 7 } });
    log.debug('a detail', { big: 7n });
    progress({ progress: 1, total: 2, message: 'half way' });
    const report = { session, callId, retriesLeft, isLastAttempt, timeoutMs, idempotencyKey, aborted: signal.aborted };
    if (fails) throw new Error(JSON.stringify(report), { cause: new RangeError('the reason behind it') });
    return report;
  },
});

export const waits = defineTool({
  name: 'waits_for_its_signal',
  description: 'Ends when it is told to, and says why.',
  effects: 'read',
  timeoutMs: 20_000,
  input: z.object({}),
  run: (_, { signal, log }) => {
    log.info('waiting', { pid: process.pid });
    return new Promise((_resolve, reject) => {
      const end = () => {
        log.info('told to end', { reason: signal.reason.name });
        reject(signal.reason);
      };
      // On a busy machine the deadline may have passed before the tool begins.
      if (signal.aborted) end();
      else signal.addEventListener('abort', end);
    });
  },
});

export const writes = defineTool({
  name: 'writes_until_it_is_done',
  description: 'Ends by itself.',
  effects: 'write',
  input: z.object({}),
  run: async (_, { signal, log }) => {
    log.info('writing');
    await new Promise((resolve) => setTimeout(resolve, 500));
    log.info('written', { aborted: signal.aborted });
  },
});
