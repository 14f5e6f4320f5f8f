import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import OpenAI from 'openai';

/** An agent whose tools are an MCP server's: it lists them, and calls them one after the other. */
export const runMcpAgent = async (question: string): Promise<string> => {
  const openai = new OpenAI();
  const mcp = new Client({ name: 'agent', version: '1.0.0' });
  await mcp.connect(new StreamableHTTPClientTransport(new URL('/mcp', process.env['RECOURSE_URL'])));
  try {
    const { tools } = await mcp.listTools();
    const names = new Map(tools.map(({ name }) => [toCarriedName(name), name]));
    const callTool = async (name: string, given: string): Promise<string> => {
      const { content } = await mcp.callTool({ name: names.get(name) ?? name, arguments: JSON.parse(given) });
      return content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
    };
    return await converse(openai, tools.map(toFunction), callTool, question);
  } finally {
    await mcp.close();
  }
};

type ListedTool = { readonly name: string; readonly description?: string | undefined; readonly inputSchema: object };

const toFunction = ({ name, description, inputSchema }: ListedTool): OpenAI.ChatCompletionFunctionTool => ({
  type: 'function',
  function: { name: toCarriedName(name), description: description ?? '', parameters: { ...inputSchema } },
});

/** MCP allows dots in names and OpenAI does not; hosts replace them, and remember what they stood for. */
const toCarriedName = (name: string): string => name.replace(/[^a-zA-Z0-9_-]/g, '_');

type CallTool = (name: string, given: string) => Promise<string>;

const converse = async (
  openai: OpenAI,
  tools: OpenAI.ChatCompletionFunctionTool[],
  callTool: CallTool,
  question: string,
): Promise<string> => {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: question }];
  for (let turn = 0; turn < 10; turn += 1) {
    const completion = await openai.chat.completions.create({ model: 'any', messages, tools });
    const message = completion.choices[0]?.message;
    if (message === undefined) throw new Error('The model gave no message.');
    messages.push(message);
    if (!message.tool_calls?.length) return message.content ?? '';
    // One after the other: MCP cannot say which calls belong to one turn.
    for (const call of message.tool_calls) messages.push(await answerCall(call, callTool));
  }
  throw new Error('No answer after 10 turns.');
};

const answerCall = async (
  call: OpenAI.ChatCompletionMessageToolCall,
  callTool: CallTool,
): Promise<OpenAI.ChatCompletionToolMessageParam> => {
  if (call.type !== 'function') throw new Error('The model made no function call.');
  const content = await callTool(call.function.name, call.function.arguments);
  return { role: 'tool', tool_call_id: call.id, content };
};
