import * as z from 'zod';
import { CATALOGUE_FORMATS } from '../contract/message-format.ts';
import { ToolCatalogue, ToolDescription } from '../contract/tool-description.ts';
import { ok, PROBLEMS, problem, TOO_LONG, toSchema } from './route-schemas.ts';
import { TOOL_EXAMPLE } from './tool-example.ts';
import { createNoToolProblem } from './tools.ts';

const CatalogueQuery = z.object({
  format: z
    .enum(CATALOGUE_FORMATS)
    .optional()
    .describe(
      'How the tools are written; `native` if left out. A provider is not told of tools that are switched off or refused, but of those that only cannot be reached now; under names it can carry, in the form of the `tools` of a request to it.',
    )
    .meta({ examples: ['openai-responses'] }),
  strict: z
    .enum(['true', 'false'])
    .optional()
    .describe(
      'OpenAI and Anthropic: hold the model to each schema that can be said in the strict subset. Else, and for schemas that cannot, `strict` is off.',
    )
    .meta({ examples: ['true'] }),
});

const ListQuery = CatalogueQuery.extend({
  names: z
    .string()
    .regex(/^([A-Za-z0-9_.-]{1,64}\*?|\*)(\|([A-Za-z0-9_.-]{1,64}\*?|\*))*$/)
    .optional()
    .describe(
      'Only these tools: names, and beginnings of names with a `*` behind, with `|` between them (`crm_*|search`). A name that no tool has adds nothing.',
    )
    .meta({ examples: ['echo|read_*'] }),
});

const ENTITY_TAG = '"mR1IbeAqOqFnfCpAsVbGSAbBSCTYc5TFEmfSFsrFEKo"';

const IfNoneMatch = z.object({
  'if-none-match': z
    .string()
    .regex(/^[!-~ ]*$/)
    .optional()
    .describe('Tags of what the caller has: 304 where it is still that.')
    .meta({ examples: [ENTITY_TAG] }),
});

const ProviderTools = z
  .object({
    tools: z.array(z.looseObject({})),
    left_out: z
      .array(z.object({ name: z.string(), reason: z.string() }))
      .optional()
      .describe('Tools that the provider would refuse, and all others of the request with them.'),
  })
  .meta({ id: 'ProviderTools', description: 'What goes into a request to the provider as its tools.' });

const HEADERS = {
  ETag: { type: 'string', description: 'A strong tag of the body.', examples: [ENTITY_TAG] },
  'Cache-Control': { type: 'string', description: '`private, no-cache`: keep it, and ask before each use.' },
};
const UNCHANGED = { description: 'The caller has it already. No body.', headers: HEADERS };

const answer = (native: z.ZodType, description: string, example: unknown) => {
  const { headers, ...rest } = ok(z.union([native, ProviderTools]), description, { example });
  return { ...rest, headers: { ...headers, ...HEADERS } };
};

const TOOL_NAME = { type: 'string', description: 'The name of the tool.', examples: [TOOL_EXAMPLE.name] };

const SHARED = {
  tags: ['tools'],
  headers: toSchema(IfNoneMatch, 'input'),
};

export const LIST_TOOLS_SCHEMA = {
  operationId: 'listTools',
  summary: 'The tools this caller may use, for people or for a provider',
  description:
    'Each tool with its schemas, its limits and whether it is available now. With `format`, in the form that a provider takes as the tools of a request.',
  ...SHARED,
  querystring: toSchema(ListQuery, 'input'),
  response: {
    200: answer(ToolCatalogue, 'The catalogue, by name.', { tools: [TOOL_EXAMPLE] }),
    304: UNCHANGED,
    ...PROBLEMS,
    400: problem('An unknown format, names that are none, or a malformed request.', 400),
  },
};

export const GET_TOOL_SCHEMA = {
  operationId: 'getTool',
  summary: 'One tool, for people or for a provider',
  description: 'As GET /tools shows it. With `format`, in the form that a provider takes as the tools of a request.',
  ...SHARED,
  querystring: toSchema(CatalogueQuery, 'input'),
  params: { type: 'object', properties: { name: TOOL_NAME }, required: ['name'] },
  response: {
    200: answer(ToolDescription, 'The tool.', TOOL_EXAMPLE),
    304: UNCHANGED,
    ...PROBLEMS,
    400: problem('An unknown format, or a malformed request.', 400),
    404: problem(
      'There is no tool of that name, this caller may not use it, or it is not available for a provider.',
      createNoToolProblem(),
    ),
    414: TOO_LONG,
  },
};
