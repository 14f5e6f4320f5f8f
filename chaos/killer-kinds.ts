import type { CallKind, CallPlan } from './call-kinds.ts';

// The last one: another call ended the process first.
const DIED = ['tool_crashed', 'out_of_memory', 'interrupted'] as const;

const fixed = (tool: string, weight: number, plan: Omit<CallPlan, 'name'>): CallKind => ({
  tool,
  weight,
  plan: () => ({ name: tool, ...plan }),
});

const WRITTEN_ENDS = [
  ['exit', ['tool_crashed']],
  ['abort', ['tool_crashed']],
  ['hang', ['timeout']],
  ['throw', ['tool_exception']],
  ['give_up', ['tool_failed']],
  // What a write tool has done stays done: a success with a warning.
  ['big', ['ok']],
  ['not_json', ['ok']],
  ['refuse', ['retry_requested']],
] as const;

// The last two digits of its `sleep` tell how a process that is left was started, and whether its call was answered.
export const NAMELESS_MARK = 4;
const WAYS_TO_LEAVE = [
  ['attached', 1],
  ['detached', 2],
  ['setsid', 3],
  ['nameless', NAMELESS_MARK],
] as const;

/**
 * Calls that cost a process its life, or much of the machine; so they are sent by the second and not by the batch.
 * `seconds` marks the processes that a run leaves behind.
 */
export const toKillerKinds = (seconds: string): readonly CallKind[] => [
  fixed('hang', 3, { arguments: {}, codes: ['timeout'] }),
  fixed('spin', 3, { arguments: {}, codes: ['timeout'] }),
  {
    tool: 'crash',
    weight: 4,
    plan: (random) => ({
      name: 'crash',
      arguments: { how: random.pick(['exit', 'abort', 'segfault']) },
      codes: ['tool_crashed', 'interrupted'],
    }),
  },
  {
    tool: 'crash_later',
    weight: 3,
    plan: (random) => ({
      name: 'crash_later',
      arguments: { ms: random.whole(0, 50) },
      // It may die before its answer has left the process.
      codes: ['ok', 'tool_crashed', 'interrupted'],
    }),
  },
  {
    tool: 'flood',
    weight: 2,
    plan: (random) => ({
      name: 'flood',
      arguments: { where: random.pick(['stdout', 'stderr', 'channel', 'messages']) },
      // How much is too much is the service's to say; that a flood changes nothing else is what is watched.
      codes: ['ok', 'timeout', 'output_too_large', 'invalid_output', ...DIED],
    }),
  },
  {
    tool: 'hog',
    weight: 1,
    plan: (random) => ({
      name: 'hog',
      arguments: { what: random.pick(['heap', 'buffers']) },
      codes: ['timeout', ...DIED],
    }),
  },
  {
    tool: 'huge',
    weight: 2,
    plan: (random) => ({
      name: 'huge',
      arguments: { mb: random.pick([2, 2, 20, 600]) },
      codes: ['output_too_large', 'tool_exception', 'timeout', ...DIED],
    }),
  },
  {
    tool: 'leave',
    weight: 3,
    plan: (random) => {
      const end = random.pick(['answer', 'hang']);
      const [how, mark] = random.pick(WAYS_TO_LEAVE);
      return {
        name: 'leave',
        arguments: { how, seconds: `${seconds}${mark}${end === 'hang' ? 1 : 2}`, end },
        codes: [end === 'hang' ? 'timeout' : 'ok'],
      };
    },
  },
  {
    tool: 'append_and_fail',
    weight: 6,
    plan: (random, id) => {
      const [how, codes] = random.pick(WRITTEN_ENDS);
      // Another of its calls may end the process that both run in; a write does not run a second time.
      return {
        name: 'append_and_fail',
        arguments: { id, how },
        codes: [...codes, 'tool_crashed', 'interrupted'],
        line: id,
      };
    },
  },
];
