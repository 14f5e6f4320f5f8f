import { registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';

// Writes the client that @hey-api/openapi-ts makes: `node run-openapi-ts.ts DOCUMENT FOLDER`.

// It writes with the compiler's API, which TypeScript 7 does not have; the client's TypeScript 5.9 has it. Until it runs
// with 7.
const client = pathToFileURL(`${import.meta.dirname}/../../../clients/typescript/`).href;
registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier, specifier === 'typescript' ? { ...context, parentURL: client } : context),
});

const [, , input = '', output = ''] = process.argv;
const { createClient } = await import('@hey-api/openapi-ts');
await createClient({ input, output: { path: output, module: { extension: '.js' } }, logs: { level: 'error' } });
