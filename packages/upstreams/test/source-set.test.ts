import { runTool } from '@recourse/test-support/run-tool.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import type { Publish, SourcePlan, UpstreamState } from 'recourse-server/internal/extensions/source.ts';
import { defineTool } from 'recourse-server/internal/tools/define-tool.ts';
import type { InlineTool } from 'recourse-server/internal/tools/tool.ts';
import type { ToolOffer } from 'recourse-server/internal/tools/tool-offer.ts';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { createSourceSet } from '#src/source-set.ts';

const DEADLINE = { timeout: timeLimit(15_000) };

/** A source that starts and answers when the test says so. */
const createLab = ({ graceMs = 60_000, startMs = 60_000, startsAtOnce = 8 } = {}) => {
  const events: string[] = [];
  const offers = new Map<string, ToolOffer>();
  const starts = new Map<string, () => void>();
  const publishes = new Map<string, Publish>();
  const calls = Promise.withResolvers<string>();
  const plan = (name: string, settings: unknown = {}): SourcePlan => {
    const label = `${name} ${JSON.stringify(settings)}`;
    return {
      name,
      settings,
      prefix: '',
      create: (publish) => {
        publishes.set(label, publish);
        const state: UpstreamState = { name, status: 'up', reason: label, tools: 1, reconnects: 0 };
        return {
          start: () => {
            events.push(`start ${label}`);
            const { promise, resolve } = Promise.withResolvers<void>();
            starts.set(label, resolve);
            return promise;
          },
          stop: async () => void events.push(`stop ${label}`),
          state: () => state,
        };
      },
    };
  };
  const set = createSourceSet({
    publish: (name, offer) => void offers.set(name, offer),
    withdraw: (name) => void offers.delete(name),
    graceMs,
    startMs,
    startsAtOnce,
  });
  const offer = (label: string, tool: string): void => {
    const run = () => {
      events.push('call');
      return calls.promise;
    };
    const made = defineTool({ name: tool, description: '', input: z.object({}), effects: 'read', run });
    publishes.get(label)?.({ tools: [made], unavailable: [], outdated: new Map() });
  };
  const shown = () =>
    Object.fromEntries([...offers].map(([name, { tools }]) => [name, tools.map((tool) => tool.name)]));
  const toolOf = (name: string): InlineTool => {
    const tool = offers.get(name)?.tools[0];
    if (tool?.runsIn !== 'service') throw new Error(`${name} offers nothing.`);
    return tool;
  };
  return {
    set,
    plan,
    events,
    offer,
    shown,
    toolOf,
    started: (label: string) => starts.get(label)?.(),
    answer: calls.resolve,
  };
};

test('what is as it was goes on, what is new is started, and what is gone is stopped', async () => {
  const { set, plan, events } = createLab();
  set.apply([plan('a', { url: 'x' }), plan('b')]);
  const { changes } = set.apply([plan('c'), plan('a', { url: 'x' })]);
  expect(changes).toEqual({ added: ['c'], changed: [], removed: ['b'] });
  await vi.waitFor(() => expect(events).toContain('stop b {}'), DEADLINE);
  expect(events).toEqual(['start a {"url":"x"}', 'start b {}', 'start c {}', 'stop b {}']);
  expect(set.states().map(({ name }) => name)).toEqual(['a', 'c']);
});

test('a changed source takes over once it has started; until then the one before serves', async () => {
  const { set, plan, events, offer, shown, started } = createLab();
  set.apply([plan('a', 1)]);
  offer('a 1', 'old');
  started('a 1');
  const { changes } = set.apply([plan('a', 2)]);
  expect(changes).toEqual({ added: [], changed: ['a'], removed: [] });
  offer('a 2', 'new');
  expect(shown()).toEqual({ a: ['old'] });
  expect(set.states().map(({ reason }) => reason)).toEqual(['a 2']);
  await vi.waitFor(() => expect(events).toContain('start a 2'), DEADLINE);
  started('a 2');
  await vi.waitFor(() => expect(events).toContain('stop a 1'), DEADLINE);
  expect(shown()).toEqual({ a: ['new'] });
  offer('a 1', 'too_late');
  expect(shown()).toEqual({ a: ['new'] });
});

