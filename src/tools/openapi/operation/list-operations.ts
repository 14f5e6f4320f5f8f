import { isRecord, type JsonRecord, listAt, memberOf, recordAt, textAt, textsAt } from '../document/json-record.ts';
import { followReferences } from '../document/references.ts';

/** The methods whose operations may become tools, as a document spells them. */
export const METHODS = ['get', 'head', 'options', 'put', 'post', 'patch', 'delete', 'trace'] as const;
export type Method = (typeof METHODS)[number];

/** One operation as it stands in the document. */
export type DocumentedOperation = {
  readonly method: Method;
  /** With `{placeholders}`. */
  readonly path: string;
  readonly operationId: string | null;
  readonly tags: readonly string[];
  readonly source: JsonRecord;
  /** What its path says for all operations of it. */
  readonly pathItem: JsonRecord;
};

/** All operations in the order of the document, found as they are asked for. Throws where a path refers to nowhere. */
export function* listOperations(root: JsonRecord): Generator<DocumentedOperation> {
  for (const [path, item] of Object.entries(recordAt(root, 'paths')))
    if (isRecord(item) && path.startsWith('/')) yield* operationsOf(root, path, item);
}

const operationsOf = (root: JsonRecord, path: string, item: JsonRecord): readonly DocumentedOperation[] => {
  const reference = textAt(item, '$ref');
  const pathItem = reference?.startsWith('#') === true ? followReferences(root, item) : item;
  return METHODS.flatMap((method) => {
    const source = memberOf(pathItem, method);
    return isRecord(source) ? [{ ...namesOf(source), method, path, source, pathItem }] : [];
  });
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
