import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SETTINGS } from '#src/config/settings/settings.ts';
import { createAllMetrics } from '../../scripts/all-metrics.ts';
import { SECURITY_CONTROLS } from './security-controls.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const PAGE = read('docs/security.md');
const POLICY = read('SECURITY.md');

// https://owasp.org/API-Security/editions/2023/en/0x11-t10/
const API_RISKS = [
  'API1 Broken Object Level Authorization',
  'API2 Broken Authentication',
  'API3 Broken Object Property Level Authorization',
  'API4 Unrestricted Resource Consumption',
  'API5 Broken Function Level Authorization',
  'API6 Unrestricted Access to Sensitive Business Flows',
  'API7 Server Side Request Forgery',
  'API8 Security Misconfiguration',
  'API9 Improper Inventory Management',
  'API10 Unsafe Consumption of APIs',
];

// https://genai.owasp.org/resource/owasp-top-10-for-agentic-applications-for-2026/
const AGENTIC_RISKS = [
  'ASI01 Agent Goal Hijack',
  'ASI02 Tool Misuse and Exploitation',
  'ASI03 Identity and Privilege Abuse',
  'ASI04 Agentic Supply Chain Vulnerabilities',
  'ASI05 Unexpected Code Execution (RCE)',
  'ASI06 Memory & Context Poisoning',
  'ASI07 Insecure Inter-Agent Communication',
  'ASI08 Cascading Failures',
  'ASI09 Human-Agent Trust Exploitation',
  'ASI10 Rogue Agents',
];

type Section = { readonly title: string; readonly text: string };

const SECTIONS: readonly Section[] = PAGE.split(/^### /m)
  .slice(1)
  .map((part) => ({
    title: part.slice(0, part.indexOf('\n')),
    text: part.slice(part.indexOf('\n')).replace(/^## .*/ms, ''),
  }));

type NamedTest = { readonly file: string; readonly title: string };
type Control = { readonly control: string; readonly tests: readonly NamedTest[] };

const toNamedTest = (text: string): NamedTest => {
  const end = text.indexOf(': ');
  return { file: text.slice(0, end), title: text.slice(end + 2) };
};

/** The controls that a section lists, each with the tests that hold it. */
const controlsOf = ({ title, text }: Section): readonly Control[] =>
  [...text.matchAll(/^- (.+)$/gm)].map(([, control = '']) => ({
    control,
    tests: (SECURITY_CONTROLS[title]?.[control] ?? []).map(toNamedTest),
  }));

const TEST_FILES: ReadonlyMap<string, string> = new Map(
  globSync(['test/**/*.test.ts', 'packages/*/test/**/*.test.ts'], { cwd: ROOT }).map((path) => [path, read(path)]),
);

const escapeExpression = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

/** Whether a file has a test of exactly this title that is not skipped: the first thing in the brackets of `test` or of its table. */
const hasTest = ({ file, title }: NamedTest): boolean => {
  const written = escapeExpression(title).replaceAll("'", "\\\\?'");
  const call = new RegExp(`^[ \\t]*(\\w[\\w.]*|.*\\))\\(\\s*(['"\`])${written}\\2,`, 'm').exec(
    TEST_FILES.get(file) ?? '',
  );
  return call !== null && !/skip|todo|fails/.test(call[1] ?? '');
};

test('every risk of both lists has its section, in their order, and no section is about anything else', () => {
  expect(SECTIONS.map(({ title }) => title)).toEqual([...API_RISKS, ...AGENTIC_RISKS]);
});

test.each(SECTIONS)('$title says what it means here, which controls tests hold, and what is left', (section) => {
  const { title, text } = section;
  expect(text).toMatch(/^\s*Here: /);
  const controls = controlsOf(section);
  expect(controls.length).toBeGreaterThanOrEqual(1);
  expect(controls.filter(({ tests }) => tests.length === 0).map(({ control }) => control)).toEqual([]);
  expect(controls.map(({ control }) => control)).toEqual(Object.keys(SECURITY_CONTROLS[title] ?? {}));
  expect(text).toMatch(/^(Left to you|Not covered|Not the service's): /m);
});

test('every test that is named is one that runs', () => {
  const named = SECTIONS.flatMap(controlsOf).flatMap(({ tests }) => tests);
  expect(named.length).toBeGreaterThan(100);
  expect(named.filter((one) => !hasTest(one))).toEqual([]);
});

test('a title that is changed, cut, skipped or in another file is not taken for a test', () => {
  const file = 'test/contract/tenants.test.ts';
  const title = "another tenant's Idempotency-Key is new, and its kept results are not found";
  expect(hasTest({ file, title })).toBe(true);
  expect(hasTest({ file, title: title.slice(0, -1) })).toBe(false);
  expect(hasTest({ file, title: title.slice(1) })).toBe(false);
  expect(hasTest({ file: 'test/contract/seeds.test.ts', title })).toBe(false);
  expect(hasTest({ file: 'test/contract/none.test.ts', title })).toBe(false);
});

test('the tests of hostile callers with keys are all named', () => {
  const named = new Set(SECTIONS.flatMap(controlsOf).flatMap(({ tests }) => tests.map(({ file }) => file)));
  const door = [...TEST_FILES.keys()].filter((path) =>
    /\/(hostile-(auth|door|gate)|tenants)[\w-]*\.test\.ts$/.test(path),
  );
  expect(door.length).toBeGreaterThan(7);
  expect(door.filter((path) => !named.has(path))).toEqual([]);
});

// Words of both pages in capitals that are no settings.
const OTHER_WORDS = [
  'API',
  'ASI',
  'CORS',
  'DNS',
  'HTTP',
  'HTTPS',
  'JSON',
  'LICENSE',
  'MCP',
  'NODE_USE_ENV_PROXY',
  'NOT',
  'OPA',
];
const CAPITALS = /(?<![\w/[#.-])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?![\w.-])|(?<=`)[A-Z]{4,}(?=[=`])/g;

test.each([
  ['docs/security.md', PAGE],
  ['SECURITY.md', POLICY],
])('every setting and metric that %s names is one', async (_, text) => {
  const settings = new Set(text.match(CAPITALS));
  expect([...settings].filter((name) => !Object.hasOwn(SETTINGS, name) && !OTHER_WORDS.includes(name))).toEqual([]);
  expect(settings.size).toBeGreaterThan(5);
  const metrics = new Set((await createAllMetrics().getMetricsAsJSON()).map(({ name }) => name));
  expect((text.match(/\brecourse_[a-z_]*[a-z]/g) ?? []).filter((name) => !metrics.has(name))).toEqual([]);
});

test('SECURITY.md leads to the controls, and says what is promised, what is not, and how to report', () => {
  expect(POLICY).toContain('(docs/security.md)');
  expect(POLICY.match(/(?<=^## ).+$/gm)).toEqual([
    'Reporting',
    'What is promised',
    'What is not promised',
    'Before it serves strangers',
  ]);
});
