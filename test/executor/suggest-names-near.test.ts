import fc from 'fast-check';
import { distance } from 'fastest-levenshtein';
import { expect, test } from 'vitest';
import { createNameSuggestions } from '#src/executor/suggest-names.ts';
import { echoTool as echo } from '#src/extensions/echo/echo-tool.ts';
import { createNameIndex } from '#src/tools/name-index.ts';
import { createToolRegistry } from '#src/tools/registry.ts';

const ALL = (): boolean => true;

const suggest = (names: readonly string[], wanted: string, mayUse: (name: string) => boolean = ALL): string =>
  createNameSuggestions(() => createNameIndex(names), mayUse).unknown(wanted);

const guessOf = (text: string): string | undefined => /Did you mean '([^']+)'/.exec(text)?.[1];
const listOf = (text: string): readonly string[] => (/Available tools: (.+)\.$/.exec(text)?.[1] ?? '').split(', ');

/** What comparing with every name finds. */
const toNearest = (names: readonly string[], wanted: string): string | undefined => {
  const [first] = names
    .map((name) => ({ name, far: distance(wanted, name) }))
    .sort((a, b) => a.far - b.far || (a.name < b.name ? -1 : 1));
  const reach = Math.max(1, Math.floor(wanted.length / 3));
  return first !== undefined && first.far <= reach ? first.name : undefined;
};

const LETTERS = 'abcdefghijklmnopqrstuvwxyz_';
const letter = fc.constantFrom(...LETTERS);
const word = fc.constantFrom(
  'get',
  'list',
  'user',
  'order',
  'file',
  'search',
  'issue',
  'by',
  'id',
  'status',
  'v2',
  'note',
  'send',
);
const name = fc.oneof(
  fc.array(letter, { minLength: 4, maxLength: 24 }).map((letters) => letters.join('')),
  fc.array(word, { minLength: 2, maxLength: 5 }).map((words) => words.join('_')),
);
const names = fc.uniqueArray(name, { minLength: 130, maxLength: 400 }).map((all) => all.sort());
const typingError = fc.tuple(fc.nat(), fc.constantFrom('drop', 'add', 'swap', 'change'), letter);

const mistype = (text: string, [spot, kind, more]: readonly [number, string, string]): string => {
  const at = spot % text.length;
  const [before, here, after] = [text.slice(0, at), text.slice(at, at + 1), text.slice(at + 1)];
  if (kind === 'drop') return text.length > 1 ? `${before}${after}` : text;
  if (kind === 'add') return `${before}${more}${here}${after}`;
  return kind === 'swap' ? `${before}${after.slice(0, 1)}${here}${after.slice(1)}` : `${before}${more}${after}`;
};

