import { expect, test } from 'vitest';
import { offerOf, startCatalogue, toolOf } from './catalogue-lab.ts';

test('of a name that several offer one serves, and of the other both sources are named', () => {
  const { catalogue, serving, refused, lines } = startCatalogue([toolOf('builtin', 'echo')]);
  catalogue.register('b', offerOf('mcp:b', ['echo', 'search']));
  catalogue.register('a', offerOf('mcp:a', ['search', 'b_only']));
  expect(serving()).toEqual({ echo: 'builtin', search: 'mcp:a', b_only: 'mcp:a' });
  expect(refused()).toEqual([
    {
      name: 'echo',
      source: 'mcp:b',
      reason:
        "builtin already provides a tool called 'echo', which is used. Rename the one of mcp:b, or give it another prefix.",
    },
    {
      name: 'search',
      source: 'mcp:b',
      reason:
        "mcp:a already provides a tool called 'search', which is used. Rename the one of mcp:b, or give it another prefix.",
    },
  ]);
  catalogue.register('a', offerOf('mcp:a', ['search']));
  expect(
    lines.filter(([message]) => message === 'tool is unavailable').map(([, { tool, source }]) => [tool, source]),
  ).toEqual([
    ['echo', 'mcp:b'],
    ['search', 'mcp:b'],
  ]);
});

test('names that no provider could tell apart are the same', () => {
  const { catalogue, serving, refused } = startCatalogue([toolOf('builtin', 'read.file')]);
  catalogue.register('a', offerOf('mcp:a', ['read_file', 'x']));
  expect(serving()).toEqual({ 'read.file': 'builtin', x: 'mcp:a' });
  expect(refused().map(({ reason }) => reason)).toEqual([
    "Providers cannot distinguish 'read_file' of mcp:a from 'read.file' of builtin, which is used. Rename one of them, or give it another prefix.",
  ]);
});

test('once names are held, a name stays with who serves it until that one gives it up', () => {
  const { catalogue, serving } = startCatalogue();
  catalogue.register('b', offerOf('mcp:b', ['search']));
  catalogue.lockNames();
  catalogue.register('dir', offerOf('TOOLS_DIR/x.ts', ['search']));
  catalogue.register('a', offerOf('mcp:a', ['search']));
  expect(serving()).toEqual({ search: 'mcp:b' });
  catalogue.register('b', offerOf('mcp:b', ['other']));
  expect(serving()).toEqual({ search: 'TOOLS_DIR/x.ts', other: 'mcp:b' });
  catalogue.unregister('dir');
  expect(serving()).toEqual({ search: 'mcp:a', other: 'mcp:b' });
});

test('what is said of a name that a source lost is not said of the tool that serves', () => {
  const { catalogue, registry } = startCatalogue([toolOf('builtin', 'echo')]);
  const said = new Map([
    ['echo', 'it is broken'],
    ['mine', 'its file is broken'],
  ]);
  catalogue.register('dir', {
    ...offerOf('TOOLS_DIR/x.ts', ['echo', 'mine']),
    outdated: said,
    unreachable: new Map([['echo', 'away']]),
  });
  const serving = registry.describe().filter(({ available }) => available);
  expect(serving.map(({ name, outdated_reason: reason }) => [name, reason])).toEqual([
    ['echo', undefined],
    ['mine', 'its file is broken'],
  ]);
});

test('a tool that is switched off is unknown, shown with the reason, and keeps nobody from its name', () => {
  const { catalogue, registry, serving, refused } = startCatalogue([toolOf('builtin', 'a.b')], {
    'a.b': { enabled: false },
  });
  catalogue.register('a', offerOf('mcp:a', ['a_b']));
  expect(serving()).toEqual({ a_b: 'mcp:a' });
  expect(registry.find('a.b')).toBeUndefined();
  expect(refused()).toEqual([
    {
      name: 'a.b',
      source: 'builtin',
      reason: "The configuration file disables it: tools['a.b'].enabled is false.",
    },
  ]);
});

