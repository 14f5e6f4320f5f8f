import { defineExtension } from 'recourse-server/extension';

/** The tools on the files of the workspace. */
export const extension = defineExtension({
  name: 'files',
  settings: {},
  serviceSettings: ['WORKSPACE_DIR'],
  open: async (_settings, host) => (await import('./file-tools.ts')).createFileTools(host),
});
