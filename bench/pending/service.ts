import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { pino } from 'pino';
import { loadConfig } from '../../src/config/settings/config.ts';
import { defineTool, z } from '../../src/recourse.ts';
import { wire } from '../../src/wiring/wire.ts';

// The service in the role that ROLE names, with one background tool that runs inside the process: what is measured is the
// way of a call, not the processes of tools.

/** Unix milliseconds with a fraction: moments of different processes are compared. */
const now = (): number => performance.timeOrigin + performance.now();

const wait = defineTool({
  name: 'wait_queued',
  description: 'Waits, and says from when to when.',
  effects: 'read',
  background: 'optional',
  input: z.object({ text: z.string(), ms: z.int().min(0).max(3_600_000) }),
  run: async ({ ms }, { signal }) => {
    const begun = now();
    if (ms > 0) await pause(ms, undefined, { signal });
    return { begun, ended: now() };
  },
});

const loaded = loadConfig(process.env);
if ('mistakes' in loaded) throw new Error(loaded.mistakes.join('\n'));
const { config } = loaded;
const service = await wire(config, pino({ level: config.LOG_LEVEL }), { extraTools: [wait] });
process.on('SIGTERM', () => process.exit(0));
process.once('disconnect', () => process.exit(0));
// Asked how much it holds: without what it has done with, which V8 keeps for as long as there is room.
setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');
process.on('message', () => {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  process.send?.({ heldBytes: heapUsed + external });
});
// A worker has no other port than that of its operations.
const app = config.ROLE === 'worker' ? service.opsApp : service.app;
const address = await app?.listen({ host: '127.0.0.1', port: 0 });
process.send?.({ port: Number(new URL(address ?? '').port) });
