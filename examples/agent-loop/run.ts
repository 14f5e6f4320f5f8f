import { randomUUID } from 'node:crypto';
import { createRecourse, toTurnKey } from '@recourse/client';
import { runAgent } from './agent.ts';
import type { Model } from './model.ts';
import { correctsItself, givesUpInTime, keepsGuessing } from './scripted-models.ts';
import { createTrace } from './trace.ts';

const DEFAULT_URL = 'http://127.0.0.1:8080';
const MAX_STEPS = 8;

type Scene = { readonly title: string; readonly task: string; readonly model: Model };

const SCENES: readonly Scene[] = [
  { title: 'A model that corrects itself', task: 'What do the notes begin with?', model: correctsItself },
  { title: 'A model that keeps guessing', task: 'What does the secret plan say?', model: keepsGuessing },
  { title: 'A model that gives up in time', task: 'What does the secret plan say?', model: givesUpInTime },
];

const play = async (url: string, { title, task, model }: Scene): Promise<'played' | 'unreachable'> => {
  console.log(`${title}: "${task}"`);
  // Each run has its own session, so that a budget used up by one run does not limit the next.
  const session = createRecourse({ url }).session(`agent-loop-${randomUUID()}`);
  const run = await runAgent(task, {
    model,
    // A request whose answer is lost is sent again under the key of its turn.
    executeCalls: async (calls, step) =>
      (await session.execute(calls, { idempotencyKey: await toTurnKey(session.id, step) })).results,
    maxSteps: MAX_STEPS,
    observer: createTrace(console.log),
  });
  console.log(`→ ${run.state} after ${run.steps} ${run.steps === 1 ? 'step' : 'steps'}: ${run.text}\n`);
  return run.cause === 'service_failed' ? 'unreachable' : 'played';
};

const main = async (url: string): Promise<void> => {
  for (const scene of SCENES)
    if ((await play(url, scene)) === 'unreachable') {
      console.error(`Is Recourse running at ${url}? Start it with npm start.`);
      process.exitCode = 1;
      return;
    }
};

await main(process.argv[2] ?? DEFAULT_URL);
