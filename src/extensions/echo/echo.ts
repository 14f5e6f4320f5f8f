import { defineExtension } from '../extension.ts';

/** `echo`, the smallest extension. */
export const extension = defineExtension({
  name: 'echo',
  settings: {},
  open: async () => ({ tools: [(await import('./echo-tool.ts')).echoTool] }),
});
