import { defineTool, z } from 'recourse-server';

export const hang = defineTool({
  name: 'hang',
  description: 'Never answers and is deaf to its signal.',
  effects: 'read',
  input: z.object({}),
  timeoutMs: 500,
  run: () => new Promise(() => undefined),
});
