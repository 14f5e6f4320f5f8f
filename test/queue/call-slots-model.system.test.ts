import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SlotQueue } from '#src/queue/slot-queue.ts';
import type { Tool } from '#src/tools/tool.ts';
import { hostedTool, inlineTool, tellNow } from './slot-lab.ts';

const LIMITS = {
  maxConcurrentCalls: 4,
  callerConcurrency: 3,
  toolConcurrency: 3,
  maxHostedCalls: 3,
  maxQueuedCalls: 4,
};
// The last number is what the limits above make of the tool.
const TOOLS: readonly (readonly [tool: Tool, limit: number])[] = [
  [inlineTool('plain'), 3],
  [inlineTool('single', 1), 1],
  [hostedTool('silent'), 3],
  [hostedTool('greedy', 9), 3],
];
const CALLERS = ['a', 'b', 'c'];

type Step =
  | { readonly kind: 'want'; readonly tool: number; readonly caller: number; readonly withinMs: number }
  | { readonly kind: 'answer' | 'end' | 'stop'; readonly which: number }
  | { readonly kind: 'advance'; readonly ms: number };

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('want'),
      tool: fc.nat(TOOLS.length - 1),
      caller: fc.nat(CALLERS.length - 1),
      withinMs: fc.constantFrom(5, 50, 100_000),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('answer'), which: fc.nat(20) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('end'), which: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('stop'), which: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('advance'), ms: fc.constantFrom(1, 30) }) },
);

type State = 'new' | 'waiting' | 'running' | 'answered' | 'over' | 'queue_full' | 'deadline' | 'stopped';
type Call = {
  readonly tool: Tool;
  readonly limit: number;
  readonly caller: string;
  readonly endsAt: number;
  handler: 'none' | 'runs' | 'ended';
  state: State;
  /** How often it was told what becomes of it. */
  told: number;
  stop: () => void;
};

// The event loop has room, and a drop is told at once.
const AT_REST = {
  busyMs: () => 0,
  afterSlice: setImmediate,
  pace: { tell: tellNow, tellAll: () => undefined },
};

