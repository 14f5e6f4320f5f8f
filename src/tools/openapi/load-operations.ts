import * as z from 'zod';
import { defineTool } from '../define-tool.ts';
import type { InlineTool } from '../tool.ts';
import type { UnavailableTool } from '../tool-offer.ts';
import type { JsonRecord } from './document/json-record.ts';
import type { OpenApiDocument } from './document/openapi-document.ts';
import { OperationProblem } from './document/references.ts';
import type { OpenApiImportSettings } from './openapi-import-settings.ts';
import { type DocumentedOperation, listOperations } from './operation/list-operations.ts';
import { toEffects } from './operation/operation-effects.ts';
import { toDerivedId, toOperationToolName } from './operation/operation-name.ts';
import { type OperationPlan, toOperationPlan } from './operation/operation-plan.ts';
import { fitsAny, isSelected } from './operation/select-operations.ts';
import { toCredentialKeys } from './operation/withheld-parameters.ts';
import { createOperationTool, type ImportMeans } from './operation-tool.ts';

/** What a document comes to: tools, and operations that cannot be one, with the reason. */
export type LoadedOperations = {
  readonly tools: readonly InlineTool[];
  readonly unavailable: readonly UnavailableTool[];
};

export type LoadOptions = {
  readonly document: OpenApiDocument;
  readonly documentUrl: URL | null;
  readonly settings: OpenApiImportSettings;
  readonly means: ImportMeans;
};

const NOTHING_KNOWN = z.looseObject({});

/** The selected operations of a document as tools. One that cannot be a tool does not keep the others from it. */
export const loadOperations = ({ document, documentUrl, settings, means }: LoadOptions): LoadedOperations => {
  const credentials = toCredentialKeys(document.root, settings.auth);
  const prefix = settings.prefix ?? means.importName;
  const takenBy = new Map<string, string>();
  const tools: InlineTool[] = [];
  const unavailable: UnavailableTool[] = [];
  for (const operation of selected(document.root, settings)) {
    const id = operation.operationId ?? operation.derivedId;
    const name = toOperationToolName(prefix, id);
    const label = `${operation.method.toUpperCase()} ${operation.path}`;
    const source = `openapi:${means.importName} ${label}`.slice(0, 200);
    const effects = toEffects(operation.method, id, settings.effects);
    const sendsKey = effects === 'write' && fitsAny(operation, settings.idempotencyKeys) ? 'yes' : 'no';
    const other = takenBy.get(name);
    const planned = attempt(() => {
      if (other !== undefined) throw new OperationProblem(`${other} is called '${name}' already.`);
      const plan = toOperationPlan(operation, { document, documentUrl, credentials, effects, sendsKey });
      return createOperationTool({ name, source }, plan, means);
    });
    if (typeof planned === 'string') unavailable.push(toUnavailable({ name, source, effects, means }, planned));
    else {
      takenBy.set(name, label);
      tools.push(planned);
    }
  }
  return { tools, unavailable };
};

type Selected = DocumentedOperation & { readonly derivedId: string };

const selected = (root: JsonRecord, settings: OpenApiImportSettings): readonly Selected[] =>
  listOperations(root)
    .map((operation) => ({ ...operation, derivedId: toDerivedId(operation) }))
    .filter((operation) => isSelected(operation, settings));

const attempt = (make: () => InlineTool): InlineTool | string => {
  try {
    return make();
  } catch (thrown) {
    if (thrown instanceof OperationProblem || thrown instanceof TypeError) return thrown.message;
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
