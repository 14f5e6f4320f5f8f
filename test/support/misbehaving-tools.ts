import * as z from 'zod';
import { defineTool, type ToolDefinition } from '#src/tools/define-tool.ts';
import type { Tool } from '#src/tools/tool.ts';
import { empty, ok } from '#src/tools/tool-values.ts';

const fail = (text: string): never => {
  throw new Error(text);
};

const toRevokedProxy = (): object => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};

const toCircular = (): object => {
  const loop: Record<string, unknown> = {};
  loop['self'] = loop;
  return loop;
};

const withThrowingGetter = <Target extends object>(target: Target, key: string): Target =>
  Object.defineProperty(target, key, { enumerable: true, get: () => fail('the getter') });

const TRAPS = ['get', 'has', 'ownKeys', 'getPrototypeOf', 'getOwnPropertyDescriptor'] as const;

/** An object on which every operation throws. */
const toTrap = (): object =>
  new Proxy({}, Object.fromEntries(TRAPS.map((trap) => [trap, () => fail(`the ${trap} trap`)])));

const toDeep = (levels: number): object => {
  let deep: object = {};
  for (let level = 0; level < levels; level += 1) deep = { deep };
  return deep;
};

class FileNotFoundError extends Error {}

/** What tools throw, made afresh each time. */
export const THROWN = {
  error: () => new Error('boom'),
  own_error: () => new FileNotFoundError("no file 'a.md'"),
  string: () => 'boom',
  empty_string: () => '',
  number: () => 42,
  bigint: () => 7n,
  boolean: () => false,
  symbol: () => Symbol('boom'),
  null: () => null,
  undefined: () => undefined,
  function: () => () => 1,
  frozen_object: () => Object.freeze({ reason: 'frozen' }),
  frozen_error: () => Object.freeze(new Error('frozen')),
  bare_object: () => Object.create(null),
  array: () => ['boom'],
  empty_message: () => new Error(''),
  blank_message: () => new Error(' \n '),
  odd_message: () => Object.assign(new Error('boom'), { message: 42 }),
  odd_name: () => Object.assign(new Error('boom'), { name: 'Evil\n{"level":60}' }),
  long_message: () => new Error('x'.repeat(5_000_000)),
  throwing_message: () => withThrowingGetter(new Error('boom'), 'message'),
  throwing_name: () => withThrowingGetter(new Error('boom'), 'name'),
  circular: toCircular,
  circular_cause: () => {
    const error = new Error('boom');
    return Object.assign(error, { cause: error });
  },
  promise: () => Promise.resolve('boom'),
  own_timeout: () => new DOMException('the upstream was slow', 'TimeoutError'),
  revoked_proxy: toRevokedProxy,
  trap: toTrap,
  stack_in_message: () => new Error(String(new Error('boom').stack)),
  stack_in_json: () => new Error(JSON.stringify({ stack: new Error('boom').stack })),
  stack_in_hint: () => Object.assign(new Error('boom'), { hint: String(new Error('Try x.').stack) }),
  stack_as_string: () => String(new Error('boom').stack),
  password_at_the_cut: () => new Error(`${'x'.repeat(1970)} https://bob:hunter2hunter2hunter2@db.example.com/`),
} as const satisfies Record<string, () => unknown>;

