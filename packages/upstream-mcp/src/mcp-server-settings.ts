import { EFFECTS } from 'recourse-server/contract/failure';
import { findNearestNames } from 'recourse-server/contract/nearest-names';
import * as z from 'zod';

const Texts = z.record(z.string(), z.string());

/** What may be between the name of a server, or its prefix, and nothing that a tool name refuses. */
const PREFIX = /^[A-Za-z0-9_.-]{0,48}$/;

/**
 * One entry of the `mcpServers` JSON that other hosts read too: a process to start (`command`), or an address (`url`).
 * Members that only other hosts know are kept, so that they can be told of; they change nothing. Times in milliseconds.
 */
export const McpServerSettings = z
  .looseObject({
    type: z
      .enum(['stdio', 'http', 'streamable-http', 'streamableHttp', 'sse'])
      .optional()
      .describe('Transport. Default: stdio for a command; for a url Streamable HTTP, then SSE'),
    command: z.string().min(1).optional().describe('The program to start; it speaks MCP on stdin and stdout'),
    args: z.array(z.string()).optional(),
    env: Texts.optional().describe(
      'Environment variables it gets, in addition to basic ones such as PATH, HOME, TZ and LANG',
    ),
    cwd: z
      .string()
      .min(1)
      .optional()
      .describe('Its working directory, relative to this file. Default: the directory of this file'),
    url: z.url({ protocol: /^https?$/ }).optional(),
    headers: Texts.optional().describe('Sent with every request to the url, and to no other origin'),
    disabled: z.boolean().optional(),
    prefix: z
      .string()
      .regex(PREFIX, 'must be at most 48 of A-Z a-z 0-9 _ . -')
      .optional()
      .describe("Its tools are named {prefix}_{tool}. Default: the server's name. Empty: no prefix"),
    tools: z
      .strictObject({ include: z.array(z.string()).optional(), exclude: z.array(z.string()).optional() })
      .optional()
      .describe('Tool names as the server lists them; `*` matches any text. Only included tools are available'),
    concurrency: z.int().min(1).max(1024).optional().describe('Concurrent calls over all its tools. Default: 512'),
    timeoutMs: z
      .int()
      .min(1)
      .max(2_147_483_647)
      .optional()
      .describe('Time limit of one call in milliseconds. Default: 30 000'),
    effects: z
      .record(z.string(), z.enum(EFFECTS))
      .optional()
      .describe('Tool name of the server → effects: read, idempotent or write'),
    onChange: z
      .enum(['log', 'hold'])
      .optional()
      .describe('Reaction to a changed description or schema of a known tool. Default: log'),
    approved: Texts.optional().describe('Tool name of the server → approved digest'),
  })
  .superRefine((settings, context) => {
    const { command, url, type } = settings;
    const refuse = (message: string) => context.addIssue({ code: 'custom', message });
    if ((command === undefined) === (url === undefined))
      refuse(`needs either a command or a url${hintAtMisspelled(settings)}`);
    if (command !== undefined && type !== undefined && type !== 'stdio') refuse(`type ${type} needs a url`);
    if (url !== undefined && type === 'stdio') refuse('type stdio needs a command');
  });
export type McpServerSettings = z.infer<typeof McpServerSettings>;

// Members of other hosts are accepted, so a misspelled one is looked for only where something is missing.
const hintAtMisspelled = (settings: Readonly<Record<string, unknown>>): string => {
  for (const unknown of listUnknownMembers(settings)) {
    const [nearest] = findNearestNames(unknown, ['command', 'url'], 1);
    if (nearest !== undefined) return `: did you mean '${nearest}' instead of '${unknown.slice(0, 40)}'?`;
  }
  return '';
};

/** The members of an entry that only other hosts know; they change nothing here. */
export const listUnknownMembers = (settings: Readonly<Record<string, unknown>>): readonly string[] =>
  Object.keys(settings).filter((name) => !Object.hasOwn(McpServerSettings.shape, name));

const MAX_PREFIX_LENGTH = 48;

/** What stands before the names of a server's tools: the setting, or, where that is left out, the server's own name. */
export const prefixOf = ({ prefix }: Pick<McpServerSettings, 'prefix'>, server: string): string =>
  prefix ?? fitName(server).slice(0, MAX_PREFIX_LENGTH);

/** A text with an underscore for each sign that the name of a tool cannot have. */
export const fitName = (text: string): string => text.replace(/[^A-Za-z0-9_.-]/g, '_');
