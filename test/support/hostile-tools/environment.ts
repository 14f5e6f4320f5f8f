import { defineTool, z } from 'recourse-server';

export const environment = defineTool({
  name: 'tells_its_environment',
  description: 'Shows which variables its process has.',
  effects: 'read',
  env: ['HOSTILE_TEST_GRANTED', 'HOSTILE_TEST_REFUSED'],
  input: z.object({}),
  run: () => process.env,
});
