import { defineExtension, flag } from 'recourse-server/extension';

/** The pages at `/console`. */
export const extension = defineExtension({
  name: 'console',
  settings: { CONSOLE: flag(true).describe('Serve the console at `/console`.') },
  open: async ({ CONSOLE }) => {
    if (!CONSOLE) return null;
    const { addConsoleRoutes } = await import('./console-routes.ts');
    return {
      addRoutes: (app, { consolePages }) => addConsoleRoutes(app, consolePages),
      links: { console: '/console' },
    };
  },
});