test('of two changes in a row the one between never serves, and is stopped', async () => {
  const { set, plan, events, offer, shown, started } = createLab();
  set.apply([plan('a', 1)]);
  offer('a 1', 'old');
  set.apply([plan('a', 2)]);
  set.apply([plan('a', 3)]);
  await vi.waitFor(() => expect(events).toContain('start a 3'), DEADLINE);
  started('a 2');
  offer('a 2', 'between');
  offer('a 3', 'new');
  await new Promise((resolve) => setImmediate(resolve));
  expect(shown()).toEqual({ a: ['old'] });
  expect(events).not.toContain('stop a 1');
  started('a 3');
  await vi.waitFor(() => expect(events).toEqual(expect.arrayContaining(['stop a 1', 'stop a 2'])), DEADLINE);
  expect(shown()).toEqual({ a: ['new'] });
  expect(events).not.toContain('stop a 3');
});

test('what is gone offers nothing at once, and is stopped when its calls have ended', async () => {
  const { set, plan, events, offer, shown, toolOf, answer } = createLab();
  set.apply([plan('a')]);
  offer('a {}', 'search');
  const call = runTool(toolOf('a'));
  await vi.waitFor(() => expect(events).toContain('call'), DEADLINE);
  set.apply([]);
  expect(shown()).toEqual({});
  await new Promise((resolve) => setImmediate(resolve));
  expect(events).toEqual(['start a {}', 'call']);
  answer('done');
  expect(await call).toBe('done');
  await vi.waitFor(() => expect(events).toEqual(['start a {}', 'call', 'stop a {}']), DEADLINE);
});

test('a call that does not end holds its source no longer than the grace', async () => {
  const { set, plan, events, offer, toolOf, answer } = createLab({ graceMs: 50 });
  set.apply([plan('a')]);
  offer('a {}', 'search');
  const call = runTool(toolOf('a'));
  await vi.waitFor(() => expect(events).toContain('call'), DEADLINE);
  set.apply([]);
  await vi.waitFor(() => expect(events).toContain('stop a {}'), DEADLINE);
  answer('late');
  await call;
});

test('a source that does not start holds nobody up: not the others, and not who waits for all', async () => {
  const { set, plan, events, started } = createLab({ startMs: 100, startsAtOnce: 2 });
  const { started: all } = set.apply(['a', 'b', 'c'].map((name) => plan(name)));
  expect(events).toEqual(['start a {}', 'start b {}']);
  started('b {}');
  await vi.waitFor(() => expect(events).toContain('start c {}'), DEADLINE);
  await all;
});

test('a source that is gone before it is its turn is never started', async () => {
  const { set, plan, events, started } = createLab({ startsAtOnce: 1 });
  const { started: all } = set.apply([plan('a'), plan('b')]);
  set.apply([plan('a')]);
  started('a {}');
  await all;
  expect(events).toEqual(['start a {}', 'stop b {}']);
});

test('a stop ends all at once, those that wait for their calls too', async () => {
  const { set, plan, events, offer, toolOf, answer } = createLab();
  set.apply([plan('a'), plan('b')]);
  offer('a {}', 'search');
  const call = runTool(toolOf('a'));
  await vi.waitFor(() => expect(events).toContain('call'), DEADLINE);
  set.apply([plan('b')]);
  await set.stop();
  expect(events.slice(3).toSorted()).toEqual(['stop a {}', 'stop b {}']);
  expect(set.states()).toEqual([]);
  answer('late');
  await call;
});

test('a tool that is offered again is the same object', () => {
  const { set, plan, toolOf } = createLab();
  const tool = defineTool({ name: 'x', description: '', input: z.object({}), effects: 'read', run: () => 1 });
  let publish: Publish = () => undefined;
  const { create, ...rest } = plan('a');
  const publishing: SourcePlan = {
    ...rest,
    create: (given) => {
      publish = given;
      return create(given);
    },
  };
  set.apply([publishing]);
  publish({ tools: [tool], unavailable: [], outdated: new Map() });
  const before = toolOf('a');
  publish({ tools: [tool], unavailable: [], outdated: new Map() });
  expect(toolOf('a')).toBe(before);
});
