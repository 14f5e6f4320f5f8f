import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { memberOf } from '../contract/json-record.ts';
import { CATALOGUE_FORMATS, type CatalogueFormat } from '../contract/message-format.ts';
import { findNearestNames } from '../contract/nearest-names.ts';
import { isOffered, type ToolDescription } from '../contract/tool-description.ts';
import { createToolFilter, isToolPattern } from '../contract/tool-names.ts';
import type { Dialects, SchemaMode } from './dialects.ts';
import { refuseFormat } from './misspellings.ts';
import { ProblemError } from './problems.ts';
import { callerOf } from './request-gate.ts';
import { sendReading, sendUnlessKnown } from './send-answer.ts';

export type ToolsOptions = {
  readonly dialects: Pick<Dialects, 'writeCatalogue'>;
  readonly describeTools: () => readonly ToolDescription[];
  /** A strong tag of a body, in its quotes. */
  readonly toEntityTag: (body: string) => string;
};

/** GET /tools and GET /tools/{name}: the catalogue as far as the caller may use it, in its own form or a provider's. */
export const addToolsRoutes = (app: FastifyInstance, options: ToolsOptions): void => {
  const toolsOf = (request: FastifyRequest): readonly ToolDescription[] => {
    const { mayUse } = callerOf(request);
    return options.describeTools().filter(({ name }) => mayUse(name));
  };
  const { writeCatalogue } = options.dialects;
  const textOf = createCatalogueTexts(options.describeTools);
  const send = (request: FastifyRequest, reply: FastifyReply, json: string): FastifyReply => {
    void reply.header('cache-control', 'private, no-cache');
    return sendUnlessKnown(request, reply, options.toEntityTag(json), () => sendReading(reply, json));
  };
  app.get('/tools', async (request, reply) => {
    const { format, style } = readStyle(request.query);
    const isWanted = readNames(request.query);
    const tools = toolsOf(request).filter(({ name }) => isWanted(name));
    const toBody = () => (format === 'native' ? { tools } : writeCatalogue(tools, format, style));
    return send(
      request,
      reply,
      textOf(tools, `${format} ${style}`, () => JSON.stringify(toBody())),
    );
  });
  app.get<{ Params: { name: string } }>('/tools/:name', async (request, reply) => {
    const { format, style } = readStyle(request.query);
    const tool = toolsOf(request).find(({ name }) => name === request.params.name);
    if (tool === undefined) throw createNoToolProblem();
    if (format === 'native') return send(request, reply, JSON.stringify(tool));
    if (!isOffered(tool)) throw notFound('The tool is not available now. Request it without format to see why.');
    return send(request, reply, JSON.stringify(writeCatalogue([tool], format, style)));
  });
};

/** What a name that no tool of this caller has is answered. */
export const createNoToolProblem = (): ProblemError =>
  notFound('There is no tool with that name. GET /tools lists all tools.');

const notFound = (detail: string): ProblemError => new ProblemError(404, 'tool_not_found', detail);

const PARAMETERS = ['format', 'strict', 'names'];

// Nothing was done yet: unlike a batch it can be refused for a slip of the pen. Other unknown parameters are ignored.
const refuseMisspelled = (query: unknown): void => {
  for (const name of Object.keys(Object(query))) {
    if (PARAMETERS.includes(name) || name.length > 40) continue;
    const [meant] = findNearestNames(name, PARAMETERS, 1);
    if (meant !== undefined) throw refuse(`'${name}' is unknown. Did you mean '${meant}'?`);
  }
};

const refuse = (detail: string): ProblemError => new ProblemError(400, 'bad_request', detail);

/** How the catalogue is asked for. */
const readStyle = (query: unknown): { readonly format: CatalogueFormat; readonly style: SchemaMode } => {
  refuseMisspelled(query);
  const format = CATALOGUE_FORMATS.find((name) => name === (memberOf(query, 'format') ?? 'native'));
  if (format === undefined) throw refuseFormat(memberOf(query, 'format'), CATALOGUE_FORMATS);
  const strict = memberOf(query, 'strict') ?? 'false';
  if (strict !== 'true' && strict !== 'false') throw refuse('strict must be true or false.');
  return { format, style: strict === 'true' ? 'strict' : 'plain' };
};

/** `crm_*|search`, as an API key names its tools; without it all are wanted. */
const readNames = (query: unknown): ((tool: string) => boolean) => {
  const value = memberOf(query, 'names');
  if (value === undefined) return () => true;
  const patterns = typeof value === 'string' ? value.split('|') : [];
  if (patterns.length > 0 && patterns.every(isToolPattern)) return createToolFilter(patterns);
  throw refuse('names must be tool names, or prefixes that end with * (github_*), separated by |.');
};

// A catalogue of a thousand tools is 2 MB: as many different ones as a service has kinds of keys and formats, not more.
const MOST_TEXTS = 8;

/**
 * Gives the text of a catalogue, made once as long as the tools stay what they are. Keeps the texts asked for last, by form and by
 * the tools in them: who may use the same tools reads the same text. `versionOf` gives another object whenever a description may
 * have changed.
 */
export const createCatalogueTexts = (versionOf: () => object) => {
  const texts = new LRUCache<string, string>({ max: MOST_TEXTS });
  let version: object | null = null;
  return (tools: readonly ToolDescription[], form: string, make: () => string): string => {
    const current = versionOf();
    if (current !== version) texts.clear();
    version = current;
    const key = `${form}\n${tools.map(({ name }) => name).join('\n')}`;
    const text = texts.get(key) ?? make();
    texts.set(key, text);
    return text;
  };
};