/** The slots and a plain account of what should be so: lists that are looked through, with nothing clever in them. */
const createModel = () => {
  let moment = 0;
  const calls: Call[] = [];
  const slots = new SlotQueue({ ...LIMITS, ...AT_REST, now: () => moment });
  const unanswered = (caller?: string): number =>
    calls.filter(({ state, ...call }) => state === 'running' && (caller ?? call.caller) === call.caller).length;
  const handlers = (accepts: (tool: Tool) => boolean): number =>
    calls.filter(({ handler, tool }) => handler === 'runs' && accepts(tool)).length;
  const waiting = (): readonly Call[] => calls.filter(({ state }) => state === 'waiting');
  const isOpen = ({ tool, limit, caller }: Call): boolean =>
    unanswered() < LIMITS.maxConcurrentCalls &&
    unanswered(caller) < LIMITS.callerConcurrency &&
    handlers(({ name }) => name === tool.name) < limit &&
    (tool.runsIn === 'service' || handlers(({ runsIn }) => runsIn === 'host') < LIMITS.maxHostedCalls);

  const expectItsTurn = (call: Call): void => {
    expect(isOpen(call)).toBe(true);
    expect(call.endsAt).toBeGreaterThan(moment);
    for (const other of waiting().filter((one) => one !== call && isOpen(one))) {
      expect(unanswered(call.caller)).toBeLessThanOrEqual(unanswered(other.caller));
      const isSameLine = other.caller === call.caller && other.tool === call.tool;
      if (isSameLine) expect(calls.indexOf(call)).toBeLessThan(calls.indexOf(other));
    }
  };
  const expectWorthLeast = (dropped: Call, newcomer: Call): void => {
    const holdings = CALLERS.map((caller) => waiting().filter((one) => one.caller === caller).length);
    const ofDropped = waiting().filter(({ caller }) => caller === dropped.caller).length;
    expect(waiting().length).toBe(LIMITS.maxQueuedCalls + 1);
    expect(ofDropped).toBe(Math.max(...holdings));
    if (dropped.caller === newcomer.caller) return;
    expect(ofDropped).toBeGreaterThan(waiting().filter(({ caller }) => caller === newcomer.caller).length);
  };
  const start = (call: Call): void => {
    call.state = 'running';
    call.handler = 'runs';
  };
  const want = (place: number, callerPlace: number, withinMs: number): void => {
    const [tool, limit] = TOOLS[place] ?? [inlineTool('none'), 0];
    const caller = CALLERS[callerPlace] ?? 'a';
    const stop = (): void => undefined;
    const call: Call = { tool, limit, caller, endsAt: moment + withinMs, handler: 'none', state: 'new', told: 0, stop };
    calls.push(call);
    // Nothing overtakes: what can run at once, runs, and only that.
    expect(slots.tryTake(tool, caller)).toBe(isOpen(call));
    if (isOpen(call)) {
      start(call);
      return;
    }
    call.state = 'waiting';
    call.stop = slots.wait({
      tool,
      caller,
      endsAt: call.endsAt,
      timeoutMs: 1000,
      acquired: () => {
        expectItsTurn(call);
        call.told += 1;
        start(call);
      },
      dropped: ({ reason }) => {
        if (reason === 'queue_full') expectWorthLeast(call, calls.at(-1) ?? call);
        call.told += 1;
        call.state = reason;
      },
    });
  };
  const answer = (call: Call | undefined): void => {
    if (call === undefined) return;
    call.state = call.handler === 'runs' ? 'answered' : 'over';
    slots.answered(call.caller);
  };
  const end = (call: Call | undefined): void => {
    if (call === undefined) return;
    call.handler = 'ended';
    if (call.state === 'answered') call.state = 'over';
    slots.ended(call.tool);
  };
  const stopOne = (call: Call | undefined): void => {
    if (call === undefined) return;
    if (call.state === 'waiting') call.state = 'stopped';
    call.stop();
  };
  const pick = (which: number, accepts: (call: Call) => boolean): Call | undefined => {
    const candidates = calls.filter(accepts);
    return candidates[which % Math.max(1, candidates.length)];
  };
  const isUnanswered = ({ state }: Call): boolean => state === 'running';
  const runsHandler = ({ handler }: Call): boolean => handler === 'runs';
  return {
    slots,
    calls,
    do: (step: Step): void => {
      if (step.kind === 'want') want(step.tool, step.caller, step.withinMs);
      else if (step.kind === 'advance') moment += step.ms;
      else if (step.kind === 'answer') answer(pick(step.which, isUnanswered));
      else if (step.kind === 'end') end(pick(step.which, runsHandler));
      // Also those that were told already: stopping comes too late then and must change nothing.
      else stopOne(pick(step.which, ({ state }) => state !== 'new'));
    },
    expectInOrder: (): void => {
      expect(unanswered()).toBeLessThanOrEqual(LIMITS.maxConcurrentCalls);
      for (const caller of CALLERS) expect(unanswered(caller)).toBeLessThanOrEqual(LIMITS.callerConcurrency);
      expect(handlers(({ runsIn }) => runsIn === 'host')).toBeLessThanOrEqual(LIMITS.maxHostedCalls);
      for (const [{ name }, limit] of TOOLS) expect(handlers((tool) => tool.name === name)).toBeLessThanOrEqual(limit);
      expect(waiting().length).toBeLessThanOrEqual(LIMITS.maxQueuedCalls);
      // No call waits that could run.
      expect(waiting().filter(isOpen)).toEqual([]);
      for (const { told } of calls) expect(told).toBeLessThanOrEqual(1);
      expect(slots.isIdle()).toBe(unanswered() === 0 && waiting().length === 0);
    },
    endEverything: (): void => {
      for (let call = pick(0, isUnanswered) ?? pick(0, runsHandler); call !== undefined; ) {
        if (isUnanswered(call)) answer(call);
        if (runsHandler(call)) end(call);
        call = pick(0, isUnanswered) ?? pick(0, runsHandler);
      }
    },
  };
};

const seen = new Set<State>();

test('whatever is taken, answered, ended and given up in whatever order, no limit is passed, no slot is lost and every call that waits ends once', () => {
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 80, size: 'max' }), (steps) => {
      const model = createModel();
      for (const step of steps) {
        model.do(step);
        model.expectInOrder();
      }
      for (const { state } of model.calls) seen.add(state);
      model.endEverything();
      model.expectInOrder();
      for (const { state } of model.calls) expect(['over', 'queue_full', 'deadline', 'stopped']).toContain(state);
      expect(model.slots.isIdle()).toBe(true);
      // All slots are there again, neither more nor fewer.
      const takeAll = (caller: string): readonly number[] =>
        TOOLS.map(([tool]) => [1, 2, 3, 4].filter(() => model.slots.tryTake(tool, caller)).length);
      expect([takeAll('a'), takeAll('b'), takeAll('c')]).toEqual([
        [3, 0, 0, 0],
        [0, 1, 0, 0],
        [0, 0, 0, 0],
      ]);
      for (const caller of ['a', 'a', 'a', 'b']) model.slots.answered(caller);
      expect([takeAll('a'), takeAll('b')]).toEqual([
        [0, 0, 3, 0],
        [0, 0, 0, 0],
      ]);
    }),
    { numRuns: 300 },
  );
});

test('the generated steps reach every state that they are meant to reach', () => {
  expect([...seen].sort()).toEqual(['answered', 'deadline', 'over', 'queue_full', 'running', 'stopped', 'waiting']);
});