test('among some hundred names the guess is that of comparing with every one of them', () => {
  const errors = fc.array(typingError, { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(names, fc.nat(), errors, (all, which, mistakes) => {
      const wanted = mistakes.reduce(mistype, all[which % all.length] ?? '');
      expect(guessOf(suggest(all, wanted))).toBe(all.includes(wanted) ? wanted : toNearest(all, wanted));
    }),
    { numRuns: 300, seed: 20_260_401 },
  );
});

test('among ten thousand names that differ in one word the one that was meant is guessed', () => {
  const verbs = ['get', 'list', 'create', 'update', 'delete', 'search', 'send', 'sync', 'import', 'export'];
  const things = ['user', 'order', 'invoice', 'ticket', 'issue', 'page', 'file', 'event', 'message', 'report'];
  const all = verbs
    .flatMap((verb) =>
      things.flatMap((thing) => Array.from({ length: 100 }, (_, place) => `${verb}_${thing}_part_${place}`)),
    )
    .sort();
  const text = suggest(all, 'serch_invioce_part_42');
  expect(guessOf(text)).toBe('search_invoice_part_42');
  expect(listOf(text)).toHaveLength(20);
  expect(listOf(text)[0]).toBe('search_invoice_part_42');
});

test('a name that the caller may not use is never told, among few tools and among many', () => {
  fc.assert(
    fc.property(names, fc.nat(), fc.integer({ min: 1, max: 9 }), (all, which, tenths) => {
      const mayUse = (tool: string): boolean => (tool.length * 7 + tool.charCodeAt(0)) % 10 < tenths;
      const wanted = `${all[which % all.length]}x`;
      const few = all.slice(0, 40);
      for (const offered of [all, few]) {
        const text = suggest(offered, wanted, mayUse);
        if (text.includes('No tools are available.')) expect(offered.filter(mayUse)).toEqual([]);
        else expect(listOf(text).filter((tool) => !mayUse(tool))).toEqual([]);
        const guess = guessOf(text);
        if (guess !== undefined) expect(mayUse(guess)).toBe(true);
      }
    }),
    { numRuns: 100, seed: 20_260_402 },
  );
});

test('a caller that may use three of many tools is told these three, the nearest first', () => {
  const all = Array.from({ length: 3000 }, (_, place) => `search_page_${place}`);
  const mine = new Set(['search_page_7', 'wx_rename', 'zz_close']);
  const text = suggest([...all, 'wx_rename', 'zz_close'], 'serch_pages_7', (name) => mine.has(name));
  expect(text).toBe(
    "Unknown tool: serch_pages_7. Did you mean 'search_page_7'? Available tools: search_page_7, wx_rename, zz_close.",
  );
});

test('one name after the other finds in one index what it finds in an index of its own', () => {
  const all = Array.from({ length: 40 }, (_, place) => [
    `search_page_${place}`,
    `rename_file_${place}`,
    `send_mail_${place}`,
  ]);
  const tools = all
    .flat()
    .concat('close_window', ...LETTERS)
    .sort();
  const index = createNameIndex(tools);
  for (const wanted of ['serch_page_7', 'close_widnow', 'sned_mail_39', 'close_widnow', 'rename_flie_1'])
    expect(createNameSuggestions(() => index, ALL).unknown(wanted)).toBe(suggest(tools, wanted));
});

test('of a name that another caller asked for before, a caller is told what it may use itself', () => {
  const index = createNameIndex(['search_mail', 'search_page', 'send_mail']);
  const admin: (name: string) => boolean = () => true;
  const reader = (name: string): boolean => name !== 'search_mail';
  const ask = (mayUse: (name: string) => boolean): string =>
    createNameSuggestions(() => index, mayUse).unknown('serch_mail');
  const toAdmin =
    "Unknown tool: serch_mail. Did you mean 'search_mail'? Available tools: search_mail, send_mail, search_page.";
  const toReader = "Unknown tool: serch_mail. Did you mean 'send_mail'? Available tools: send_mail, search_page.";
  expect([admin, reader, reader, admin].map(ask)).toEqual([toAdmin, toReader, toReader, toAdmin]);
});

test('where nothing is near the first tools are listed by name, and none is guessed', () => {
  const all = Array.from({ length: 3000 }, (_, place) => `search_page_${String(place).padStart(4, '0')}`);
  expect(suggest(all, 'qqq')).toMatch(
    /^Unknown tool: qqq\. Available tools: search_page_0000, search_page_0001, .+ search_page_0019\.$/,
  );
});

test('what is offered anew is suggested at once, and what is not offered any more is not', () => {
  const registry = createToolRegistry([echo]);
  const offer = (...called: readonly string[]) =>
    registry.offer({ tools: called.map((name) => ({ ...echo, name })), unavailable: [], outdated: new Map() });
  const ask = () => createNameSuggestions(registry.names, ALL).unknown('serach');
  expect(ask()).toBe('Unknown tool: serach. Available tools: echo.');
  offer('search');
  expect(ask()).toBe("Unknown tool: serach. Did you mean 'search'? Available tools: search, echo.");
  expect(registry.names()).toBe(registry.names());
  offer('rename');
  expect(ask()).toBe('Unknown tool: serach. Available tools: echo, rename.');
});

test('names of any characters and of any length harm nothing', () => {
  const all = [
    ...Array.from({ length: 200 }, (_, place) => `tool_${place}`),
    '\u{1f600}',
    '\u0130x',
    '\ud800',
    'y'.repeat(500),
  ];
  for (const wanted of ['\u{1f601}', '\ud800\udc00', 'Y'.repeat(1_000_000), 'x', '\u0130'.repeat(90)])
    expect(listOf(suggest(all, wanted))).toHaveLength(20);
});
