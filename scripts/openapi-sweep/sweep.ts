import { appendFileSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { createDocumentView, isJson, type Json } from '@recourse/test-support/openapi-stand-in-schemas.ts';
import { openStandIn } from '@recourse/test-support/openapi-stand-in-server.ts';
import { findCredentialKeys, isHidden } from '@recourse/upstream-openapi/parameters';
import { parse } from 'yaml';
import { type CallOutcome, callOnStandIn } from './call-tools.ts';
import { importOnce } from './import-once.ts';
import { findLostArguments } from './lost-arguments.ts';

// Imports every document below the folders that are named, and writes what became of it as one line of JSON each.
// --calls N: of all operations so many, chosen by --seed, are called on a stand-in made of their document.
// --shard 0/4: every fourth document, from the first on.

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    out: { type: 'string' },
    calls: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
    shard: { type: 'string', default: '0/1' },
  },
});
// What the last sweep found; only the share of calls depends on it.
const OPERATIONS = 100_000;
// A stand-in makes a validator of all schemas.
const MOST_JUDGED_BYTES = 2_000_000;

const filesBelow = (folder: string): readonly string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesBelow(path);
    return /\.(json|ya?ml)$/.test(entry.name) && !/^(package|tsconfig)/.test(entry.name) ? [path] : [];
  });

/** Numbers from 0 to 1 that a seed decides (mulberry32). */
const createRandom = (seed: number): (() => number) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
};

const seedOf = (text: string): number =>
  [...text].reduce((sum, sign) => (Math.imul(sum, 31) + sign.charCodeAt(0)) | 0, Number(values.seed));

const sweepOne = async (path: string, name: string) => {
  const random = createRandom(seedOf(name));
  const share = Number(values.calls) / OPERATIONS;
  const { offer, reason, stop } = await importOnce(path);
  await stop();
  const unavailable = offer.unavailable.map(({ facts, reason: why }) => [
    facts.source.replace(/^openapi:api ?/, ''),
    why,
  ]);
  const chosen = new Set(offer.tools.filter(() => random() < share).map((tool) => tool.name));
  const document = readDocument(path);
  const lost = document === null ? [] : findLostArguments(createDocumentView(document), offer);
  const calls =
    document === null || chosen.size === 0 || statSync(path).size > MOST_JUDGED_BYTES
      ? []
      : await callChosen(path, document, chosen);
  return { name, offered: offer.tools.length, reason, unavailable, lost, calls };
};

const readDocument = (path: string): Json | null => {
  const text = readFileSync(path, 'utf8');
  const parsed: unknown = path.endsWith('.json')
    ? JSON.parse(text)
    : parse(text, { logLevel: 'error', uniqueKeys: false });
  return isJson(parsed) ? parsed : null;
};

const callChosen = async (path: string, document: Json, chosen: ReadonlySet<string>) => {
  const credentials = findCredentialKeys(createDocumentView(document).root, undefined);
  // No import of the sweep has credentials.
  const standIn = await openStandIn(document, '', (place, name) => !isHidden(place, name, credentials));
  const { offer, stop } = await importOnce(path, { baseUrl: standIn.origin });
  const calls: (CallOutcome & { readonly source: string })[] = [];
  for (const tool of offer.tools)
    if (tool.runsIn === 'service' && chosen.has(tool.name))
      calls.push({ source: tool.source, ...(await callOnStandIn(tool, standIn).catch(toNotJudged)) });
  await stop();
  await standIn.close();
  return calls;
};

// A pattern for which no text is found, an answer that cannot be made of the document.
const toNotJudged = (thrown: unknown): CallOutcome => ({ kind: 'no arguments', what: String(thrown) });

const [from = 0, of = 1] = values.shard.split('/').map(Number);
const files = positionals.flatMap((root) => filesBelow(root).map((path) => ({ path, name: relative(root, path) })));
if (values.out !== undefined) writeFileSync(values.out, '');
for (const [place, { path, name }] of files.toSorted((a, b) => (a.name < b.name ? -1 : 1)).entries()) {
  if (place % of !== from) continue;
  const row = await sweepOne(path, name).catch((thrown: unknown) => ({ name, error: String(thrown) }));
  // One by one: what is done is not lost where the rest is cut off.
  if (values.out === undefined) process.stdout.write(`${JSON.stringify(row)}\n`);
  else appendFileSync(values.out, `${JSON.stringify(row)}\n`);
}
