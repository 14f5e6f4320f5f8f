import { unescape as decodePercent } from 'node:querystring';
import { isRecord, type JsonRecord, memberOf, recordAt, textAt } from './json-record.ts';

/** Why an operation cannot become a tool: one line for people. */
export class OperationProblem extends Error {
  override readonly name: string = 'OperationProblem';
}

const MOST_STEPS = 32;

/** Where `joinLinkedFiles` puts what was read for references, and says why a reference was not followed. */
export const LINKED_FILES = 'x-recourse-files';
export const UNFOLLOWED = 'x-recourse-unfollowed';

/** What a reference leads to within a joined document. Throws an OperationProblem where that is nothing. */
export const resolveReference = (root: JsonRecord, reference: string): unknown => {
  const shown = reference.slice(0, 200);
  if (!reference.startsWith('#'))
    throw new OperationProblem(
      textAt(recordAt(root, UNFOLLOWED), reference) ?? `It refers to '${shown}', which is outside of the document.`,
    );
  if (!reference.startsWith('#/'))
    throw new OperationProblem(`It refers to '${shown}', which is not a path within the document.`);
  const target = followPointer(root, reference.slice(1));
  if (target === undefined) throw new OperationProblem(`It refers to '${shown}', which the document does not hold.`);
  return target;
};

/** What a JSON Pointer in the form of a fragment leads to (RFC 6901, section 6); undefined where that is nothing. */
export const followPointer = (root: unknown, fragment: string): unknown => {
  let target = root;
  for (const step of decodeFragment(fragment).split('/').slice(1))
    target = childOf(target, step.replaceAll('~1', '/').replaceAll('~0', '~'));
  return target;
};

// What is no percent code, or one of no UTF-8, stands for itself or for nothing that is there.
const decodeFragment = (fragment: string): string => decodePercent(fragment);

const childOf = (parent: unknown, name: string): unknown => {
  if (Array.isArray(parent)) return /^\d+$/.test(name) ? parent[Number(name)] : undefined;
  return isRecord(parent) ? memberOf(parent, name) : undefined;
};

/** As `followReferences`; the sentence of the problem where there is one. */
export const findReferred = (root: JsonRecord, value: unknown): JsonRecord | string => {
  try {
    return followReferences(root, value);
  } catch (thrown) {
    if (thrown instanceof OperationProblem) return thrown.message;
    throw thrown;
  }
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
