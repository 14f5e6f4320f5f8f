import { isRecord, type JsonRecord, memberOf } from './json-record.ts';

/** Why an operation cannot become a tool: one line for people. */
export class OperationProblem extends Error {
  override readonly name: string = 'OperationProblem';
}

const MOST_STEPS = 32;

/** What a local reference leads to. Nothing is ever loaded for one: throws an OperationProblem where it is not local. */
export const resolveReference = (root: JsonRecord, reference: string): unknown => {
  const shown = reference.slice(0, 200);
  if (!reference.startsWith('#'))
    throw new OperationProblem(`It refers to '${shown}', which is outside of the document.`);
  const steps = decodeFragment(reference.slice(1)).split('/').slice(1);
  let target: unknown = root;
  for (const step of steps) target = childOf(target, step.replaceAll('~1', '/').replaceAll('~0', '~'));
  if (target === undefined) throw new OperationProblem(`It refers to '${shown}', which the document does not hold.`);
  return target;
};

const decodeFragment = (fragment: string): string =>
  /%(?![0-9a-f]{2})/i.test(fragment) ? fragment : decodeURIComponent(fragment);

const childOf = (parent: unknown, name: string): unknown => {
  if (Array.isArray(parent)) return /^\d+$/.test(name) ? parent[Number(name)] : undefined;
  return isRecord(parent) ? memberOf(parent, name) : undefined;
};

/** The object itself, or the one that its `$ref` leads to in the end. Throws an OperationProblem where that is none. */
export const followReferences = (root: JsonRecord, value: unknown): JsonRecord => {
  let current = value;
  for (let step = 0; step < MOST_STEPS; step += 1) {
    if (!isRecord(current)) throw new OperationProblem('It holds something that is not an object where one must be.');
    const reference = memberOf(current, '$ref');
    if (typeof reference !== 'string') return current;
    current = resolveReference(root, reference);
  }
  throw new OperationProblem('It refers to itself without end.');
};