test('a tool that nothing changed of stays the same object, whoever publishes', () => {
  const { catalogue, registry } = startCatalogue([toolOf('builtin', 'echo')], { '*': { retries: 0 } });
  catalogue.register('a', offerOf('mcp:a', ['search']));
  const before = registry.list();
  catalogue.register('b', offerOf('mcp:b', ['other']));
  expect(registry.find('echo')).toBe(before[0]);
  expect(registry.find('search')).toBe(before[1]);
  expect(registry.find('echo')?.retries).toBe(0);
});

test('other effects than the tool declares are logged once', () => {
  const { catalogue, lines } = startCatalogue([toolOf('builtin', 'echo')], { echo: { effects: 'write' } });
  catalogue.register('a', offerOf('mcp:a', ['search']));
  expect(lines).toEqual([
    [
      'effects of a tool set by the configuration file',
      { tool: 'echo', source: 'builtin', declared: 'read', effects: 'write' },
    ],
  ]);
});

test('that writes cannot be looked for is logged once, until it is so for another reason', () => {
  const { catalogue, registry, lines } = startCatalogue([toolOf('builtin', 'pay'), toolOf('builtin', 'list')]);
  const reconcile = { tool: 'list', arguments: {}, happened: '/items/0', final: false, afterMs: 0 };
  const rule = (effects: 'read' | 'write') => ({
    order: [],
    overrides: new Map([
      ['pay', { effects: 'write', reconcile } as const],
      ['list', { effects }],
    ]),
    lanePatterns: [],
  });
  const logged = () => lines.filter(([message]) => message === 'writes of tool cannot be looked for').length;
  catalogue.setRules(rule('read'));
  expect([logged(), registry.find('pay')?.reconcileBy]).toEqual([0, reconcile]);
  catalogue.setRules(rule('write'));
  catalogue.register('a', offerOf('mcp:a', ['echo']));
  expect(logged()).toBe(1);
  catalogue.setRules(rule('read'));
  catalogue.setRules(rule('write'));
  expect(logged()).toBe(2);
});

test('entries that no tool is called like are found, with names that may have been meant', () => {
  const { catalogue } = startCatalogue([toolOf('builtin', 'read_file'), toolOf('builtin', 'fetch_url')], {
    raed_file: {},
    'fetch_*': {},
    'nothing_like_it*': {},
    search: {},
  });
  catalogue.register('a', {
    ...offerOf('mcp:a', []),
    unavailable: [{ facts: toolOf('mcp:a', 'search'), reason: 'x' }],
  });
  expect(catalogue.findUnmatched()).toEqual([
    { entry: 'override', pattern: 'raed_file', nearest: ['read_file'] },
    { entry: 'override', pattern: 'nothing_like_it*', nearest: [] },
  ]);
  const by = { arguments: {}, happened: '/0', final: false, afterMs: 0 };
  const overrides = new Map([
    ['fetch_url', { reconcile: { ...by, tool: 'raed_file' } }],
    ['read_file', { reconcile: { ...by, tool: 'search' } }],
  ]);
  catalogue.setRules({ order: [], overrides, lanePatterns: [] });
  expect(catalogue.findUnmatched()).toEqual([{ entry: 'reconcile', pattern: 'raed_file', nearest: ['read_file'] }]);
  catalogue.setRules({ order: [], overrides: new Map(), lanePatterns: ['fetch_*', 'fetch_ulr'] });
  expect(catalogue.findUnmatched()).toEqual([{ entry: 'lane', pattern: 'fetch_ulr', nearest: ['fetch_url'] }]);
});

test("the service's own tools may not share a name", () => {
  expect(() => startCatalogue([toolOf('builtin', 'echo'), toolOf('mine', 'echo')])).toThrow(
    "Two tools are called 'echo': one from builtin, one from mine.",
  );
});
