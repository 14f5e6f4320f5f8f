// The tools that the scenarios of tasks ask for, as far as a tool of Recourse can be them: none asks its caller for anything.
import { setTimeout as wait } from 'node:timers/promises';
import { defineTool, TerminalToolError, z } from 'recourse-server';

export const greet = defineTool({
  name: 'greet',
  description: 'Says hello.',
  effects: 'read',
  input: z.object({ name: z.string() }),
  run: ({ name }) => `Hello, ${name}!`,
});

export const slow = defineTool({
  name: 'slow_compute',
  description: 'Takes so many seconds.',
  effects: 'read',
  background: 'optional',
  input: z.object({ seconds: z.number(), label: z.string().optional() }),
  run: async ({ seconds }, { signal }) => {
    await wait(seconds * 1000, undefined, { signal });
    return `Computed for ${seconds} s.`;
  },
});

export const failing = defineTool({
  name: 'failing_job',
  description: 'Fails after a while.',
  effects: 'read',
  background: 'always',
  input: z.object({}),
  run: async () => {
    await wait(100);
    throw new TerminalToolError('The job failed.');
  },
});

export const others = ['protocol_error_job', 'confirm_delete', 'multi_input', 'test_tool_with_task'].map((name) =>
  defineTool({
    name,
    description: 'Ends at once.',
    effects: 'read',
    background: 'optional',
    input: { type: 'object', additionalProperties: true },
    run: () => 'Done.',
  }),
);
