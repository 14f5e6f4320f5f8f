import fc from 'fast-check';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';
import type { Tool } from '#src/tools/tool.ts';
import { RetryableToolError, TerminalToolError, UpstreamToolError } from '#src/tools/tool-errors.ts';
import { empty, ok } from '#src/tools/tool-values.ts';

const revoked = (): unknown => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};

const circular = (): unknown => {
  const loop: Record<string, unknown> = {};
  loop['self'] = loop;
  return loop;
};

const hostileGetter = (): unknown =>
  Object.defineProperty({}, 'message', {
    enumerable: true,
    get: () => {
      throw new Error('getter');
    },
  });

const oddValues: readonly (() => unknown)[] = [
  () => 10n,
  () => ({ big: 1n }),
  circular,
  revoked,
  hostileGetter,
  () => Symbol('s'),
  () => () => 1,
  () => Number.NaN,
  () => 'x'.repeat(5000),
  () => ({
    toJSON: () => {
      throw new Error('toJSON');
    },
  }),
  () => Object.create(null),
  () => new Date(Number.NaN),
  () => empty('No files found.', { count: 0 }),
  () => ok({ a: 1 }, 'one'),
  () => ok(1n, 'one'),
  () =>
    new Proxy(
      {},
      {
        has: () => {
          throw new Error('has');
        },
      },
    ),
];

/** A value as a handler might return or throw it, fresh at every use. */
const anyThing: fc.Arbitrary<() => unknown> = fc.oneof(
  fc.constant(() => 'x'.repeat(5000)),
  fc.constantFrom<() => unknown>(
    () => new UpstreamToolError('upstream_unavailable', 'Gone.', { executed: 'maybe' }),
    () => new UpstreamToolError('upstream_rate_limited', 'Slow down.', { executed: 'no', retryAfterMs: 1000 }),
    () => new TerminalToolError('Never.'),
    () => new RetryableToolError('Do it otherwise.', { hint: 'So.', value: { page: 1 } }),
  ),
  fc.constantFrom(...oddValues),
  fc
    .anything({ withBigInt: true, withSparseArray: true, withNullPrototype: true, maxDepth: 2 })
    .map((value) => () => value),
  fc.string().map((text) => () => new Error(text)),
  fc.constantFrom<() => unknown>(
    () => new RetryableToolError('', { value: 1n }),
    () => new DOMException('late', 'TimeoutError'),
    () => Object.freeze(new Error('frozen')),
  ),
);

const throwIt = (make: () => unknown): never => {
  throw make();
};

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

type Then = (resolve: (value: unknown) => void, reject: (error: unknown) => void) => void;
const thenable = (then: Then): unknown => Object.fromEntries([['then', then]]);

/** Every way a handler may end, or not. */
const anyRun: fc.Arbitrary<(input: unknown) => unknown> = fc.oneof(
  anyThing.map((make) => () => make()),
  anyThing.map((make) => () => throwIt(make)),
  anyThing.map((make) => async () => make()),
  anyThing.map((make) => async () => throwIt(make)),
  anyThing.map((make) => async () => {
    await pause(1);
    return throwIt(make);
  }),
  fc.constantFrom<() => unknown>(
    () => new Promise(() => undefined),
    () => pause(40).then(() => throwIt(() => new Error('late'))),
    () => thenable(() => throwIt(() => new Error('then'))),
    () =>
      thenable((resolve, reject) => {
        resolve(1);
        reject(2);
        resolve(3);
      }),
    () => Object.defineProperty({}, 'then', { get: () => throwIt(() => new Error('get then')) }),
  ),
);

const anyInput = fc.constantFrom<z.ZodType>(
  // Mostly schemas that let a call through: what its handler then does is what is tried.
  z.looseObject({}),
  z.looseObject({}),
  z.looseObject({}),
  z.looseObject({}),
  z.object({}),
  z.looseObject({ x: z.number().optional() }),
  z.object({ x: z.number() }),
  z.looseObject({}).refine(() => throwIt(() => new Error('refine'))),
  z.looseObject({}).refine(async () => true),
  z.looseObject({}).refine(() => new Promise<boolean>(() => undefined)),
);

