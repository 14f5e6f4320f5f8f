import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { SETTINGS } from '#src/config/settings/settings.ts';

const ROOT = join(import.meta.dirname, '../..');
const NOT_OURS = ['node_modules', 'dist', 'coverage', '.git', '.cache'];

type Page = { readonly path: string; readonly text: string };

const readPage = (path: string): Page => ({ path, text: readFileSync(join(ROOT, path), 'utf8') });

const PAGES: readonly Page[] = globSync('**/*.md', { cwd: ROOT, exclude: (path) => NOT_OURS.includes(path) })
  .sort()
  .map(readPage);

/** Every match of `pattern` (its first group, or the whole) in the pages for which `accepts` says no, with its page. */
const offences = (pattern: RegExp, accepts: (found: string, page: Page) => boolean): readonly string[] =>
  PAGES.flatMap((page) =>
    [...page.text.matchAll(pattern)]
      .map(([whole, group]) => group ?? whole)
      .filter((found) => !accepts(found, page))
      .map((found) => `${page.path}: ${found}`),
  );

test('the pages that are checked are there', () => {
  const paths = PAGES.map(({ path }) => path);
  expect(paths).toEqual(expect.arrayContaining(['README.md', 'CHANGELOG.md', 'docs/contract.md', 'docs/semantics.md']));
  expect(paths.filter((path) => path.includes('node_modules'))).toEqual([]);
  expect(PAGES.map(({ text }) => [...text.matchAll(LINK)].length).reduce((sum, links) => sum + links)).toBeGreaterThan(
    60,
  );
});

const LINK = /\]\(([^)\s]+)\)/g;

// As GitHub makes them: lower case, without punctuation, a hyphen for each space.
const anchorsOf = ({ text }: Page): readonly string[] =>
  [...text.replace(/^```.*?^```/gms, '').matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  );

const leadsSomewhere = (link: string, page: Page): boolean => {
  if (/^[a-z]+:/.test(link)) return true;
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page.path : normalize(join(dirname(page.path), decodeURIComponent(path)));
  if (target.startsWith('..') || !existsSync(join(ROOT, target))) return false;
  return anchor === undefined || anchorsOf(readPage(target)).includes(anchor);
};

test('every relative link leads to a file, and to a heading in it where it names one', () => {
  expect(offences(LINK, leadsSomewhere)).toEqual([]);
});

const isSetting = (name: string): boolean => Object.hasOwn(SETTINGS, name);

// Words of this form that are not ours: of systems, of commands that a reader types, and of other programs.
const OTHER_WORDS: readonly string[] = [
  // Refused at the start with the name of its successor.
  'ANSWER_MEMORY_MB',
  'STORE_DROPPABLE_PERCENT',
  'STORE_TENANT_PERCENT',
  'WORKER_STALL_MS',
  'NOTES_DB',
  // Of the example of an extension.
  'CLOCK_ZONE',
  'RATES_URL',
  'ROOMS_URL',
  'NODE_COMPILE_CACHE',
  'NODE_EXTRA_CA_CERTS',
  'NO_COLOR',
  'OPS_SECRET',
  'RECOURSE_API_KEY',
  'RECOURSE_URL',
  'YOUR_KEY',
  'YOUR_PROJECT',
  'CAP_SYS_ADMIN',
  'CHROMIUM_BIN',
  'CRM_TOKEN',
  'TRACKER_TOKEN',
  'LC_ALL',
  // Of docker-compose.yml and the manifests, which put it into REDIS_URL.
  'REDIS_PASSWORD',
  'HOSTILE_SECONDS',
  'HOSTILE_SEED',
  'HOSTILE_LIVE_MS',
];

// Of providers' clients, of git-sync, and of the OpenTelemetry SDK, of which docs/operations.md names those that hold.
const OTHERS_OWN = /^(OPENAI|ANTHROPIC|GEMINI|GOOGLE|OTEL|GITSYNC)_/;

test('every setting that a page names is one', () => {
  const named = /\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/g;
  const isOther = (name: string): boolean => OTHER_WORDS.includes(name) || OTHERS_OWN.test(name);
  expect(offences(named, (name) => isSetting(name) || isOther(name))).toEqual([]);
  expect(offences(/^(?:[^|]*\|)?\s*`([A-Z]{4,})`/gm, isSetting)).toEqual([]);
});

