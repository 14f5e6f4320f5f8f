import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire, stripTypeScriptTypes } from 'node:module';
import { basename, extname, join } from 'node:path';
import type { RouteHost } from 'recourse-server/extension';

/** A file of the console as it is sent: `type` is the whole content type, `etag` stands in its quotes. */
export type ConsoleFile = { readonly type: string; readonly body: string; readonly etag: string };
/** Makes a file when it is first asked for, and gives that one from then on. */
type MakeConsoleFile = () => ConsoleFile;
/** By name, without a folder; the page itself is `page.html`. */
type ConsoleFiles = ReadonlyMap<string, MakeConsoleFile>;

const { resolve } = createRequire(import.meta.url);
// Modules of the browser: sources, or what the build makes of them.
const DIRECTORY = join(import.meta.dirname, 'page');

const CONTENT_TYPES: ReadonlyMap<string, string> = new Map([
  ['.html', 'text/html; charset=utf-8'],
  ['.css', 'text/css; charset=utf-8'],
  ['.js', 'text/javascript; charset=utf-8'],
]);

/**
 * The files of the console, read once: built ones as they are, sources with their types stripped and their imports
 * renamed, as the build would do it. Throws where one cannot be read. A source is stripped when it is first asked for:
 * Node's compiler for that takes 18 MB, which a service whose console is not opened does not spend.
 */
export const loadConsoleFiles = (pages: RouteHost['consolePages'] = new Map()): ConsoleFiles => {
  const own = readdirSync(DIRECTORY).map((name) => toEntry(name, read(join(DIRECTORY, name))));
  // The browser's build, which lies beside the one for Node.
  const lit = join(resolve('lit-html'), '../../lit-html.js');
  const added = [...pages].map(([name, { script }]) => toEntry(`page-${name}.js`, script));
  return new Map([
    ...own,
    ...added,
    toPageList(pages),
    toEntry('lit-html.js', read(lit).replace(/^\/\/# sourceMappingURL=.*$/m, '')),
  ]);
};

// In place of the file that names none.
const toPageList = (pages: RouteHost['consolePages']): readonly [string, MakeConsoleFile] => {
  const list = [...pages].map(([name, { title }]) => ({ name, title }));
  return toEntry('extension-pages.js', `export const EXTENSION_PAGES = ${JSON.stringify(list)};\n`);
};

const read = (path: string): string => readFileSync(path, 'utf8');

const toEntry = (name: string, text: string): readonly [string, MakeConsoleFile] => {
  const sent = name.endsWith('.ts') ? `${basename(name, '.ts')}.js` : name;
  const type = CONTENT_TYPES.get(extname(sent));
  if (type === undefined) throw new Error(`The console has a file of an unknown kind: ${name}.`);
  let made: ConsoleFile | null = null;
  return [sent, () => (made ??= toFile(type, toBody(name, text)))];
};

const toFile = (type: string, body: string): ConsoleFile => ({
  type,
  body,
  etag: `"${hash('sha256', body, 'base64url')}"`,
});

const toBody = (name: string, text: string): string => {
  if (name.endsWith('.ts')) return withNames(silently(() => stripTypeScriptTypes(text)));
  return name.endsWith('.js') ? withNames(text) : text;
};

// A browser knows neither packages nor TypeScript.
const withNames = (script: string): string =>
  script.replace(/(\bfrom ')lit-html'/g, "$1./lit-html.js'").replace(/(\bfrom '\.\/[a-z-]+)\.ts'/g, "$1.js'");

// Node strips the types of whatever it runs without a word, and warns on stderr where it is asked to: until the function
// is stable (it is a release candidate in Node 26), the warning is kept from the log. Built files need none of it.
const silently = <Value>(act: () => Value): Value => {
  const { emitWarning } = process;
  process.emitWarning = () => undefined;
  try {
    return act();
  } finally {
    process.emitWarning = emitWarning;
  }
};
