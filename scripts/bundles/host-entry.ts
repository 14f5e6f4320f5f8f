import { registerHooks } from 'node:module';
import '@recourse/tool-hosts/inside/host-main';

// What the bundle of a tool host begins with. It also is what tool files import as `recourse-server`: a second copy of that module
// would not know the tools that the first one made.
// biome-ignore lint/performance/noBarrelFile: the bundle stands for the public entry.
// biome-ignore lint/performance/noReExportAll: all that it exports, whatever that is.
export * from '../../src/recourse.ts';

/** Replaced in the bundle by the URL that the module has beside it. */
declare const RECOURSE_URL: string;

const source = `export * from ${JSON.stringify(import.meta.url)};`;

registerHooks({
  load: (url, context, next) =>
    url === RECOURSE_URL ? { format: 'module', source, shortCircuit: true } : next(url, context),
});
