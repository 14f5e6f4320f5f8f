import { defineTool } from 'recourse-server/internal/tools/define-tool.ts';
import { createToolRegistry } from 'recourse-server/internal/tools/registry.ts';
import type { Tool } from 'recourse-server/internal/tools/tool.ts';
import type { ToolOffer } from 'recourse-server/internal/tools/tool-offer.ts';
import type { ToolOverride } from 'recourse-server/internal/tools/tool-override.ts';
import { z } from 'zod';
import { Catalogue } from '#src/catalogue.ts';

/** A tool that says nothing but where it is from. */
export const toolOf = (source: string, name: string): Tool =>
  defineTool({ name, description: '', input: z.object({}), effects: 'read', source, run: () => source });

export const offerOf = (source: string, names: readonly string[]): ToolOffer => ({
  tools: names.map((name) => toolOf(source, name)),
  unavailable: [],
  outdated: new Map(),
});

/** A catalogue and the registry that it offers to. */
export const startCatalogue = (
  own: readonly Tool[] = [],
  overrides: Readonly<Record<string, ToolOverride>> = {},
  order: readonly string[] = ['dir', 'a', 'b'],
) => {
  const registry = createToolRegistry([]);
  const lines: (readonly [string, Readonly<Record<string, unknown>>])[] = [];
  const write = (fields: Readonly<Record<string, unknown>>, message: string): void =>
    void lines.push([message, fields]);
  const log = { info: write, warn: write };
  const rules = { order, overrides: new Map(Object.entries(overrides)), lanePatterns: [] };
  const catalogue = new Catalogue({ own, rules, offer: registry.offer, log });
  const serving = () => Object.fromEntries(registry.list().map(({ name, source }) => [name, source]));
  const refused = () =>
    registry
      .describe()
      .flatMap(({ name, source, unavailable_reason: reason }) => (reason === null ? [] : [{ name, source, reason }]));
  return { catalogue, registry, lines, serving, refused };
};
