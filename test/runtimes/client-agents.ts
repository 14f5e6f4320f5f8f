import { randomUUID } from 'node:crypto';
import { createOpenAI } from '@ai-sdk/openai';
import { BedrockRuntimeClient, ConverseCommand } from '@aws-sdk/client-bedrock-runtime';
import { FunctionTool } from '@llamaindex/core/tools';
import { OpenAI as LlamaOpenAI } from '@llamaindex/openai';
import { Mistral } from '@mistralai/mistralai';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { generateText, jsonSchema, type ModelMessage } from 'ai';
import { CohereClientV2 } from 'cohere-ai';
import { Ollama } from 'ollama';

// Each holds the conversation with its provider's own client, posts the client's message as it is, and appends what comes
// back as it is.

const MOST_TURNS = 10;

const askRecourse = async (path: string, body?: unknown) => {
  const answer = await fetch(new URL(path, process.env['RECOURSE_URL']), {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`Recourse answered ${answer.status}: ${await answer.text()}`);
  return JSON.parse(await answer.text());
};

const providerUrl = (): string => process.env['PROVIDER_URL'] ?? '';

/** Asks until a turn ends the run with a text. */
const converse = async (
  takeTurn: (post: (body: unknown) => Promise<never[]>) => Promise<string | null>,
  format: string,
) => {
  const path = `/tool-calls?format=${format}&raw=true&session_id=${randomUUID()}`;
  for (let turn = 0; turn < MOST_TURNS; turn += 1) {
    const text = await takeTurn((body) => askRecourse(path, body));
    if (text !== null) return text;
  }
  throw new Error(`No answer after ${MOST_TURNS} turns.`);
};

export const runMistral = async (question: string): Promise<string> => {
  const mistral = new Mistral({ apiKey: 'key', serverURL: providerUrl() });
  const { tools } = await askRecourse('/tools?format=mistral');
  const messages: Parameters<typeof mistral.chat.complete>[0]['messages'] = [{ role: 'user', content: question }];
  return converse(async (post) => {
    const { choices } = await mistral.chat.complete({ model: 'any', messages, tools });
    const message = choices[0]?.message;
    if (!message?.toolCalls?.length) return String(message?.content);
    messages.push({ ...message, role: 'assistant' }, ...(await post(message)));
    return null;
  }, 'mistral');
};

export const runCohere = async (question: string): Promise<string> => {
  const cohere = new CohereClientV2({ token: 'key', environment: providerUrl() });
  const { tools } = await askRecourse('/tools?format=cohere');
  const messages: Parameters<typeof cohere.chat>[0]['messages'] = [{ role: 'user', content: question }];
  return converse(async (post) => {
    const response = await cohere.chat({ model: 'any', messages, tools });
    const { message } = response;
    if (!message.toolCalls?.length)
      return message.content?.map((item) => ('text' in item ? item.text : '')).join('') ?? '';
    messages.push(message, ...(await post(response)));
    return null;
  }, 'cohere');
};

export const runOllama = async (question: string): Promise<string> => {
  const ollama = new Ollama({ host: providerUrl() });
  const { tools } = await askRecourse('/tools?format=ollama');
  const messages: { role: string; content: string }[] = [{ role: 'user', content: question }];
  return converse(async (post) => {
    const response = await ollama.chat({ model: 'any', messages, tools });
    if (!response.message.tool_calls?.length) return response.message.content;
    messages.push(response.message, ...(await post(response)));
    return null;
  }, 'ollama');
};

export const runBedrock = async (question: string): Promise<string> => {
  const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' };
  const bedrock = new BedrockRuntimeClient({
    region: 'eu-central-1',
    endpoint: providerUrl(),
    credentials,
    // Its own is HTTP/2, which the scripted endpoint does not speak.
    requestHandler: new NodeHttpHandler(),
  });
  const toolConfig = await askRecourse('/tools?format=bedrock');
  const messages: ConverseCommand['input']['messages'] = [{ role: 'user', content: [{ text: question }] }];
  return converse(async (post) => {
    const response = await bedrock.send(new ConverseCommand({ modelId: 'any', messages, toolConfig }));
    const message = response.output?.message;
    if (message === undefined || response.stopReason !== 'tool_use') return message?.content?.[0]?.text ?? '';
    messages.push(message, ...(await post(response)));
    return null;
  }, 'bedrock').finally(() => bedrock.destroy());
};

/** The whole turn at once, unlike the example: the tools have no `execute`, so the SDK gives its calls back. */
export const runAiSdk = async (question: string): Promise<string> => {
  const openai = createOpenAI();
  const catalogue: { tools: { name: string; description: string; inputSchema: object }[] } =
    await askRecourse('/tools?format=ai-sdk');
  const tools = Object.fromEntries(
    catalogue.tools.map(({ name, description, inputSchema }) => [
      name,
      { description, inputSchema: jsonSchema(inputSchema) },
    ]),
  );
  const messages: ModelMessage[] = [{ role: 'user', content: question }];
  return converse(async (post) => {
    const { text, toolCalls, response } = await generateText({ model: openai.chat('any'), messages, tools });
    if (toolCalls.length === 0) return text;
    messages.push(...response.messages, ...(await post(response.messages)));
    return null;
  }, 'ai-sdk');
};

/** LlamaIndex runs one call after the other, so the calls of a turn are held together by a round. */
export const runLlamaIndex = async (question: string): Promise<string> => {
  const llm = new LlamaOpenAI({ model: 'gpt-4.1', apiKey: 'key', baseURL: `${providerUrl()}/v1`, maxRetries: 0 });
  const catalogue: { tools: { function: { name: string; description: string; parameters: object } }[] } =
    await askRecourse('/tools?format=openai-chat');
  const sessionId = randomUUID();
  let round = 0;
  const tools = catalogue.tools.map(({ function: { name, description, parameters } }) =>
    FunctionTool.from(
      async (input: unknown): Promise<string> => {
        const call = { id: randomUUID(), type: 'function', function: { name, arguments: JSON.stringify(input) } };
        const path = `/tool-calls?format=openai-chat&raw=true&session_id=${sessionId}&round_id=${round}`;
        const [{ content }] = await askRecourse(path, [call]);
        return content;
      },
      Object.assign({ name, description }, { parameters: Object(parameters) }),
    ),
  );
  const messages: Parameters<typeof llm.chat>[0]['messages'] = [{ role: 'user', content: question }];
  for (; round < MOST_TURNS; round += 1) {
    const { newMessages, toolCalls } = await llm.exec({ messages, tools, stream: false });
    messages.push(...newMessages);
    if (toolCalls.length === 0) return String(newMessages.at(-1)?.content);
  }
  throw new Error(`No answer after ${MOST_TURNS} turns.`);
};
