import { setTimeout as pause } from 'node:timers/promises';
import * as z from 'zod';
import { ToolCallsResponse } from '#src/contract/tool-result.ts';
import { type CallKind, toText } from '../bodies.ts';
import { postBatch } from '../servers.ts';

const Catalogue = z.object({ tools: z.array(z.object({ name: z.string(), available: z.boolean() })) });
const START_TIMEOUT_MS = 30_000;
const POLL_MS = 50;

/** Resolves when the service offers all these tools; rejects with what it offers instead. */
export const waitForTools = async (url: string, names: readonly string[]): Promise<void> => {
  const deadline = performance.now() + START_TIMEOUT_MS;
  let offered: readonly string[] = [];
  while (performance.now() < deadline) {
    const { tools } = Catalogue.parse(await (await fetch(new URL('/tools', url))).json());
    offered = tools.filter(({ available }) => available).map(({ name }) => name);
    if (names.every((name) => offered.includes(name))) return;
    await pause(POLL_MS);
  }
  throw new Error(`The service should offer ${names.join(', ')}, but offers ${offered.join(', ')}.`);
};

/** Posts one call; throws unless the tool gives back the text that was sent, with nothing beside it. */
export const checkEcho = async (url: string, kind: CallKind): Promise<void> => {
  const text = toText(0, 0);
  const answer = await postBatch(url, kind, 1);
  const [result] = ToolCallsResponse.parse(JSON.parse(answer)).results;
  const isRight = result?.success === true && result.message === '' && result.warnings === undefined;
  if (!isRight || JSON.stringify(result.value) !== JSON.stringify({ text }))
    throw new Error(`${kind} should give back what it was sent, not: ${answer.slice(0, 500)}`);
};
