import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { defineTool, type ToolContext, z } from 'recourse-server';

const TIMEOUT_MS = 300;

const endless = (name: string, run: (context: ToolContext) => unknown, effects: 'read' | 'write' = 'read') =>
  defineTool({
    name,
    description: 'Does not end by itself.',
    effects,
    timeoutMs: TIMEOUT_MS,
    input: z.object({}),
    run: (_, context) => run(context),
  });

const forever = (): Promise<never> => new Promise(() => undefined);

const spin = (): never => {
  for (;;);
};

const spinInTurns = async (): Promise<never> => {
  for (;;) await null;
};

const ignoreSignal = ({ signal }: ToolContext): Promise<never> => {
  signal.addEventListener('abort', () => undefined);
  setInterval(() => undefined, 1000);
  return forever();
};

const answerLate = ({ signal }: ToolContext): Promise<string> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve('an answer that nobody waits for')));

const obey = ({ signal }: ToolContext): Promise<never> =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

const hugeDelay = (): Promise<never> => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0) && forever();

const catastrophe = (): boolean => /^(a+)+$/.test(`${'a'.repeat(64)}!`);

const endlessInKnownProcess = (name: string, run: (context: ToolContext) => unknown) =>
  defineTool({
    name,
    description: 'Writes down in which process it runs, and does not end by itself.',
    effects: 'read',
    input: z.object({ path: z.string() }),
    run: ({ path }, context) => {
      writeFileSync(path, String(process.pid));
      return run(context);
    },
  });

export const tools = [
  endless('never_settles_there', forever),
  endless('never_settles_there_write', forever, 'write'),
  endless('ignores_its_signal', ignoreSignal),
  endless('spins', spin),
  endless('spins_write', spin, 'write'),
  endless('spins_in_turns', spinInTurns),
  endless('catastrophic_regex', catastrophe),
  endless('waits_without_a_turn', hugeDelay),
  endless('waits_for_a_child', () => spawnSync('sleep', ['86400.25'])),
  endless('obeys_its_signal', obey),
  endless('answers_late', answerLate),
  defineTool({
    name: 'tells_its_process',
    description: 'Says in which process it runs.',
    effects: 'read',
    input: z.object({}),
    run: () => process.pid,
  }),
  endlessInKnownProcess('spins_in_a_known_process', spin),
  endlessInKnownProcess('obeys_in_a_known_process', obey),
  defineTool({
    name: 'refine_hangs_there',
    description: 'Has a schema that hangs.',
    effects: 'read',
    timeoutMs: TIMEOUT_MS,
    input: z.looseObject({}).refine(forever),
    run: () => 'ran',
  }),
  defineTool({
    name: 'refine_spins',
    description: 'Has a schema that never gives way.',
    effects: 'read',
    timeoutMs: TIMEOUT_MS,
    input: z.looseObject({}).refine(spin),
    run: () => 'ran',
  }),
];
