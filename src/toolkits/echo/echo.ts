import { defineToolkit } from '../../toolkit-api/toolkit.ts';

/** `echo`, the smallest toolkit. */
export const echo = defineToolkit({
  name: 'echo',
  groups: {},
  settings: {},
  purposes: {},
  create: async () => ({ tools: [(await import('./echo-tool.ts')).echoTool], close: async () => undefined }),
});