/** What tools return, made afresh each time. */
export const RETURNED = {
  revoked_proxy: toRevokedProxy,
  trap: toTrap,
  undefined: () => undefined,
  not_a_number: () => Number.NaN,
  error_text: () => 'Error: no such row',
  error_object: () => ({ error: 'no such row' }),
  date: () => new Date(0),
  bigint: () => 1n,
  nested_bigint: () => ({ rows: [1n] }),
  told_bigint: () => ok(1n, 'One.'),
  // As a tool in JavaScript may call them.
  ok_of_nothing: () => Reflect.apply(ok, null, []),
  ok_without_text: () => Reflect.apply(ok, null, [{ count: 2 }]),
  ok_with_a_number: () => Reflect.apply(ok, null, [{ count: 2 }, 42]),
  empty_without_text: () => Reflect.apply(empty, null, []),
  empty_with_null: () => Reflect.apply(empty, null, [null, []]),
  circular: toCircular,
  deep: () => toDeep(100_000),
  function: () => () => 1,
  symbol: () => Symbol('s'),
  json_of_nothing: () => ({ toJSON: () => undefined }),
  throwing_json: () => ({ toJSON: () => fail('toJSON') }),
  json_throwing_a_revoked_proxy: () => ({ toJSON: () => throwIt(toRevokedProxy()) }),
  json_throwing_a_trap: () => ({ toJSON: () => throwIt(toTrap()) }),
  json_throwing_an_odd_error: () => ({ toJSON: () => throwIt(Object.assign(new Error(''), { message: 42 })) }),
  json_throwing_an_unreadable_error: () => ({ toJSON: () => throwIt(withThrowingGetter(new Error(''), 'message')) }),
  throwing_getter: () => withThrowingGetter({}, 'a'),
  nested_revoked_proxy: () => ({ inner: toRevokedProxy() }),
  nested_trap: () => ({ inner: toTrap() }),
  two_megabytes: () => 'x'.repeat(2_000_000),
  two_megabytes_of_rows: () => Array.from({ length: 200_000 }, (_, row) => `row ${row}`),
  // Three bytes each in UTF-8, and the two quotation marks: 1 048 574 bytes of 1 048 576, and 1 048 577.
  euros_at_the_cap: () => '€'.repeat(349_524),
  euros_over_the_cap: () => '€'.repeat(349_525),
  six_hundred_megabytes: () => '€'.repeat(200_000_000),
} as const satisfies Record<string, () => unknown>;

const throwIt = (thrown: unknown): never => {
  throw thrown;
};

const Moment = z.object({ later: z.boolean().default(false) });

/** `make` at once or in a later turn, as the call wants it. */
const run = (act: () => unknown, later: boolean): unknown => (later ? Promise.resolve().then(act) : act());

/** `throws_…` and `returns_…` for everything above, each also as a write tool: `throws_…_write`. */
export const createMisbehavingTools = (): readonly Tool[] => {
  const acts = [
    ...Object.entries(THROWN).map(([name, make]) => [`throws_${name}`, () => throwIt(make())] as const),
    ...Object.entries(RETURNED).map(([name, make]) => [`returns_${name}`, make] as const),
  ];
  return acts.flatMap(([name, act]) =>
    (['read', 'write'] as const).map((effects) =>
      defineTool({
        name: effects === 'read' ? name : `${name}_write`,
        description: 'Misbehaves.',
        effects,
        input: Moment,
        run: ({ later }) => run(act, later),
      }),
    ),
  );
};

/** Tools whose schema misbehaves, or whose handler never ends. */
export const createStuckTools = (): readonly Tool[] => {
  const forever = new Promise<never>(() => undefined);
  const stuck = (name: string, effects: 'read' | 'write'): Tool =>
    defineTool({ name, description: 'Never ends.', effects, timeoutMs: 100, input: z.object({}), run: () => forever });
  return [
    stuck('never_settles', 'read'),
    stuck('never_settles_write', 'write'),
    defineTool({
      name: 'rejects_when_aborted',
      description: 'Ends when it is told to.',
      effects: 'read',
      timeoutMs: 100,
      input: z.object({}),
      run: (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    }),
    defineTool({
      name: 'refine_throws',
      description: 'Has a schema that throws.',
      effects: 'read',
      input: z.looseObject({}).refine(() => fail('the rate table is not loaded')),
      run: () => 'ran',
    }),
    defineTool({
      name: 'transform_throws',
      description: 'Has a schema that throws a stack.',
      effects: 'read',
      input: z.looseObject({}).transform(() => fail(String(new Error('boom').stack))),
      run: () => 'ran',
    }),
    defineTool({
      name: 'refine_hangs',
      description: 'Has a schema that hangs.',
      effects: 'read',
      timeoutMs: 100,
      input: z.looseObject({}).refine(() => forever),
      run: () => 'ran',
    }),
  ];
};

type Rest = Partial<Omit<ToolDefinition<z.ZodType>, 'name' | 'run'>>;

/** A read tool that takes anything and runs this; `rest` overrules. */
export const toolThat = (name: string, run: (input: unknown) => unknown, rest: Rest = {}): Tool =>
  defineTool({ description: 'Made for one test.', effects: 'read', input: z.looseObject({}), ...rest, name, run });

/** The same for a tool that throws what `make` gives. */
export const toolThatThrows = (name: string, make: () => unknown, rest: Rest = {}): Tool =>
  toolThat(name, () => throwIt(make()), rest);
