import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire, stripTypeScriptTypes } from 'node:module';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { FAILURE_POLICY } from 'recourse-server/contract/failure';
import type { RouteHost } from 'recourse-server/extension';
import { readTokens } from 'recourse-server/routes/pages';

/** A file of the console as it is sent: `type` is the whole content type; `packed`: by gzip. */
type ConsoleFile = { readonly type: string; readonly body: string; readonly plain: Sent; readonly packed: Sent };
/** `etag` stands in its quotes. */
type Sent = { readonly bytes: string | Buffer; readonly etag: string };
type Entry = readonly [string, () => ConsoleFile];
type Files = ReadonlyMap<string, () => ConsoleFile>;

// Modules of the browser: sources, or what the build makes of them.
const DIRECTORY = join(import.meta.dirname, 'page');
// The browser's build, which lies beside the one for Node.
const LIT = join(createRequire(import.meta.url).resolve('lit-html'), '../../lit-html.js');

// In the order in which they overrule each other.
const STYLES = ['theme.css', 'layout.css', 'lists.css'];

// Where the page finds the document of the API: taken out of a page whose service has none.
const DOCS_LINK = /^ *<link rel="service-doc".*\n/m;

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
  hasDocs: () => boolean = () => true,
): Files => {
  const list = [...pages].map(([name, { title }]) => ({ name, title }));
  const texts = new Map<string, string>(readdirSync(DIRECTORY).map((name) => [name, read(join(DIRECTORY, name))]));
  for (const [name, { script }] of pages) texts.set(`page-${name}.js`, script);
  // In place of the files that have none.
  const codes = Object.fromEntries(Object.entries(FAILURE_POLICY).map(([code, { when }]) => [code, when]));
  texts.set('service-facts.js', toModule({ CODES: codes, TRACE_URL: traceUrl }));
  texts.set('extension-pages.js', toModule({ EXTENSION_PAGES: list }));
  // One request for all of them.
  texts.set('style.css', [readTokens(), ...STYLES.map((name) => texts.get(name) ?? '')].join('\n'));
  for (const name of STYLES) texts.delete(name);
  texts.set('lit-html.js', read(LIT).replace(/^\/\/# sourceMappingURL=.*$/m, ''));
  const files: Files = new Map([...texts].map(([name, text]) => toEntry(name, text, () => files, hasDocs)));
  return files;
};

const toModule = (constants: Readonly<Record<string, unknown>>): string =>
  Object.entries(constants)
    .map(([name, value]) => `export const ${name} = ${JSON.stringify(value)};\n`)
    .join('');

const read = (path: string): string => readFileSync(path, 'utf8');

const toEntry = (name: string, text: string, files: () => Files, hasDocs: () => boolean): Entry => {
  const isSource = name.endsWith('.ts');
  const sent = isSource ? name.replace(/\.ts$/, '.js') : name;
  const type = CONTENT_TYPES.get(extname(sent));
  if (type === undefined) throw new Error(`The console has a file of an unknown kind: ${name}.`);
  const make = (): string => {
    if (name === 'page.html') return withPreloads(hasDocs() ? text : text.replace(DOCS_LINK, ''), files());
    return withNames(isSource ? stripTypes(text) : text);
  };
  let made: ConsoleFile | null = null;
  return [sent, () => (made ??= createFile(type, make()))];
};

const createFile = (type: string, body: string): ConsoleFile => ({
  ...{ type, body },
  plain: toSent(body),
  packed: toSent(gzipSync(body, { level: 9 })),
});

const toSent = (bytes: string | Buffer): Sent => ({ bytes, etag: `"${hash('sha256', bytes, 'base64url')}"` });

// All that the first script needs is asked for at once, and not when the script before it has come.
const withPreloads = (page: string, files: Files): string => {
  const links = [...listImports(files, 'app.js')].map((name) => `<link rel="modulepreload" href="console/${name}" />`);
  return page.replace('<script ', `${links.join('\n    ')}\n    <script `);
};

const listImports = (files: Files, name: string, found = new Set<string>()): ReadonlySet<string> => {
  for (const [, next = ''] of files
    .get(name)?.()
    .body.matchAll(/\bfrom '\.\/([a-z-]+\.js)'/g) ?? []) {
    if (found.has(next)) continue;
    found.add(next);
    listImports(files, next, found);
  }
  return found;
};

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
