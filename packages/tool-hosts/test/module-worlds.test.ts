import { mkdirSync, writeFileSync } from 'node:fs';
import { type LabFile, openLab, toOutcome } from '@recourse/test-support/isolation-lab.ts';
import { expect, test } from 'vitest';

// Which modules files share that run in the same process, and where a file runs by its own word.

const PACKAGE = {
  'node_modules/kept/package.json': '{ "name": "kept", "main": "index.js" }',
  'node_modules/kept/index.js': "const { state } = require('./state.js'); exports.count = () => ++state.count;",
  'node_modules/kept/state.js': 'exports.state = { count: 0 };',
};

const counting = (name: string, facts = '') => `
  import kept from 'kept';
  import { readFile } from 'node:fs/promises';
  import { defineTool } from 'recourse-server';
  import { note } from './note.cjs';
  import { shared } from './shared.ts';
  export default defineTool({ name: '${name}', description: '', effects: 'read', input: { type: 'object' }, ${facts}
    run: async () => {
      const text = await readFile(new URL('./data.txt', import.meta.url), 'utf8');
      return { pid: process.pid, package: kept.count(), note: note(), shared: (shared.count += 1), text };
    } });`;

/** A directory of two files that import the same helpers and the same package. */
const openPair = async (facts = ''): Promise<{ a: LabFile; b: LabFile; lab: ReturnType<typeof openLab> }> => {
  const lab = openLab({ maxHosts: 1, minHosts: 1 });
  mkdirSync(`${lab.root}/node_modules/kept`, { recursive: true });
  for (const [path, text] of Object.entries(PACKAGE)) writeFileSync(`${lab.root}/${path}`, text);
  writeFileSync(`${lab.root}/data.txt`, 'beside it');
  writeFileSync(`${lab.root}/note.cjs`, 'let notes = 0; exports.note = () => ++notes;');
  writeFileSync(`${lab.root}/shared.ts`, 'export const shared: { count: number } = { count: 0 };');
  const loaded = await lab.loadAll(new Map(['a', 'b'].map((name) => [`${name}.ts`, counting(name, facts)])));
  const [a, b] = [loaded.get('a.ts'), loaded.get('b.ts')];
  if (a === undefined || typeof a === 'string' || b === undefined || typeof b === 'string')
    throw new Error(`${JSON.stringify(a)} ${JSON.stringify(b)}`);
  return { a, b, lab };
};

const count = async (file: LabFile, name: string): Promise<unknown> => toOutcome(await file.call(name));

test('files in one process have modules of their own, of packages and CommonJS, too', async () => {
  const { a, b } = await openPair();
  const first = await count(a, 'a');
  const at = (counted: number) => ({ ...Object(first), package: counted, note: counted, shared: counted });
  expect(first).toEqual({ pid: expect.any(Number), package: 1, note: 1, shared: 1, text: 'beside it' });
  expect(await count(b, 'b')).toEqual(at(1));
  expect(await count(a, 'a')).toEqual(at(2));
  expect(await count(b, 'b')).toEqual(at(2));
});

test('a new version of a file begins with new modules in the same process', async () => {
  const { a, lab } = await openPair();
  const before = await count(a, 'a');
  const again = await lab.load(counting('a', 'retries: 1,'), 'a.ts');
  lab.isolation.hosts.retire(a.file);
  expect(again.tool('a').retries).toBe(1);
  expect(await count(again, 'a')).toMatchObject({ package: 1, note: 1, shared: 1 });
  // A call that was let in before the change.
  expect(await count(a, 'a')).toMatchObject({ text: 'beside it' });
  expect(before).toMatchObject({ package: 1 });
});

test('a file whose tool asks for it, or is named by the operator, shares its process with no other', async () => {
  const asking = await openPair("isolation: 'own',");
  expect(asking.lab.isolation.placingOf(asking.a.tool('a'))).toBe('own');
  const [a, b] = [await count(asking.a, 'a'), await count(asking.b, 'b')];
  expect(a).not.toMatchObject({ pid: Reflect.get(Object(b), 'pid') });
  const lab = openLab({ ownTools: ['pdf_*'] });
  const text = (name: string, members = '') =>
    `import { defineTool } from 'recourse-server'; export default defineTool({ name: '${name}', description: '', effects: 'read', input: { type: 'object' }, ${members} run: () => 1 });`;
  const [named, other] = [await lab.load(text('pdf_read'), 'n.ts'), await lab.load(text('read_pdf'), 'o.ts')];
  expect(lab.isolation.placingOf(named.tool('pdf_read'))).toBe('own');
  expect(lab.isolation.placingOf(other.tool('read_pdf'))).toBe('shared');
  // It asks to run inside the service, which does not have it; and holds something between its calls.
  const holding = await lab.load(text('hold', "isolation: 'inline', setup: () => 1,"), 'h.ts');
  expect(lab.isolation.placingOf(holding.tool('hold'))).toBe('own');
});

test('a tool that says concurrency 1 has no other call beside it', async () => {
  const lab = openLab({ maxHosts: 2 });
  const file = await lab.load(`
    import { setTimeout as wait } from 'node:timers/promises';
    import { defineTool } from 'recourse-server';
    let running = 0;
    const tool = (name, more) => defineTool({ name, description: '', effects: 'read', input: { type: 'object' }, ...more,
      run: async () => { running += 1; await wait(100); const seen = running; running -= 1; return seen; } });
    export const tools = [tool('single', { concurrency: 1 }), tool('many', {})];`);
  expect(lab.isolation.placingOf(file.tool('single'))).toBe('alone');
  const calls = ['many', 'single', 'many', 'single', 'many'].map(async (name) => [
    name,
    toOutcome(await file.call(name)),
  ]);
  const ends = await Promise.all(calls);
  expect(ends.filter(([name]) => name === 'single')).toEqual([
    ['single', 1],
    ['single', 1],
  ]);
});
