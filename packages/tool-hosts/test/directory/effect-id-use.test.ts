import { openLab } from '@recourse/test-support/isolation-lab.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { checkDirectory } from '#src/directory/check-directory.ts';

const HEAD = "import { defineTool, didNotHappen, happened, z } from 'recourse-server';\n";
const LOOK = 'reconcile: ({ effectId }) => (effectId === "" ? didNotHappen() : happened(1)),';

const toTool = (name: string, run: string, look = LOOK): string =>
  `export const ${name} = defineTool({
  name: '${name}',
  description: '',
  effects: 'write',
  input: z.object({ amount: z.number().default(1) }),
  ${look}
  ${run}
});
`;

const check = async (files: Readonly<Record<string, string>>) => {
  const { root, write } = makeDirectory();
  for (const [name, text] of Object.entries(files)) write(name, text);
  return checkDirectory(root, {
    hosts: openLab().isolation.hosts,
    taken: [],
    inline: { allowed: new Set(), load: async () => [] },
  });
};

// Each in a file of its own.
const UNSENT: Readonly<Record<string, string>> = {
  arguments_alone: 'run: ({ amount }) => amount,',
  one_name: 'run: async input => input.amount,',
  nothing: 'run: () => 1,',
  a_method: 'async run({ amount }: { amount: number }) { return amount; },',
  a_function: 'run: function pay({ amount }: { amount: number }, { signal }) { return signal.aborted ? 0 : amount; },',
  other_members: 'run: ({ amount }, { signal, log }) => { log.info("context"); return signal.aborted ? 0 : amount; },',
  by_name: 'run: ({ amount }, context) => { context.log.info("x"); return context?.signal.aborted ? 0 : amount; },',
  generator: 'run: async function* ({ amount }, { part }) { part(1); yield amount; return amount; },',
};

const SENT: Readonly<Record<string, string>> = {
  destructured: 'run: ({ amount }, { effectId }) => [amount, effectId],',
  renamed: 'run: ({ amount }, { signal, effectId: key }) => [amount, key, signal.aborted],',
  by_member: 'run: async ({ amount }, context) => [amount, context.effectId],',
  everything_else:
    'run: ({ amount }, { log, ...rest }) => [amount, Object.keys(rest)],\n  // effectId is among the rest\n',
  all_arguments: 'run: function () { return send(...arguments); },\n  // send uses effectId\n',
};

test('a tool with a reconcile whose run does not use the effect id is a mistake with its place, and serves', {
  timeout: timeLimit(30_000),
}, async () => {
  const named = Object.entries({ ...UNSENT, ...SENT });
  const files = named.map(([name, run]) => [`${name}.ts`, HEAD + toTool(name, run)] as const);
  const { tools, problems } = await check(Object.fromEntries(files));
  expect(problems.map(({ tool }) => tool).toSorted()).toEqual(Object.keys(UNSENT).toSorted());
  expect(tools).toEqual(named.map(([name]) => name).toSorted());
  expect(problems.find(({ tool }) => tool === 'other_members')).toMatchObject({
    level: 'mistake',
    file: 'other_members.ts',
    line: 8,
    column: 3,
    member: 'run',
    message:
      "Tool 'other_members' has a reconcile, but its run does not use effectId: a later look cannot find what was not sent upstream. Write `run: (input, { effectId }) => …` and send effectId as the idempotency key or the reference of the write.",
  });
});

test('of two tools of a file the one that does not send its effect id is named', async () => {
  const { problems } = await check({
    'two.ts':
      HEAD +
      toTool('sends', 'run: (_input, { effectId }) => effectId,') +
      toTool('forgets', 'run: (input) => input.amount,'),
  });
  expect(problems.map(({ tool, line }) => [tool, line])).toEqual([['forgets', 16]]);
});

const HANDS_ON = 'run: (input, context) => send(input, context),';

test('a run that hands its context on is asked about in the code that its file imports', async () => {
  const sends = 'export const send = (_input: unknown, { effectId }: { effectId: string }) => effectId;\n';
  const forgets = 'export const send = (_input: unknown, context: object) => Object.keys(context);\n';
  const look = '({ effectId }) => (effectId === "" ? didNotHappen() : happened(1))';
  const { tools, problems } = await check({
    'below/bank.ts': "export * from './lib/sends.ts';\n",
    'below/lib/sends.ts': sends,
    'below/forgets.ts': forgets,
    'below/member.ts': 'export const send = (_input: unknown, context: any) => context.effectId;\n',
    'same_file.ts': HEAD + sends + toTool('same_file', HANDS_ON),
    'other_file.ts': `${HEAD}import { send } from './below/bank.ts';\n${toTool('other_file', HANDS_ON)}`,
    'when_called.ts':
      HEAD + toTool('when_called', "run: async (...all) => (await import('./below/bank.ts')).send(...all),"),
    'nobody.ts': `${HEAD}import { send } from './below/forgets.ts';\n${toTool('nobody', HANDS_ON)}`,
    // The one function looks for both.
    'shared.ts':
      `${HEAD}import { send } from './below/member.ts';\nconst look = ${look};\n` +
      toTool('shared_one', HANDS_ON, 'reconcile: look,') +
      toTool('shared_two', HANDS_ON, 'reconcile: look,'),
    // What lies outside of the directory is not looked at.
    'package.ts': `${HEAD}import { EventEmitter as Bank } from 'events';\nconst send = (...all: unknown[]) => [all, Bank.name];\n${toTool('of_a_package', HANDS_ON)}`,
  });
  expect(tools).toHaveLength(7);
  expect(problems.map(({ tool }) => tool)).toEqual(['nobody']);
});

test('a tool without a reconcile needs no effect id', async () => {
  const { problems } = await check({ 'plain.ts': HEAD + toTool('plain', 'run: ({ amount }) => amount,', '') });
  expect(problems).toEqual([]);
});