test('every metric that a page names is one', () => {
  const metrics = new Set(readPage('docs/metrics.md').text.match(/(?<=^\| `)recourse_\w+/gm));
  expect(metrics.size).toBeGreaterThan(15);
  // The last one is the package for Python.
  const isMetric = (name: string): boolean =>
    metrics.has(name) || metrics.has(name.replace(/_(bucket|sum|count)$/, '')) || name === 'recourse_client';
  expect(offences(/\brecourse_[a-z_]+/g, isMetric)).toEqual([]);
});

test('every file of this repository that a page names is there', () => {
  const named = /`((?:src|test|docs|scripts|openapi|examples|deploy|bench|chaos)\/[\w./-]*\w(?:\.\w+)?)`/g;
  // What a reader is asked to make.
  const toBeMade = ['bench/results.md', 'bench/floors.json', 'chaos/results.md'];
  // The page of a package names its own files as they lie in it.
  const isThere = (path: string, page: Page): boolean =>
    [ROOT, join(ROOT, dirname(page.path))].some((folder) => existsSync(join(folder, path)));
  expect(offences(named, (path, page) => toBeMade.includes(path) || isThere(path, page))).toEqual([]);
});

const SOURCES = globSync(['src/**/*.ts', 'packages/*/src/**/*.ts'], { cwd: ROOT }).map((path) =>
  readFileSync(join(ROOT, path), 'utf8'),
);

/** Whether a string in the code begins with this text, or, where `isWhole`, is this text. */
const isWritten = (text: string, isWhole: boolean): boolean =>
  SOURCES.some((source) => ["'", '`', '"'].some((quote) => source.includes(quote + text + (isWhole ? quote : ''))));

/** Whether the log can hold what a page tells a reader to search: a message, the beginning of one, or a member. */
const isSearchable = (sought: string): boolean => {
  const [, member, value = ''] = /^"(\w+)":"?([^"]*)"?$/.exec(sought) ?? [];
  if (member !== undefined) return isMember(member) && (/^(…|\d+)$/.test(value) || isWritten(value, true));
  const [, open, messages = '', close] = /^("?)\(?([^()"]+)\)?("?)$/.exec(sought) ?? [];
  return messages.split('|').every((message) => (open === '' ? isSaid(message) : isWritten(message, close !== '')));
};

const isMember = (name: string): boolean => SOURCES.some((source) => new RegExp(`\\b${name}\\b`).test(source));

const isSaid = (text: string): boolean => SOURCES.some((source) => source.includes(text));

// What was decided then, and what changed since, may quote texts of then.
const isOfToday = ({ path }: Page): boolean => !/^(CHANGELOG|docs\/decisions)/.test(path);

test('every text that a page searches in the log is one that the service writes', () => {
  const searches = /\blogs\b[^`\n]*/g;
  const sought = PAGES.filter(isOfToday).flatMap(({ path, text }) =>
    [...text.matchAll(searches)].flatMap(([line]) =>
      [...line.matchAll(/grep (?:-\w+ )?'([^']+)'/g)].map(([, found = '']) => ({
        path,
        // A table escapes it.
        found: found.replaceAll('\\|', '|'),
      })),
    ),
  );
  expect(sought.map(({ found }) => found)).toContain('"contract violated"');
  expect(sought.length).toBeGreaterThan(15);
  expect(sought.filter(({ found }) => !isSearchable(found))).toEqual([]);
});

// First words of what a reader types, or sets in Redis.
const TYPED =
  /^(npm|npx|node|recourse|docker|kubectl|redis|sudo|pip|ulimit|promtool|grep|ps|sh|bash|call|setpriv|appendfsync|appendonly|INFO) /;
// Examples of what is searched in notes.
const NO_MESSAGES: readonly string[] = ['release plan', 'release OR plan', 'as const', 'N passed, N failed'];

test('every message in words that a page quotes is one that the code has', () => {
  // `replayed: true` is a member, and none of them.
  const quoted = /`([A-Za-z]\w*(?:(?: [A-Za-z_-]+)+|(?:[:,]? [A-Za-z_-]+){3,}))`/g;
  expect(
    offences(
      quoted,
      (found, page) => !isOfToday(page) || TYPED.test(found) || NO_MESSAGES.includes(found) || isWritten(found, false),
    ),
  ).toEqual([]);
});

test('every text of the console that its page quotes is one that the console shows', () => {
  const rows = readPage('docs/console.md').text.match(/^\| .+ \|$/gm) ?? [];
  const quoted = rows.flatMap((row) => [...row.matchAll(/"([^"]+)"/g)].map(([, text = '']) => text));
  const shown = globSync('packages/console/src/page/*.ts', { cwd: ROOT }).map((path) => readPage(path).text);
  expect(quoted.length).toBeGreaterThan(4);
  expect(quoted.filter((text) => !shown.some((source) => source.includes(text)))).toEqual([]);
});

test('README.md says how to start and how to test, in one command each', () => {
  const { text } = readPage('README.md');
  expect(text).toContain('npm ci && npm start');
  expect(text).toContain('npm ci && npm test');
});

test('docs/README.md leads to every page of docs, and to the page of each toolkit and upstream', () => {
  const { text } = readPage('docs/README.md');
  const led = new Set([...text.matchAll(LINK)].map(([, link = '']) => normalize(join('docs', link))));
  const pages = PAGES.map(({ path }) => path).filter((path) =>
    /^(docs\/(?!README)[\w-]+\.md|docs\/decisions\/README\.md|packages\/(toolkit-(?!kit)|upstream-)\w+\/README\.md)$/.test(
      path,
    ),
  );
  expect(pages.length).toBeGreaterThan(25);
  expect(pages.filter((path) => !led.has(path))).toEqual([]);
});

test('docs/decisions/README.md lists every decision, and every decision says context, decision and consequences', () => {
  const decisions = PAGES.filter(({ path }) => /^docs\/decisions\/\d{4}-/.test(path));
  const listed = readPage('docs/decisions/README.md').text.match(/(?<=\]\()\d{4}-[\w-]+\.md(?=\))/g) ?? [];
  expect(decisions.map(({ path }) => path.replace('docs/decisions/', ''))).toEqual([...listed]);
  const parts = decisions.map(({ path, text }) => [path, text.match(/(?<=^## ).+$/gm)]);
  expect(parts).toEqual(decisions.map(({ path }) => [path, ['Context', 'Decision', 'Consequences']]));
});
