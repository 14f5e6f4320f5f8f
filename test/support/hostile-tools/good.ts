import { defineTool, z } from 'recourse-server';

export const good = defineTool({
  name: 'isolated_good',
  description: 'A tool that does what it should.',
  effects: 'read',
  input: z.object({ place: z.int() }),
  run: ({ place }) => ({ place }),
});
