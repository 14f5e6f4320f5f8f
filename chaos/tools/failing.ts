import { defineTool, RetryableToolError, TerminalToolError, z } from 'recourse-server';

const THROWN = {
  error: () => new Error('it broke'),
  retryable: () => new RetryableToolError('Ask differently.', { hint: 'With another word.' }),
  terminal: () => new TerminalToolError('There is no such thing.'),
  text: () => 'a text',
  nothing: () => null,
} as const;

export const fail = defineTool({
  name: 'fail',
  description: 'Throws.',
  effects: 'read',
  input: z.object({ how: z.enum(['error', 'retryable', 'terminal', 'text', 'nothing']) }),
  run: ({ how }) => {
    throw THROWN[how]();
  },
});
