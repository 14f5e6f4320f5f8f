import { defineTool, z } from 'recourse-server';

/** Never ends, and listens to nobody: only the end of its process stops it. */
export const spinIsolated = defineTool({
  name: 'spin_isolated',
  description: 'Loops for ever.',
  effects: 'read',
  input: z.object({}),
  run: () => {
    for (;;);
  },
});
