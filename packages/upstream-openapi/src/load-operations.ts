import { setImmediate as nextTurn } from 'node:timers/promises';
import { defineTool } from 'recourse-server/tools/define-tool';
import type { InlineTool } from 'recourse-server/tools/tool';
import type { UnavailableTool } from 'recourse-server/tools/tool-offer';
import * as z from 'zod';
import { createOperationPlan, type OperationPlan, type PlanContext } from './operation-plan.ts';
import { createOperationTool, type ImportMeans } from './operation-tool.ts';
import { type DocumentedOperation, isSelected, listOperations, toEffects, toOperationToolName } from './operations.ts';
import { findCredentialKeys } from './parameters.ts';
import { OperationProblem, toBase, usualServerOf } from './references.ts';

/** What a document comes to: tools, and operations that cannot be one, with the reason. */
export type LoadedOperations = {
  readonly tools: readonly InlineTool[];
  readonly unavailable: readonly UnavailableTool[];
  /** How many operations are more than one import may have; `unavailable` holds one entry for them all. */
  readonly leftOut: number;
};

type LoadOptions = Pick<PlanContext, 'document' | 'documentUrl' | 'settings'> & { readonly means: ImportMeans };

// Of one import: each costs some ten kilobytes, and a catalogue of more is of no use to any model.
const MOST_OPERATIONS = 5_000;
// Of the schemas of one import, fifteen times GitHub's: the catalogue is one text, which every agent reads.
const MOST_CHARACTERS = 16_777_216;
const FULL =
  'The schemas of the preceding operations use up the limit of 16 MiB. Select operations with include and exclude.';
// A turn of the event loop goes to others after so long.
const LONGEST_TURN_MS = 10;

/**
 * The selected operations of a document as tools, the first 5 000. One that cannot be a tool does not keep the others from
 * it. Other work of the process goes on meanwhile.
 */
export const loadOperations = async (options: LoadOptions): Promise<LoadedOperations> => {
  const { document, settings } = options;
  const giveWay = createGiveWay();
  const load = createLoad(options);
  const loaded: (InlineTool | UnavailableTool)[] = [];
  let count = 0;
  for (const operation of listOperations(document.root)) {
    if (isSelected(operation, settings)) {
      count += 1;
      if (count <= MOST_OPERATIONS) loaded.push(load(operation));
    }
    const wait = giveWay();
    if (wait !== undefined) await wait;
  }
  const leftOut = count - loaded.length;
  const refused = loaded.filter((one) => 'facts' in one);
  return {
    tools: loaded.flatMap((one) => ('facts' in one ? [] : [one])),
    unavailable: leftOut === 0 ? refused : [toFurther(count, options), ...refused],
    leftOut,
  };
};

/** One entry for all that are too many. */
const toFurther = (count: number, { settings, means }: LoadOptions): UnavailableTool => {
  const name = toOperationToolName(settings.prefix ?? means.importName, 'further_operations');
  const reason = `The document has ${count} operations; the limit per import is ${MOST_OPERATIONS}. Select operations with include and exclude.`;
  return toUnavailable({ name, source: `openapi:${means.importName}`, effects: 'read' }, reason, means);
};

/** Lets other work have a turn of the event loop, where this work has had its own. */
const createGiveWay = (): (() => Promise<void> | undefined) => {
  let turnBeganMs = performance.now();
  return () => {
    if (performance.now() - turnBeganMs < LONGEST_TURN_MS) return undefined;
    return nextTurn().then(() => {
      turnBeganMs = performance.now();
    });
  };
};

const createLoad = ({ document, documentUrl, settings, means }: LoadOptions) => {
  const context: PlanContext = {
    ...{ document, documentUrl, settings, base: means.base },
    usualServer: usualServerOf(document.root),
    allowed: settings.servers.map((server) => toBase(new URL(server))),
    credentials: findCredentialKeys(document.root, settings.auth),
  };
  const takenBy = new Map<string, string>();
  let charactersLeft = MOST_CHARACTERS;
  return (operation: DocumentedOperation): InlineTool | UnavailableTool => {
    const { id, method, path } = operation;
    const name = toOperationToolName(settings.prefix ?? means.importName, id);
    const label = `${method === 'path' ? '' : `${method.toUpperCase()} `}${path}`;
    const source = `openapi:${means.importName} ${label}`.slice(0, 200);
    const effects = toEffects(operation, settings.effects);
    const other = takenBy.get(name);
    const made = attempt(() => {
      if (other !== undefined) throw new OperationProblem(`${other} already has the name '${name}'.`);
      if (charactersLeft <= 0) throw new OperationProblem(FULL);
      return createOperationTool({ name, source }, createOperationPlan(operation, effects, context), means);
    });
    if (typeof made === 'string') return toUnavailable({ name, source, effects }, made, means);
    takenBy.set(name, label);
    charactersLeft -= JSON.stringify(made.inputSchema).length;
    return made;
  };
};

const attempt = (make: () => InlineTool): InlineTool | string => {
  try {
    return make();
  } catch (thrown) {
    if (thrown instanceof OperationProblem || thrown instanceof TypeError) return thrown.message;
    if (thrown instanceof RangeError) return 'It is nested too deep.';
    throw thrown;
  }
};

const ANY_OBJECT = z.looseObject({});

const toUnavailable = (
  { name, source, effects }: { readonly name: string; readonly source: string } & Pick<OperationPlan, 'effects'>,
  reason: string,
  { upstream, timeoutMs }: ImportMeans,
): UnavailableTool => {
  const facts = defineTool({
    // A name that is reserved is why some are here.
    name: /^_(unknown|other)$/.test(name) ? 'operation' : name,
    description: 'This operation is not supported.',
    effects,
    input: ANY_OBJECT,
    run: () => null,
    timeoutMs,
    upstream,
    source,
  });
  return { facts, reason };
};
