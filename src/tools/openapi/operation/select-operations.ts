import type { DocumentedOperation } from './list-operations.ts';
import type { Selection } from './openapi-import-settings.ts';

type Selectable = Pick<DocumentedOperation, 'method' | 'tags' | 'operationId'> & { readonly derivedId: string };

/** Whether a text fits a pattern in which `*` stands for any text. */
export const fitsPattern = (text: string, pattern: string): boolean =>
  new RegExp(`^${pattern.split('*').map(escapeLiteral).join('.*')}$`, 's').test(text);

const escapeLiteral = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/** Whether an operation goes by one of these patterns: its operationId, or without one the name made for it. */
export const fitsAny = ({ operationId, derivedId }: Selectable, patterns: readonly string[]): boolean =>
  patterns.some((pattern) => fitsPattern(operationId ?? derivedId, pattern));

/**
 * `include` must fit in every list that it has, `exclude` may fit in none. Of a path that cannot be read nobody knows
 * what `include` would say of its operations: it is shown.
 */
export const isSelected = (
  operation: Selectable,
  { include, exclude }: { readonly include?: Selection | undefined; readonly exclude?: Selection | undefined },
): boolean =>
  (include === undefined || operation.method === 'path' || toAnswers(operation, include).every(Boolean)) &&
  (exclude === undefined || !toAnswers(operation, exclude).some(Boolean));

const toAnswers = (operation: Selectable, selection: Selection): readonly boolean[] => {
  const { operations, tags, methods } = 'length' in selection ? { operations: selection } : toLists(selection);
  return [
    ...(operations === undefined ? [] : [fitsAny(operation, operations)]),
    ...(tags === undefined ? [] : [operation.tags.some((tag) => tags.includes(tag))]),
    ...(methods === undefined ? [] : [methods.some((method) => method === operation.method)]),
  ];
};

type Lists = Exclude<Selection, readonly string[]>;
const toLists = (selection: Lists): Lists => selection;
