import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { CATALOGUE_FORMATS, type CatalogueFormat } from '../contract/message-format.ts';
import { findNearestNames } from '../contract/nearest-names.ts';
import type { ToolDescription } from '../contract/tool-description.ts';
import { isToolPattern, toToolFilter } from '../contract/tool-patterns.ts';
import { isOffered } from '../formats/catalogue/is-offered.ts';
import { type SchemaStyle, toCatalogue } from '../formats/catalogue/to-catalogue.ts';
import { createCatalogueTexts } from './catalogue-texts.ts';
import { sendUnlessKnown } from './entity-tag.ts';
import { ProblemError } from './problem-handler.ts';
import { sendReading } from './results-body.ts';
import { refuseFormat } from './unknown-format.ts';

export type ToolsOptions = {
  readonly describeTools: () => readonly ToolDescription[];
  /** A strong tag of a body, in its quotes. */
  readonly toEntityTag: (body: string) => string;
  readonly callerOf: (request: FastifyRequest) => { readonly mayUse: (tool: string) => boolean };
};

/** GET /tools and GET /tools/{name}: the catalogue as far as the caller may use it, in its own form or a provider's. */
export const addToolsRoutes = (app: FastifyInstance, options: ToolsOptions): void => {
  const toolsOf = (request: FastifyRequest): readonly ToolDescription[] => {
    const { mayUse } = options.callerOf(request);
    return options.describeTools().filter(({ name }) => mayUse(name));
  };
  const textOf = createCatalogueTexts(options.describeTools);
  const send = (request: FastifyRequest, reply: FastifyReply, json: string): FastifyReply => {
    void reply.header('cache-control', 'private, no-cache');
    return sendUnlessKnown(request, reply, options.toEntityTag(json), () => sendReading(reply, json));
  };
  app.get('/tools', { config: { operation: 'listTools' } }, async (request, reply) => {
    const { format, style } = readWish(request.query);
    const isWanted = readNames(request.query);
    const tools = toolsOf(request).filter(({ name }) => isWanted(name));
    const toBody = () => (format === 'native' ? { tools } : toCatalogue(tools, format, style));
    return send(
      request,
      reply,
      textOf(tools, `${format} ${style}`, () => JSON.stringify(toBody())),
    );
  });
  app.get<{ Params: { name: string } }>(
    '/tools/:name',
    { config: { operation: 'getTool' } },
    async (request, reply) => {
      const { format, style } = readWish(request.query);
      const tool = toolsOf(request).find(({ name }) => name === request.params.name);
      if (tool === undefined) throw createNoToolProblem();
      if (format === 'native') return send(request, reply, JSON.stringify(tool));
      if (!isOffered(tool)) throw notFound('The tool is not available now. Ask without format to see why.');
      return send(request, reply, JSON.stringify(toCatalogue([tool], format, style)));
    },
  );
};

/** What a name that no tool of this caller has is answered. */
export const createNoToolProblem = (): ProblemError =>
  notFound('There is no tool of that name. GET /tools lists what there is.');

const notFound = (detail: string): ProblemError => new ProblemError(404, 'tool_not_found', detail);

type Wish = { readonly format: CatalogueFormat; readonly style: SchemaStyle };

const PARAMETERS = ['format', 'strict', 'names'];

// Nothing was done yet: unlike a batch it can be refused for a slip of the pen. Other unknown parameters are ignored.
const refuseMisspelled = (query: unknown): void => {
  for (const name of Object.keys(Object(query))) {
    if (PARAMETERS.includes(name) || name.length > 40) continue;
    const [meant] = findNearestNames(name, PARAMETERS, 1);
    if (meant !== undefined)
      throw new ProblemError(400, 'bad_request', `'${name}' is not known. Did you mean '${meant}'?`);
  }
};

const readWish = (query: unknown): Wish => {
  refuseMisspelled(query);
  return { format: toFormat(memberOf(query, 'format')), style: toStyle(memberOf(query, 'strict')) };
};

const memberOf = (query: unknown, member: string): unknown =>
  typeof query === 'object' && query !== null ? Reflect.get(query, member) : undefined;

/** `crm_*|search`, as an API key names its tools; without it all are wanted. */
const readNames = (query: unknown): ((tool: string) => boolean) => {
  const given = memberOf(query, 'names');
  if (given === undefined) return () => true;
  const patterns = typeof given === 'string' ? given.split('|') : [];
  if (patterns.length > 0 && patterns.every(isToolPattern)) return toToolFilter(patterns);
  throw new ProblemError(400, 'bad_request', NO_NAMES);
};

const NO_NAMES = "names must be tools' names, or beginnings of some with a * behind (github_*), with | between them.";

const toFormat = (given: unknown): CatalogueFormat => {
  const format = given === undefined ? 'native' : CATALOGUE_FORMATS.find((name) => name === given);
  if (format !== undefined) return format;
  throw refuseFormat(given, CATALOGUE_FORMATS);
};

const toStyle = (given: unknown): SchemaStyle => {
  if (given === undefined || given === 'false') return 'plain';
  if (given === 'true') return 'strict';
  throw new ProblemError(400, 'bad_request', 'strict must be true or false.');
};
