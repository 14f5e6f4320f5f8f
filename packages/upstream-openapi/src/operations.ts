import { createHash } from 'node:crypto';
import type { Effects } from 'recourse-server/contract/failure';
import {
  isRecord,
  type JsonRecord,
  listAt,
  memberOf,
  recordAt,
  textAt,
  textsAt,
} from 'recourse-server/contract/json-record';
import { matchesPattern } from 'recourse-server/tools/tool-override';
import type { OpenApiImportSettings, Selection } from './openapi-import-settings.ts';
import { followReferences, METHODS, mergeReferred } from './references.ts';

export type Method = (typeof METHODS)[number];

/** One operation as it stands in the document. */
export type DocumentedOperation = {
  /** `path`: which operations the path has cannot be read. */
  readonly method: Method | 'path';
  /** With `{placeholders}`. */
  readonly path: string;
  /** Its operationId, or the name made for it: `get /repos/{owner}/issues` → `get_repos_owner_issues`. */
  readonly id: string;
  readonly tags: readonly string[];
  readonly source: JsonRecord;
  /** What its path says for all operations of it. */
  readonly pathItem: JsonRecord;
  /** Why it cannot be a tool where that is seen already. */
  readonly problem: string | null;
};

/**
 * All operations in the order of the document, found one by one. A path or an operation that is a reference
 * which leads nowhere is one with a problem, as is one of a method that is not sent: nothing of `paths` is left out.
 */
export function* listOperations(root: JsonRecord): Generator<DocumentedOperation> {
  for (const [path, item] of Object.entries(recordAt(root, 'paths'))) {
    if (path.startsWith('x-') || !isRecord(item)) continue;
    const pathItem = mergeReferred(root, item);
    if (typeof pathItem === 'string') yield createOperation('path', path, pathItem);
    else for (const method of listMethods(pathItem)) yield readOperation(root, path, pathItem, method);
  }
}

const listMethods = (pathItem: JsonRecord): readonly string[] => [
  ...[...METHODS, 'query'].filter((method) => isRecord(memberOf(pathItem, method))),
  ...Object.keys(recordAt(pathItem, 'additionalOperations')),
];

const readOperation = (root: JsonRecord, path: string, pathItem: JsonRecord, name: string): DocumentedOperation => {
  const member = memberOf(pathItem, name) ?? memberOf(recordAt(pathItem, 'additionalOperations'), name);
  const source = isRecord(member) ? mergeReferred(root, member) : {};
  const method = METHODS.find((one) => one === name);
  // Of OpenAPI 3.2.
  if (method === undefined)
    return createOperation('path', path, `${name.toUpperCase().slice(0, 40)} requests are not sent.`, source);
  if (typeof source === 'string') return createOperation(method, path, source);
  const problem = path.startsWith('/') ? null : `Its path ${path.slice(0, 200)} does not begin with a slash.`;
  return createOperation(method, path, problem, source, pathItem);
};

const createOperation = (
  method: Method | 'path',
  path: string,
  problem: string | null,
  read: JsonRecord | string = {},
  pathItem: JsonRecord = {},
): DocumentedOperation => {
  const source = typeof read === 'string' ? {} : read;
  const derivedId = `${method}${path}`.replace(/[^A-Za-z0-9]+/g, '_').replace(/_+$/, '');
  const id = textAt(source, 'operationId') ?? derivedId;
  return { method, path, id, tags: textsAt(source, 'tags'), source, pathItem, problem };
};

/** The parameters of its path and its own; of one name and place its own counts. */
export const parametersOf = (root: JsonRecord, { source, pathItem }: DocumentedOperation): readonly JsonRecord[] => {
  const all = [...listAt(pathItem, 'parameters'), ...listAt(source, 'parameters')].map((parameter) =>
    followReferences(root, parameter),
  );
  return [...new Map(all.map((one) => [`${textAt(one, 'in')} ${textAt(one, 'name')}`, one])).values()];
};

/** Whether one of these patterns fits the operation. */
export const fitsAny = ({ id }: DocumentedOperation, patterns: readonly string[]): boolean =>
  patterns.some((pattern) => matchesPattern(id, pattern));

/**
 * `include` must fit in every list that it has, `exclude` may fit in none. What `include` would say of the operations of a
 * path that cannot be read is not known: it is shown.
 */
export const isSelected = (
  operation: DocumentedOperation,
  { include, exclude }: Pick<OpenApiImportSettings, 'include' | 'exclude'>,
): boolean =>
  (include === undefined ||
    operation.method === 'path' ||
    answersOf(operation, include).every((one) => one !== false)) &&
  (exclude === undefined || !answersOf(operation, exclude).includes(true));

/** Whether each list of a selection fits; undefined of one that is not there. */
const answersOf = (operation: DocumentedOperation, selection: Selection): readonly (boolean | undefined)[] => {
  if (Array.isArray(selection)) return [fitsAny(operation, selection)];
  const { operations, tags, methods } = selection;
  return [
    operations && fitsAny(operation, operations),
    tags && operation.tags.some((tag) => tags.includes(tag)),
    methods?.some((method) => method === operation.method),
  ];
};

// What every provider carries.
const MOST_CHARACTERS = 64;
const HASH_CHARACTERS = 8;

/**
 * `{prefix}_{operationId}` in the letters that every provider carries. What is too long is cut, with a hash of the
 * whole at its end, so that two long names stay two and one name stays the same.
 */
export const nameOperationTool = (prefix: string, id: string): string => {
  const whole = prefix === '' ? id : `${prefix}_${id}`;
  const carried = whole.replace(/[^A-Za-z0-9_-]/g, '_');
  const name = /^[A-Za-z_]/.test(carried) ? carried : `_${carried}`;
  if (name.length <= MOST_CHARACTERS) return name;
  const hash = createHash('sha256').update(whole).digest('hex').slice(0, HASH_CHARACTERS);
  return `${name.slice(0, MOST_CHARACTERS - HASH_CHARACTERS - 1)}_${hash}`;
};

// RFC 9110, section 9.2: safe and idempotent methods.
const EFFECTS_OF_METHOD = {
  ...{ get: 'read', head: 'read', options: 'read', trace: 'read' },
  ...{ put: 'idempotent', delete: 'idempotent' },
  ...{ post: 'write', patch: 'write', path: 'write' },
} as const satisfies Record<DocumentedOperation['method'], Effects>;

/** What a repeat may do: the first pattern of the settings that fits, else what the method means. */
export const chooseEffects = (
  { method, id }: DocumentedOperation,
  overrides: Readonly<Record<string, Effects>>,
): Effects =>
  Object.entries(overrides).find(([pattern]) => matchesPattern(id, pattern))?.[1] ?? EFFECTS_OF_METHOD[method];
