import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { FAILURE_POLICY } from 'recourse-server/contract/failure';
import type { RouteHost } from 'recourse-server/extension';
import { PACKAGE_ROOT } from 'recourse-server/files/own-package';
import { BUNDLES, findFreshBundle } from 'recourse-server/files/source-bundle';
import { readTokens } from 'recourse-server/routes/pages';
import { ProblemError } from 'recourse-server/routes/problems';

/** A file of the console as it is sent: `type` is the whole content type; `packed`: by gzip. */
type ConsoleFile = { readonly type: string; readonly plain: Sent; readonly packed: Sent };
/** `etag` stands in its quotes. */
type Sent = { readonly bytes: string | Buffer; readonly etag: string };
type Files = ReadonlyMap<string, () => ConsoleFile>;

const DIRECTORY = join(import.meta.dirname, 'page');

// In the order in which they overrule each other.
const STYLES = ['theme.css', 'layout.css', 'lists.css'];

// Where the page finds the document of the API: taken out of a page whose service has none.
const DOCS_LINK = /^ *<link rel="service-doc".*\n/m;
const FACTS = '<meta name="service-facts" content="';

const HTML = 'text/html; charset=utf-8';
const CSS = 'text/css; charset=utf-8';
const JAVASCRIPT = 'text/javascript; charset=utf-8';

const NOT_BUNDLED =
  'The script of the console was not made of the sources that the service runs. Start the service by `npm start`, or make the script by ' +
  '`sh scripts/ensure-bundles.sh` and start the service again; both need the development packages: `npm ci`.';

/** What the page is made for: `hasDocs` is asked when the page is first sent, `script` is null where there is none of these sources. */
type Of = {
  readonly pages: RouteHost['consolePages'];
  readonly traceUrl: string;
  readonly hasDocs: () => boolean;
  readonly script: string | null;
};

/**
 * The files of the console by name, without a folder; the page itself is `page.html`. They are read once, and packed when they are
 * first asked for. Without a script the page is a problem that says so.
 */
export const makeConsoleFiles = ({ pages, traceUrl, hasDocs, script }: Of): Files => {
  const page = read('page.html').replace(FACTS, () => FACTS + toAttribute(toFacts(pages, traceUrl)));
  const style = [readTokens(), ...STYLES.map(read)].join('\n');
  const makePage = (): string => {
    if (script === null) throw new ProblemError(404, 'not_found', NOT_BUNDLED);
    return hasDocs() ? page : page.replace(DOCS_LINK, '');
  };
  return new Map([
    toEntry('page.html', HTML, makePage),
    toEntry('style.css', CSS, () => style),
    ...(script === null ? [] : [toEntry('app.js', JAVASCRIPT, () => script)]),
    ...[...pages].map(([name, { script }]) => toEntry(`page-${name}.js`, JAVASCRIPT, () => script)),
  ]);
};

const read = (name: string): string => readFileSync(join(DIRECTORY, name), 'utf8');

/** The script of the page; null: this is a checkout, and its script was not made of its sources as they are now. */
export const readScript = (): string | null => {
  if (!import.meta.url.endsWith('.ts')) return read(BUNDLES.console);
  const path = findFreshBundle(PACKAGE_ROOT, 'console');
  return path === null ? null : readFileSync(path, 'utf8');
};

/** What the page is told of its service, as JSON: `service-facts.ts` reads it. */
const toFacts = (pages: RouteHost['consolePages'], traceUrl: string): string =>
  JSON.stringify({
    codes: Object.fromEntries(Object.entries(FAILURE_POLICY).map(([code, { when }]) => [code, when])),
    trace_url: traceUrl,
    extension_pages: [...pages].map(([name, { title }]) => ({ name, title })),
  });

const toAttribute = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');

const toEntry = (name: string, type: string, make: () => string): readonly [string, () => ConsoleFile] => {
  let made: ConsoleFile | null = null;
  return [name, () => (made ??= createFile(type, make()))];
};

const createFile = (type: string, body: string): ConsoleFile => ({
  type,
  plain: toSent(body),
  packed: toSent(gzipSync(body, { level: 9 })),
});

const toSent = (bytes: string | Buffer): Sent => ({ bytes, etag: `"${hash('sha256', bytes, 'base64url')}"` });
