import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire, stripTypeScriptTypes } from 'node:module';
import { extname, join } from 'node:path';
import { FAILURE_POLICY } from 'recourse-server/contract/failure';
import type { RouteHost } from 'recourse-server/extension';

/** A file of the console as it is sent: `type` is the whole content type, `etag` stands in its quotes. */
type ConsoleFile = { readonly type: string; readonly body: string; readonly etag: string };

// Modules of the browser: sources, or what the build makes of them.
const DIRECTORY = join(import.meta.dirname, 'page');
// The browser's build, which lies beside the one for Node.
const LIT = join(createRequire(import.meta.url).resolve('lit-html'), '../../lit-html.js');

const CONTENT_TYPES: ReadonlyMap<string, string> = new Map([
  ['.html', 'text/html; charset=utf-8'],
  ['.css', 'text/css; charset=utf-8'],
  ['.js', 'text/javascript; charset=utf-8'],
]);

/**
 * The files of the console by name, without a folder; the page itself is `page.html`. They are read once: built ones as they
 * are, sources with their types stripped and their imports renamed, as the build would do it. Throws where one cannot be
 * read. A source is stripped when it is first asked for: Node's compiler for that takes 18 MB, which a service whose
 * console is not opened does not spend.
 */
export const loadConsoleFiles = (
  pages: RouteHost['consolePages'] = new Map(),
  traceUrl = '',
): ReadonlyMap<string, () => ConsoleFile> => {
  const list = [...pages].map(([name, { title }]) => ({ name, title }));
  const texts = new Map<string, string>(readdirSync(DIRECTORY).map((name) => [name, read(join(DIRECTORY, name))]));
  for (const [name, { script }] of pages) texts.set(`page-${name}.js`, script);
  // In place of the files that have none.
  const codes = Object.fromEntries(Object.entries(FAILURE_POLICY).map(([code, { when }]) => [code, when]));
  texts.set('service-facts.js', toModule({ CODES: codes, TRACE_URL: traceUrl }));
  texts.set('extension-pages.js', toModule({ EXTENSION_PAGES: list }));
  texts.set('lit-html.js', read(LIT).replace(/^\/\/# sourceMappingURL=.*$/m, ''));
  return new Map([...texts].map(([name, text]) => toEntry(name, text)));
};

const toModule = (constants: Readonly<Record<string, unknown>>): string =>
  Object.entries(constants)
    .map(([name, value]) => `export const ${name} = ${JSON.stringify(value)};\n`)
    .join('');

const read = (path: string): string => readFileSync(path, 'utf8');

const toEntry = (name: string, text: string): readonly [string, () => ConsoleFile] => {
  const isSource = name.endsWith('.ts');
  const sent = isSource ? name.replace(/\.ts$/, '.js') : name;
  const type = CONTENT_TYPES.get(extname(sent));
  if (type === undefined) throw new Error(`The console has a file of an unknown kind: ${name}.`);
  let made: ConsoleFile | null = null;
  return [sent, () => (made ??= createFile(type, withNames(isSource ? stripTypes(text) : text)))];
};

const createFile = (type: string, body: string): ConsoleFile => ({
  ...{ type, body },
  etag: `"${hash('sha256', body, 'base64url')}"`,
});

// A browser knows neither packages nor TypeScript.
const withNames = (script: string): string =>
  script
    .replace(/(\bfrom ')lit-html'/g, "$1./lit-html.js'")
    .replace(/((?:\bfrom |\bimport\()'\.\/[a-z-]+)\.ts'/g, "$1.js'");

// Node strips the types of whatever it runs without a word, and warns on stderr where it is asked to: until the function
// is stable (it is a release candidate in Node 26), the warning is kept from the log. Built files need none of it.
const stripTypes = (text: string): string => {
  const { emitWarning } = process;
  process.emitWarning = () => undefined;
  try {
    return stripTypeScriptTypes(text);
  } finally {
    process.emitWarning = emitWarning;
  }
};
