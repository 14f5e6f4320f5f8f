import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ToolDescription } from '../contract/tool-description.ts';
import { ProblemError } from './problem-handler.ts';
import { GET_TOOL_SCHEMA, LIST_TOOLS_SCHEMA } from './route-schemas.ts';

export type ToolsOptions = {
  readonly describeTools: () => readonly ToolDescription[];
  readonly callerOf: (request: FastifyRequest) => { readonly mayUse: (tool: string) => boolean };
};

/** GET /tools and GET /tools/{name}: the catalogue, as far as the caller may use it. */
export const addToolsRoutes = (app: FastifyInstance, { describeTools, callerOf }: ToolsOptions): void => {
  const toolsOf = (request: FastifyRequest): readonly ToolDescription[] => {
    const { mayUse } = callerOf(request);
    return describeTools().filter(({ name }) => mayUse(name));
  };
  app.get('/tools', { schema: LIST_TOOLS_SCHEMA }, async (request) => ({ tools: toolsOf(request) }));
  app.get<{ Params: { name: string } }>('/tools/:name', { schema: GET_TOOL_SCHEMA }, async (request) => {
    const tool = toolsOf(request).find(({ name }) => name === request.params.name);
    if (tool === undefined)
      throw new ProblemError(404, 'tool_not_found', 'There is no tool of that name. GET /tools lists what there is.');
    return tool;
  });
};
