import { setImmediate as nextTurn } from 'node:timers/promises';
import * as z from 'zod';
import { defineTool } from '../define-tool.ts';
import type { InlineTool } from '../tool.ts';
import type { UnavailableTool } from '../tool-offer.ts';
import type { JsonRecord } from './document/json-record.ts';
import type { OpenApiDocument } from './document/openapi-document.ts';
import { OperationProblem } from './document/references.ts';
import { toBase, usualServerOf } from './document/server-url.ts';
import { type DocumentedOperation, listOperations } from './operation/list-operations.ts';
import type { OpenApiImportSettings } from './operation/openapi-import-settings.ts';
import { toEffects } from './operation/operation-effects.ts';
import { toDerivedId, toOperationToolName } from './operation/operation-name.ts';
import { type OperationPlan, toOperationPlan } from './operation/operation-plan.ts';
import { fitsAny, isSelected } from './operation/select-operations.ts';
import { createSetParameters } from './operation/set-parameters.ts';
import { toCredentialKeys } from './operation/withheld-parameters.ts';
import { createOperationTool, type ImportMeans } from './operation-tool.ts';

/** What a document comes to: tools, and operations that cannot be one, with the reason. */
export type LoadedOperations = {
  readonly tools: readonly InlineTool[];
  readonly unavailable: readonly UnavailableTool[];
  /** How many operations are more than one import may have; `unavailable` holds one entry for them all. */
  readonly leftOut: number;
};

export type LoadOptions = {
  readonly document: OpenApiDocument;
  readonly documentUrl: URL | null;
  readonly settings: OpenApiImportSettings;
  readonly means: ImportMeans;
};

const NOTHING_KNOWN = z.looseObject({});

// Of one import: each costs some ten kilobytes, and a catalogue of more is of no use to any model.
const MOST_OPERATIONS = 5_000;
// Of the schemas of one import, fifteen times GitHub's: the catalogue is one text, which every agent reads.
const MOST_CHARACTERS = 16_777_216;
const FULL = 'The schemas of the operations before it come to 16 MiB. Choose with include and exclude.';
// A turn of the event loop goes to others after so long.
const LONGEST_TURN_MS = 10;

/**
 * The selected operations of a document as tools, the first 5 000. One that cannot be a tool does not keep the others from
 * it. Other work of the process goes on meanwhile.
 */
export const loadOperations = async (options: LoadOptions): Promise<LoadedOperations> => {
  const { document, settings } = options;
  const giveWay = createGiveWay();
  const { operations, count } = await selected(document.root, settings, giveWay);
  const load = createLoad(options);
  const leftOut = count - operations.length;
  const tools: InlineTool[] = [];
  const unavailable: UnavailableTool[] = leftOut === 0 ? [] : [toFurther(count, options)];
  let charactersLeft = MOST_CHARACTERS;
  for (const operation of operations) {
    const loaded = load(operation, charactersLeft);
    if ('facts' in loaded) unavailable.push(loaded);
    else {
      charactersLeft -= toCharacters(loaded);
      tools.push(loaded);
    }
    const wait = giveWay();
    if (wait !== undefined) await wait;
  }
  return { tools, unavailable, leftOut };
};

/** Lets other work have a turn of the event loop, where this work has had its own. */
type GiveWay = () => Promise<void> | undefined;

const createGiveWay = (): GiveWay => {
  let turnBeganMs = performance.now();
  return () => {
    if (performance.now() - turnBeganMs < LONGEST_TURN_MS) return undefined;
    return nextTurn().then(() => {
      turnBeganMs = performance.now();
    });
  };
};

const toCharacters = ({ inputSchema }: InlineTool): number => JSON.stringify(inputSchema).length;

const createLoad = ({ document, documentUrl, settings, means }: LoadOptions) => {
  const { base } = means;
  const usual = usualServerOf(document.root);
  const allowed = settings.servers.map((server) => toBase(new URL(server)));
  const credentials = toCredentialKeys(document.root, settings.auth);
  const takenBy = new Map<string, string>();
  return (operation: Selected, charactersLeft: number): InlineTool | UnavailableTool => {
    const id = operation.operationId ?? operation.derivedId;
    const name = toOperationToolName(settings.prefix ?? means.importName, id);
    const label = `${operation.method === 'path' ? '' : `${operation.method.toUpperCase()} `}${operation.path}`;
    const source = `openapi:${means.importName} ${label}`.slice(0, 200);
    const effects = toEffects(operation.method, id, settings.effects);
    const sendsKey = fitsAny(operation, settings.idempotencyKeys) ? 'yes' : 'no';
    const other = takenBy.get(name);
    const planned = attempt(() => {
      if (other !== undefined) throw new OperationProblem(`${other} is called '${name}' already.`);
      if (charactersLeft <= 0) throw new OperationProblem(FULL);
      const plan = toOperationPlan(operation, {
        ...{ document, documentUrl, usual, base, allowed, credentials, effects, sendsKey },
        ...{ maxSchemaBytes: settings.maxSchemaBytes, uploads: settings.uploads },
        set: createSetParameters(settings.parameters.filter((rule) => fitsAny(operation, rule.operations ?? ['*']))),
      });
      return createOperationTool({ name, source }, plan, means);
    });
    if (typeof planned === 'string') return toUnavailable({ name, source, effects, means }, planned);
    takenBy.set(name, label);
    return planned;
  };
};

/** One entry for all that are too many. */
const toFurther = (count: number, { settings, means }: LoadOptions): UnavailableTool =>
  toUnavailable(
    {
      name: toOperationToolName(settings.prefix ?? means.importName, 'further_operations'),
      source: `openapi:${means.importName}`,
      effects: 'read',
      means,
    },
    `The document has ${count} operations, and ${MOST_OPERATIONS} of one import are served. Choose with include and exclude.`,
  );

type Selected = DocumentedOperation & { readonly derivedId: string };

/** The first operations that are wanted, and how many are. */
const selected = async (root: JsonRecord, settings: OpenApiImportSettings, giveWay: GiveWay) => {
  const operations: Selected[] = [];
  let count = 0;
  for (const documented of listOperations(root)) {
    const operation = { ...documented, derivedId: toDerivedId(documented) };
    if (isSelected(operation, settings)) {
      count += 1;
      if (count <= MOST_OPERATIONS) operations.push(operation);
    }
    const wait = giveWay();
    if (wait !== undefined) await wait;
  }
  return { operations, count };
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

const toUnavailable = (
  about: { readonly name: string; readonly source: string; readonly means: ImportMeans } & Pick<
    OperationPlan,
    'effects'
  >,
  reason: string,
): UnavailableTool => {
  const { name, source, effects, means } = about;
  const { upstream, timeoutMs } = means;
  const facts = defineTool({
    // A name that is reserved is why some are here.
    name: /^_(unknown|other)$/.test(name) ? 'operation' : name,
    description: 'This operation cannot be called from here.',
    effects,
    input: NOTHING_KNOWN,
    run: () => null,
    timeoutMs,
    upstream,
    source,
  });
  return { facts, reason };
};
