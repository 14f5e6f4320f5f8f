import { setImmediate as nextTurn } from 'node:timers/promises';
import { defineTool } from 'recourse-server/tools/define-tool';
import type { InlineTool } from 'recourse-server/tools/tool';
import type { UnavailableTool } from 'recourse-server/tools/tool-offer';
import * as z from 'zod';
import type { ImportMeans } from './import-means.ts';
import { createOperationPlan } from './operation-plan.ts';
import { createOperationTool } from './operation-tool.ts';
import {
  chooseEffects,
  type DocumentedOperation,
  isSelected,
  listOperations,
  nameOperationTool,
} from './operations.ts';
import { findCredentialKeys } from './parameters.ts';
import type { OpenApiDocument } from './parse-document.ts';
import { findUsualServer, OperationProblem, toBase } from './references.ts';

// Of one import: each costs some ten kilobytes, and a catalogue of more is of no use to any model.
const MOST_OPERATIONS = 5_000;
// Of the schemas of one import, fifteen times GitHub's: the catalogue is one text, which every agent reads.
const MOST_CHARACTERS = 16_777_216;
const FULL =
  'The schemas of the preceding operations use up the limit of 16 MiB. Select operations with include and exclude.';
// A turn of the event loop goes to others after so long.
const LONGEST_TURN_MS = 10;

/**
 * The selected operations of a document as tools, the first 5 000, and those that cannot be one, with the reason.
 * `leftOut`: how many are more than that; `unavailable` has one entry for them all. One that cannot be a tool does not keep
 * the others from it. Other work of the process goes on meanwhile.
 */
export const loadOperations = async (document: OpenApiDocument, documentUrl: URL | null, means: ImportMeans) => {
  const load = createLoad(document, documentUrl, means);
  const loaded: (InlineTool | UnavailableTool)[] = [];
  let count = 0;
  let turnBeganMs = performance.now();
  for (const operation of listOperations(document.root)) {
    const selected = isSelected(operation, means.settings);
    if (selected) count += 1;
    if (selected && count <= MOST_OPERATIONS) loaded.push(load(operation));
    if (performance.now() - turnBeganMs < LONGEST_TURN_MS) continue;
    await nextTurn();
    turnBeganMs = performance.now();
  }
  const tools = loaded.flatMap((one) => ('facts' in one ? [] : [one]));
  const unavailable = loaded.filter((one) => 'facts' in one);
  const leftOut = count - loaded.length;
  return { tools, unavailable: leftOut > 0 ? [describeLeftOut(count, means), ...unavailable] : unavailable, leftOut };
};

/** One entry for all that are too many. */
const describeLeftOut = (count: number, means: ImportMeans): UnavailableTool => {
  const name = nameOperationTool(means.settings.prefix ?? means.name, 'further_operations');
  const reason = `The document has ${count} operations; the limit per import is ${MOST_OPERATIONS}. Select operations with include and exclude.`;
  return createUnavailable({ name, source: `openapi:${means.name}`, effects: 'read' }, reason, means);
};

const createLoad = (document: OpenApiDocument, documentUrl: URL | null, means: ImportMeans) => {
  const { name: importName, settings, base } = means;
  const context = {
    ...{ document, documentUrl, settings, base },
    usualServer: findUsualServer(document.root),
    allowed: settings.servers.map((server) => toBase(new URL(server))),
    credentials: findCredentialKeys(document.root, settings.auth),
  };
  const usedBy = new Map<string, string>();
  let charactersLeft = MOST_CHARACTERS;
  return (operation: DocumentedOperation): InlineTool | UnavailableTool => {
    const { id, method, path } = operation;
    const name = nameOperationTool(settings.prefix ?? importName, id);
    const label = `${method === 'path' ? '' : `${method.toUpperCase()} `}${path}`;
    const source = `openapi:${importName} ${label}`.slice(0, 200);
    const effects = chooseEffects(operation, settings.effects);
    const other = usedBy.get(name);
    const made = attempt(() => {
      if (other !== undefined) throw new OperationProblem(`${other} already has the name '${name}'.`);
      if (charactersLeft <= 0) throw new OperationProblem(FULL);
      return createOperationTool({ name, source }, createOperationPlan(operation, effects, context), means);
    });
    if (typeof made === 'string') return createUnavailable({ name, source, effects }, made, means);
    usedBy.set(name, label);
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

const createUnavailable = (
  { name, source, effects }: Pick<InlineTool, 'name' | 'source' | 'effects'>,
  reason: string,
  { upstream, settings }: ImportMeans,
): UnavailableTool => {
  const facts = defineTool({
    // A name that is reserved is why some are here.
    name: /^_(unknown|other)$/.test(name) ? 'operation' : name,
    description: 'This operation is not supported.',
    input: z.looseObject({}),
    run: () => null,
    ...{ effects, timeoutMs: settings.timeoutMs, upstream, source },
  });
  return { facts, reason };
};