const anyOutput = fc.constantFrom<z.ZodType | undefined>(
  undefined,
  undefined,
  z.unknown(),
  z.object({ a: z.number() }),
  z.string(),
  z.unknown().refine(async () => throwIt(() => new Error('output refine'))),
);

/** Up to five tools of every kind, with limits so short that hanging ones end at once. */
export const anyTools: fc.Arbitrary<readonly Tool[]> = fc
  .array(
    fc.record({
      effects: fc.constantFrom('read', 'idempotent', 'write'),
      run: anyRun,
      input: anyInput,
      output: anyOutput,
      retries: fc.nat(2),
      sequential: fc.boolean(),
      gracefulErrors: fc.boolean(),
      concurrency: fc.constantFrom(undefined, undefined, 1, 2),
      extractError: fc.constantFrom(
        undefined,
        undefined,
        (value: unknown) => (value === 'x' ? 'bad' : undefined),
        () => throwIt(() => 1),
      ),
    }),
    { minLength: 1, maxLength: 5 },
  )
  .map((specs) =>
    specs.map(({ output, concurrency, extractError, ...spec }, index) =>
      defineTool({
        ...spec,
        ...(output === undefined ? {} : { output }),
        ...(concurrency === undefined ? {} : { concurrency }),
        ...(extractError === undefined ? {} : { extractError }),
        name: `tool_${index}`,
        description: 'Generated.',
        timeoutMs: 15,
      }),
    ),
  );

const anyName = fc.oneof(
  { weight: 8, arbitrary: fc.nat(4).map((index) => `tool_${index}`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('__proto__', 'constructor', '', ' ', 'tool_0 ', 'Tool_1', 'functions.tool_0'),
  },
  { weight: 1, arbitrary: fc.string() },
);

const anyArguments = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<unknown>({}, undefined, null, '', '{}', { x: 1 }, '{"x":1}', { x: '1' }) },
  { weight: 2, arbitrary: fc.jsonValue() },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>(
      '{"x":',
      '[1]',
      '{"__proto__":{}}',
      '{"x":1e999}',
      '['.repeat(5000),
      '{"x":12345678901234567890}',
    ),
  },
);

/** An entry of `calls`: mostly a call, sometimes anything JSON can say. */
export const anyEntry: fc.Arbitrary<unknown> = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record(
      {
        id: fc.oneof(fc.constantFrom<unknown>('call_0', '', null, 7), fc.string()),
        name: anyName,
        arguments: anyArguments,
        timeout_ms: fc.constantFrom<unknown>(undefined, null, 5, 10_000, 0, -1, '5'),
      },
      { requiredKeys: ['name'] },
    ),
  },
  { weight: 1, arbitrary: fc.jsonValue() },
);

export type AnyBatch = {
  readonly calls: readonly unknown[];
  readonly order: 'parallel' | 'sequential';
  readonly onError: 'continue' | 'stop';
  readonly session: string | null;
  readonly roundId: string | null;
  readonly deadlineMs: number;
  readonly clientGoneAfterMs: number | null;
};

export const anyBatch: fc.Arbitrary<AnyBatch> = fc.record({
  calls: fc.array(anyEntry, { maxLength: 12 }),
  order: fc.constantFrom('parallel', 'parallel', 'sequential'),
  onError: fc.constantFrom('continue', 'stop'),
  session: fc.constantFrom(null, 'one', 'two'),
  roundId: fc.constantFrom(null, null, 'r1', 'r2'),
  deadlineMs: fc.constantFrom(1, 8, 1000),
  clientGoneAfterMs: fc.constantFrom(null, null, null, 0, 4),
});
