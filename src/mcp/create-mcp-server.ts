import { ProtocolError, Server, type ServerContext } from '@modelcontextprotocol/server';
import type { ToolDescription } from '../contract/tool-description.ts';
import { isOffered } from '../formats/catalogue/is-offered.ts';
import { toMcpTools } from '../formats/catalogue/to-mcp-tools.ts';
import type { CatalogueTexts } from '../routes/catalogue-texts.ts';
import type { CallOptions } from './call-batch.ts';
import { CallParams } from './call-params.ts';
import { callTool } from './call-tool.ts';
import { toRpcFailure } from './rpc-errors.ts';
import type { SdkExchange } from './sdk-exchange.ts';

/**
 * What stands in an answer of the SDK for the tools, which are put there as the text that they are kept as: to check and
 * write a thousand of them takes it 15 ms. In a text of the client the quotes would be escaped.
 */
export const NO_TOOLS = '"tools":[]';

export type McpServerOptions = CallOptions & {
  readonly describeTools: () => readonly ToolDescription[];
  readonly catalogueTexts: CatalogueTexts;
  readonly version: string;
  readonly onBug: (error: unknown, requestId: string) => void;
};

// The SDK would make a JSON Schema compiler for answers of people, which are never asked for here.
const NO_VALIDATOR = {
  getValidator: () => () => ({ valid: false, data: undefined, errorMessage: 'Nothing is asked for here.' }) as const,
};

/**
 * The protocol's side of one HTTP request; nothing of it is left when that is answered. The low-level server of the
 * SDK: the other one wants each tool registered with a schema, and would check arguments in the executor's place.
 */
export const createMcpServer = (exchange: SdkExchange, options: McpServerOptions): Server => {
  const { describeTools, running, toSessionKey, catalogueTexts } = options;
  const { tenant, idSession, mayUse } = exchange;
  const server = new Server(
    { name: 'recourse', version: options.version },
    // No list_changed: between two requests nobody holds a stream to tell it on.
    { capabilities: { tools: { listChanged: false } }, jsonSchemaValidator: NO_VALIDATOR },
  );
  server.setRequestHandler('tools/list', () => {
    const tools = describeTools().filter((tool) => isOffered(tool) && mayUse(tool.name));
    exchange.catalogue = catalogueTexts(tools, 'mcp', () => `"tools":${JSON.stringify(toMcpTools(tools))}`);
    return { tools: [] };
  });
  server.setRequestHandler('tools/call', { params: CallParams }, (params, context) =>
    answerCall(params, context, exchange, options),
  );
  server.setNotificationHandler('notifications/cancelled', ({ params: { requestId } }) => {
    if (idSession !== null && requestId !== undefined)
      running.cancel({ sessionKey: toSessionKey(tenant, idSession), requestId });
  });
  return server;
};

/** As the problem handler does for other routes: a problem is told as one; a bug is reported, and its text goes to no client. */
const answerCall = async (
  params: CallParams,
  context: ServerContext,
  exchange: SdkExchange,
  options: McpServerOptions,
): Promise<Record<string, unknown>> => {
  try {
    return { ...(await callTool(params, context, exchange, options)) };
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    const failure = toRpcFailure(error, exchange.requestId);
    if (failure.isBug) options.onBug(error, exchange.requestId);
    const { code, message, data } = failure.error;
    throw new ProtocolError(code, message, data);
  }
};
