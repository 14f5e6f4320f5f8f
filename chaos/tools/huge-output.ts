import { defineTool, z } from 'recourse-server';

export const huge = defineTool({
  name: 'huge',
  description: 'Answers with more than a result may hold.',
  effects: 'read',
  input: z.object({ mb: z.int().min(2).max(600) }),
  timeoutMs: 5000,
  // 600 MB are more than a text can hold: that throws, which is as good a failure.
  run: ({ mb }) => 'x'.repeat(mb * 1_000_000),
});
