import { defineToolkit } from '@recourse/toolkit-kit/toolkit';

/** The tools on the files of the workspace. */
export const files = defineToolkit({
  name: 'files',
  groups: {},
  settings: {},
  purposes: {},
  serviceSettings: ['WORKSPACE_DIR'],
  create: async (_settings, host) => (await import('./file-tools.ts')).createFileTools(host),
});
