import { defineTool, z } from 'recourse-server';

export const spin = defineTool({
  name: 'spin',
  description: 'Blocks its process.',
  effects: 'read',
  input: z.object({}),
  timeoutMs: 300,
  run: () => {
    for (;;);
  },
});
