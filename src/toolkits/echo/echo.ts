import { defineToolkit } from '@recourse/toolkit-kit/toolkit';

/** `echo`, the smallest toolkit. */
export const echo = defineToolkit({
  name: 'echo',
  groups: {},
  settings: {},
  purposes: {},
  create: async () => ({ tools: [(await import('./echo-tool.ts')).echoTool], close: async () => undefined }),
});
