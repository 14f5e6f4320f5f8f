import { isRecord, type JsonRecord, listAt, memberOf, recordAt, textAt, textsAt } from '../document/json-record.ts';
import { findReferred, followReferences } from '../document/references.ts';

/** The methods whose operations may become tools, as a document spells them. */
export const METHODS = ['get', 'head', 'options', 'put', 'post', 'patch', 'delete', 'trace'] as const;
export type Method = (typeof METHODS)[number];

/** One operation as it stands in the document. */
export type DocumentedOperation = {
  /** `path`: which operations the path has cannot be read. */
  readonly method: Method | 'path';
  /** With `{placeholders}`. */
  readonly path: string;
  readonly operationId: string | null;
  readonly tags: readonly string[];
  readonly source: JsonRecord;
  /** What its path says for all operations of it. */
  readonly pathItem: JsonRecord;
  /** Why it cannot be a tool where that is seen already. */
  readonly problem: string | null;
};

const NO_OPERATION = { operationId: null, tags: [], source: {}, pathItem: {}, problem: null } as const;

/**
 * All operations in the order of the document, found as they are asked for. A path or an operation that is a reference
 * which leads nowhere is one with a problem: nothing of `paths` is left out.
 */
export function* listOperations(root: JsonRecord): Generator<DocumentedOperation> {
  for (const [path, item] of Object.entries(recordAt(root, 'paths'))) {
    if (path.startsWith('x-') || !isRecord(item)) continue;
    const pathItem = follow(root, item);
    if (typeof pathItem === 'string') yield { ...NO_OPERATION, method: 'path', path, problem: pathItem };
    else yield* operationsOf(root, path, pathItem);
  }
}

const operationsOf = (root: JsonRecord, path: string, pathItem: JsonRecord): readonly DocumentedOperation[] => [
  ...METHODS.flatMap((method) => {
    const given = memberOf(pathItem, method);
    if (!isRecord(given)) return [];
    const source = follow(root, given);
    if (typeof source === 'string') return [{ ...NO_OPERATION, method, path, problem: source }];
    const problem = path.startsWith('/') ? null : `Its path ${path.slice(0, 200)} does not begin with a slash.`;
    return [{ ...namesOf(source), method, path, source, pathItem, problem }];
  }),
  ...furtherOf(root, path, pathItem),
];

/** Methods of OpenAPI 3.2 that are not sent. */
const furtherOf = (root: JsonRecord, path: string, pathItem: JsonRecord): readonly DocumentedOperation[] => {
  const further = [
    ['query', memberOf(pathItem, 'query')],
    ...Object.entries(recordAt(pathItem, 'additionalOperations')),
  ];
  return further.flatMap(([method, given]) => {
    if (!isRecord(given)) return [];
    const source = follow(root, given);
    const names = typeof source === 'string' ? {} : namesOf(source);
    const problem = `${String(method).toUpperCase().slice(0, 40)} requests are not sent.`;
    return [{ ...NO_OPERATION, ...names, method: 'path', path, problem }];
  });
};

/** What a path or an operation is in the end, with what stands beside its reference; or why it cannot be read. */
const follow = (root: JsonRecord, item: JsonRecord): JsonRecord | string => {
  if (typeof memberOf(item, '$ref') !== 'string') return item;
  const target = findReferred(root, item);
  if (typeof target === 'string') return target;
  const { $ref: _reference, ...beside } = item;
  return { ...target, ...beside };
};

const namesOf = (source: JsonRecord) => ({
  operationId: textAt(source, 'operationId') ?? null,
  tags: textsAt(source, 'tags'),
});

/** The parameters of its path and its own; of one name and place its own counts. */
export const parametersOf = (root: JsonRecord, { source, pathItem }: DocumentedOperation): readonly JsonRecord[] => {
  const all = [...listAt(pathItem, 'parameters'), ...listAt(source, 'parameters')].map((parameter) =>
    followReferences(root, parameter),
  );
  return [...new Map(all.map((one) => [`${textAt(one, 'in')} ${textAt(one, 'name')}`, one])).values()];
};
