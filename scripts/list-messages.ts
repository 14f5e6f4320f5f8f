import { globSync, readFileSync } from 'node:fs';
import { parseSync } from 'rolldown/utils';

/**
 * Prints every text that a model, a caller or a person reads, once, as tab-separated rows: file:line, reader, place, text.
 * Usage: node scripts/list-messages.ts [--source] [file …]
 *
 * A text is a literal of at least two words (a template shows `${…}` as `{}`; with --source, as the file has it).
 * Texts that are joined with `+` are one text. The place is the call, member or constant that holds the text. Place and
 * folder give the reader: operator = logs, metrics, settings, start-up errors; cli; ui = the console; caller = HTTP
 * problems and the OpenAPI document; model = results, tool descriptions and failure texts.
 */
const SOURCES = ['src/**/*.ts', 'packages/*/src/**/*.ts', 'clients/typescript/src/*.ts', 'scripts/dashboard/*.ts'];

type Message = { readonly line: number; readonly place: string; readonly text: string };
type Reader = 'model' | 'caller' | 'operator' | 'cli' | 'ui';
type Node = Record<string, unknown> & { readonly type: string; readonly start: number; readonly end: number };

/** The first matching folder decides; texts in OPERATOR_PLACE are the operator's in every folder. */
const READER_BY_FOLDER: readonly (readonly [string, Reader])[] = [
  ['src/cli/', 'cli'],
  ['packages/console/src/', 'ui'],
  ['clients/', 'caller'],
  ['src/routes/', 'caller'],
  ['src/contract/', 'caller'],
  ['src/http/', 'caller'],
  ['src/auth/', 'operator'],
  ['src/config', 'operator'],
  ['src/settings/', 'operator'],
  ['src/wiring', 'operator'],
  ['src/telemetry/', 'operator'],
  ['packages/tool-hosts/src/directory/', 'operator'],
  ['packages/tool-hosts/src/tool-hosts.ts', 'operator'],
  ['src/', 'model'],
  ['packages/', 'model'],
];
const OPERATOR_PLACE = /^(?:(?:.*\.)?(?:log\w*|logger)\.(?:trace|debug|info|warn|error|fatal)|help|.*\.help)$/;

/** No person reads these: module names, types, and arguments of these functions. */
const UNREAD_NODES = new Set(['ImportDeclaration', 'ExportAllDeclaration', 'ImportExpression', 'Directive']);
const UNREAD_CALLEES = new Set(['require', 'querySelector', 'matchMedia', 'execFileSync', 'prepare', 'exec']);
const UNREAD_PLACES = new Set(['class', 'pattern', 'Content-Security-Policy', 'sql']);
const TWO_WORDS = /\p{L}{2,}[^\p{L}]*[\s][^\p{L}]*\p{L}{2,}/u;
const LONGEST_PLACE = 40;
const SQL = /^\s*(?:SELECT|INSERT|DELETE|CREATE|PRAGMA|UPDATE|BEGIN|ATTACH)\s/;

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string' && 'start' in value;

const nodesIn = (value: unknown): readonly Node[] =>
  Array.isArray(value) ? value.filter(isNode) : isNode(value) ? [value] : [];

const isText = ({ type, value }: Node): boolean =>
  type === 'TemplateLiteral' || (type === 'Literal' && typeof value === 'string');

const isJoin = ({ type, operator, left, right }: Node): boolean =>
  type === 'BinaryExpression' && operator === '+' && [left, right].some((side) => isNode(side) && readsAsText(side));
const readsAsText = (node: Node): boolean => isText(node) || isJoin(node);

const rawText = ({ value }: Node): string =>
  typeof value === 'object' && value !== null && 'raw' in value && typeof value.raw === 'string' ? value.raw : '';

/** The parts of a node that are looked at next; texts that are joined are one text, so only their `${…}` are. */
const partsOf = (node: Node): readonly Node[] => {
  if (node.type === 'MemberExpression' && node['computed'] !== true) return nodesIn(node['object']);
  // `value as const` and `value satisfies T` hold a value; types hold none.
  if (node.type.startsWith('TS')) return nodesIn(node['expression']);
  if (!isJoin(node)) return Object.values(node).flatMap(nodesIn);
  return nodesIn([node['left'], node['right']]).flatMap((side) => (readsAsText(side) ? partsOf(side) : [side]));
};

const NAMED_BY: ReadonlyMap<string, string> = new Map([
  ['CallExpression', 'callee'],
  ['NewExpression', 'callee'],
  ['Property', 'key'],
  ['VariableDeclarator', 'id'],
]);

/** One file's texts, each with the name of the call, member or constant that it belongs to. */
const messagesOf = (source: string, showsSource: boolean): readonly Message[] => {
  const messages: Message[] = [];
  const slice = ({ start, end }: Node): string => source.slice(start, end);

  const spell = (node: Node): string => {
    if (node.type === 'Literal' && typeof node['value'] === 'string') return node['value'];
    if (node.type === 'TemplateLiteral') return nodesIn(node['quasis']).map(rawText).join('{}');
    return isJoin(node) ? nodesIn([node['left'], node['right']]).map(spell).join('') : '{}';
  };

  const add = (node: Node, place: string): void => {
    const text = spell(node);
    if (!TWO_WORDS.test(text) || SQL.test(text) || UNREAD_PLACES.has(place)) return;
    const line = source.slice(0, node.start).split('\n').length;
    messages.push({ line, place, text: showsSource ? slice(node) : text });
  };

  const nameOf = (node: Node): string | undefined => {
    const [name] = nodesIn(node[NAMED_BY.get(node.type) ?? '']);
    if (name === undefined) return undefined;
    // `z.object({…}).describe('…')`: the last link names the place, not the chain before it.
    const [last] = nodesIn(name['property']);
    const named = last !== undefined && slice(name).length > LONGEST_PLACE ? last : name;
    return slice(named).split(/[\n:]/, 1).join('');
  };

  const visit = (node: Node, place: string): void => {
    const inner = nameOf(node) ?? place;
    if (UNREAD_NODES.has(node.type) || UNREAD_CALLEES.has(inner)) return;
    if (readsAsText(node)) add(node, place);
    for (const part of partsOf(node)) visit(part, inner);
  };

  for (const node of nodesIn(parseSync('file.ts', source).program.body)) visit(node, '');
  return messages;
};

const readerOf = (file: string, place: string): Reader =>
  OPERATOR_PLACE.test(place)
    ? 'operator'
    : (READER_BY_FOLDER.find(([folder]) => file.startsWith(folder))?.[1] ?? 'operator');

const words = process.argv.slice(2);
const named = words.filter((word) => !word.startsWith('--'));
const files = named.length > 0 ? named : globSync(SOURCES).toSorted();

// A text that stands in several places is one row, which names them all.
const rows = new Map<string, string[]>();
for (const file of files) {
  for (const { line, place, text } of messagesOf(readFileSync(file, 'utf8'), words.includes('--source'))) {
    const row = [readerOf(file, place), place, text.replace(/\s*\n\s*/g, ' ').trim()].join('\t');
    rows.set(row, [...(rows.get(row) ?? []), `${file}:${line}`]);
  }
}
for (const [row, places] of rows) process.stdout.write(`${places.join(' ')}\t${row}\n`);
