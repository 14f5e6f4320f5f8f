import { setTimeout as pause } from 'node:timers/promises';
import {
  defineTool,
  RetryableToolError,
  TerminalToolError,
  type ToolDefinition,
  UpstreamToolError,
  z,
} from 'recourse-server';

// The tools of a team that does everything wrong once: what makes a service count all that it can count.

type Rest = Partial<Omit<ToolDefinition<z.ZodType>, 'name' | 'run' | 'input'>>;

const tool = (name: string, run: () => unknown, rest: Rest = {}) =>
  defineTool({
    description: 'Made for the mixed load.',
    effects: 'read',
    ...rest,
    name,
    input: z.looseObject({}),
    run,
  });

const fail = (error: unknown): never => {
  throw error;
};

const block = (ms: number): void => {
  const until = performance.now() + ms;
  while (performance.now() < until);
};

/** What happens in a process of its own. */
export const hosted = [
  tool('works', () => 'well'),
  tool('waits_hosted', () => pause(150, 'waited')),
  tool('fails', () => fail(new Error('it broke'))),
  tool('wants_more', () => fail(new RetryableToolError('Say which.'))),
  tool('wants_else', () => fail(new RetryableToolError('Say what.'))),
  tool('gives_up', () => fail(new TerminalToolError('There is none.'))),
  tool('loses_its_upstream', () =>
    fail(new UpstreamToolError('upstream_unavailable', 'The upstream hung up.', { executed: 'maybe' })),
  ),
  tool('is_limited', () => fail(new UpstreamToolError('upstream_rate_limited', 'Too many.', { executed: 'no' }))),
  tool('is_fatal', () => fail(new Error('nobody may go on')), { gracefulErrors: false }),
  tool('answers_no_json', () => 10n),
  tool('answers_too_much', () => 'x'.repeat(100_000)),
  tool('keeps_breaking', () => fail(new Error('again'))),
  tool('hangs', () => new Promise(() => setInterval(() => undefined, 1000)), { timeoutMs: 200 }),
  tool('exits', () => process.exit(3)),
  tool('aborts', () => process.abort()),
  tool('dies_writing', () => process.abort(), { effects: 'write' }),
  tool('hogs', () => {
    const kept: unknown[] = [];
    for (;;) kept.push({ kept: kept.length, text: `text ${kept.length}` });
  }),
  tool('throws_late', () => {
    setTimeout(() => fail(new Error('thrown after the answer')), 10);
    return 'answered';
  }),
  tool('leaks', () => fail(new Error(`no access with ${process.env['MIXED_LOAD_TOKEN']}`)), {
    env: ['MIXED_LOAD_TOKEN'],
  }),
  tool('writes_slowly', () => pause(300, 'written'), { effects: 'write' }),
];

/** What happens inside the service. */
export const inline = [
  tool('waits', () => pause(200, 'waited'), { isolation: 'inline' }),
  tool('dawdles', () => pause(200, 'at last'), { isolation: 'inline', timeoutMs: 50 }),
  tool('blocks', () => block(400), { isolation: 'inline', timeoutMs: 50 }),
];
