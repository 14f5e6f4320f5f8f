import { toolThat } from '@recourse/test-support/misbehaving-tools.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';
import type { Tool } from '#src/tools/tool.ts';

const compute = (ms: number): void => {
  const end = performance.now() + ms;
  while (performance.now() < end);
};

/** How many handlers have run between two turns of the event loop, at most. */
const createTurnCounter = () => {
  const counter = { most: 0, inTurn: 0 };
  return {
    count: (): void => {
      if (counter.inTurn === 0)
        setImmediate(() => {
          counter.inTurn = 0;
        });
      counter.inTurn += 1;
      counter.most = Math.max(counter.most, counter.inTurn);
    },
    most: (): number => counter.most,
  };
};

const callAtOnce = async (tool: Tool, calls: number): Promise<readonly boolean[]> => {
  const service = await startService({}, [tool]);
  onTestFinished(service.stop);
  const batches = Array.from({ length: calls }, () => service.call([{ name: tool.name, arguments: {} }]));
  return (await Promise.all(batches)).map(([result]) => result?.success === true);
};

test('sixty calls at once that compute for 10 ms are all answered, five in a turn of the event loop', async () => {
  const turns = createTurnCounter();
  const tool = toolThat('spin', () => {
    compute(10);
    turns.count();
    return 1;
  });
  expect(await callAtOnce(tool, 60)).toEqual(Array.from({ length: 60 }, () => true));
  expect(turns.most()).toBeLessThanOrEqual(5);
});

test('a call that computes for longer than a turn may take is answered, and so are those behind it', async () => {
  const tool = toolThat('spin', () => {
    compute(60);
    return 1;
  });
  expect(await callAtOnce(tool, 5)).toEqual([true, true, true, true, true]);
});
