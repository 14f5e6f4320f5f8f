import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createDocumentView, isJson } from '@recourse/test-support/openapi-stand-in-schemas.ts';
import { expect, test } from 'vitest';
import { importOnce } from '../../../scripts/openapi-sweep/import-once.ts';
import { findLostArguments } from '../../../scripts/openapi-sweep/lost-arguments.ts';

const ROOT = join(import.meta.dirname, '../../../node_modules/@readme/oas-examples');

const filesOf = (version: string): readonly string[] =>
  readdirSync(join(ROOT, version, 'json'))
    .filter((name) => name.endsWith('.json'))
    .map((name) => join(ROOT, version, 'json', name));

// The sample of the sweep over all documents that npm packages carry: scripts/openapi-sweep/results.md.
test.each([
  {
    version: '2.0',
    expected: { documents: 7, offered: 35, unavailable: [] as readonly string[], lost: [] as readonly string[] },
  },
  {
    version: '3.0',
    expected: {
      documents: 41,
      offered: 455,
      unavailable: [
        ['get_operation_server_variables', 'https://operation.example.com'],
        ['get_path_item_ref_server', 'https://path-item-ref.example.com'],
        ['get_path_item_server_source', 'https://path-item-ref.example.com'],
        ['get_empty_operation_servers', 'https://empty-operation-path.example.com'],
        ...['post_operation', 'put_path', 'put_combo'].map((name) => [name, 'https://httpbin.com']),
      ].map(([name, server]) => `${name}: It is on another server (${server}): add that to servers to allow it.`),
      lost: [],
    },
  },
  { version: '3.1', expected: { documents: 12, offered: 163, unavailable: [], lost: [] } },
])(
  "of ReadMe's documents of $version each operation is offered with all arguments, or unavailable with the reason",
  async ({ version, expected }) => {
    const found = { documents: 0, offered: 0, unavailable: [] as string[], lost: [] as string[] };
    for (const path of filesOf(version)) {
      const { offer, reason, stop } = await importOnce(path);
      await stop();
      expect(reason).toBeNull();
      found.documents += 1;
      found.offered += offer.tools.length;
      found.unavailable.push(...offer.unavailable.map((one) => `${one.facts.name}: ${one.reason}`));
      const document: unknown = JSON.parse(readFileSync(path, 'utf8'));
      // One that refers to itself without end is none that could be looked through.
      if (isJson(document) && !path.includes('circular-'))
        found.lost.push(...findLostArguments(createDocumentView(document), offer));
    }
    expect(found).toEqual(expected);
  },
);
