import { runTool } from '@recourse/test-support/run-tool.ts';
import { defineTool } from 'recourse-server';
import { expect, test } from 'vitest';
import { isAsyncGenerator } from '#src/tools/async-generator.ts';

const createCounting = (teardown: (resource: { readonly number: number }) => void = () => undefined) => {
  let made = 0;
  return defineTool({
    name: 'counting',
    description: '',
    effects: 'read',
    input: { type: 'object' },
    setup: async () => {
      made += 1;
      return { number: made };
    },
    teardown,
    run: (_input, { resource }) => resource.number,
  });
};

test('calls at the same time share one setup; after close the next call sets up anew', async () => {
  const torn: number[] = [];
  const tool = createCounting(({ number }) => void torn.push(number));
  expect(await Promise.all([runTool(tool), runTool(tool), runTool(tool)])).toEqual([1, 1, 1]);
  await tool.close?.();
  await tool.close?.();
  expect(torn).toEqual([1]);
  expect(await runTool(tool)).toBe(2);
});

test('close waits for the calls that use it, and rejects with what the teardown throws', async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const order: string[] = [];
  const tool = defineTool({
    name: 'waiting',
    description: '',
    effects: 'read',
    input: { type: 'object' },
    setup: () => order,
    teardown: (list) => {
      list.push('torn down');
      throw new Error('cannot be closed');
    },
    run: (_input, { resource }) => promise.then((said) => void resource.push(said)),
  });
  const call = runTool(tool);
  await new Promise(setImmediate);
  const closing = tool.close?.();
  resolve('answered');
  await call;
  await expect(closing).rejects.toThrow(new Error('cannot be closed'));
  expect(order).toEqual(['answered', 'torn down']);
});

test('close waits for a call whose setup goes on: its handler has what is open', async () => {
  const { promise, resolve } = Promise.withResolvers<{ isOpen: boolean }>();
  const tool = defineTool({
    name: 'connecting',
    description: '',
    effects: 'read',
    input: { type: 'object' },
    setup: () => promise,
    teardown: (connection) => {
      connection.isOpen = false;
    },
    run: async (_input, { resource }) => {
      await new Promise(setImmediate);
      return resource.isOpen;
    },
  });
  const call = runTool(tool);
  await new Promise(setImmediate);
  const closing = tool.close?.();
  resolve({ isOpen: true });
  expect(await call).toBe(true);
  await closing;
  expect(await promise).toEqual({ isOpen: false });
});

test('a failed setup is not run again before its pause is over', async () => {
  let tries = 0;
  const tool = defineTool({
    name: 'refused',
    description: '',
    effects: 'write',
    input: { type: 'object' },
    setup: () => {
      tries += 1;
      throw new TypeError('no route');
    },
    run: () => 'never',
  });
  const failure = {
    message: "Tool 'refused' could not be started: TypeError: no route. Try again in 1 second, or use another tool.",
    executed: 'no',
  };
  await expect(runTool(tool)).rejects.toMatchObject(failure);
  await expect(runTool(tool)).rejects.toMatchObject(failure);
  expect(tries).toBe(1);
});

test('a tool with a setup has processes of its own; one without is as it was', () => {
  expect(createCounting().isolation).toBe('own');
  const plain = defineTool({
    name: 'plain',
    description: '',
    effects: 'read',
    input: { type: 'object' },
    run: () => 1,
  });
  expect([plain.isolation, plain.close]).toEqual(['process', undefined]);
});

test('members that cannot be meant are refused', () => {
  const about = { name: 'x', description: '', effects: 'read', input: { type: 'object' }, run: () => 1 } as const;
  expect(() => Reflect.apply(defineTool, null, [{ ...about, setup: 7 }])).toThrow(
    "Tool 'x': setup must be a function, not 7.",
  );
  expect(() => defineTool({ ...about, teardown: () => undefined })).toThrow("Tool 'x': teardown needs a setup.");
});

test('the type of the resource is what setup returns', () => {
  const tool = defineTool({
    name: 'typed',
    description: '',
    effects: 'read',
    input: { type: 'object' },
    setup: () => Promise.resolve({ url: 'db://' }),
    // @ts-expect-error: there is no such member.
    teardown: ({ wrong }) => wrong,
    // @ts-expect-error: there is no such member.
    run: (_input, { resource }) => resource.wrong,
  });
  expect(tool.name).toBe('typed');
});

test('close waits for a generator that uses it, until that has ended', async () => {
  const order: string[] = [];
  const tool = defineTool({
    name: 'showing',
    description: '',
    effects: 'read',
    input: { type: 'object' },
    setup: () => order,
    teardown: (list) => void list.push('torn down'),
    run: async function* (_input, { resource }) {
      yield 1;
      resource.push('used');
      return 2;
    },
  });
  const generator = await runTool(tool);
  if (!isAsyncGenerator(generator)) throw new Error('The handler made no generator.');
  expect(await generator.next()).toEqual({ done: false, value: 1 });
  const closing = tool.close?.();
  await new Promise(setImmediate);
  expect(await generator.next()).toEqual({ done: true, value: 2 });
  await closing;
  expect(order).toEqual(['used', 'torn down']);
});
